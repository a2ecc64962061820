/// One bulk pair of an imported device: what the host has pending on it, and the accessory's end of it.
///
/// The pair of iAP2 has an end as soon as the host uses it. That of a native transport has one from when the host chooses
/// alternate 1 until it chooses another or the accessory closes it; then the pair is halted, which is all that a USB
/// device can say, and stays so until the host chooses again.
final class USBIPLine {
  /// What was asked of a line and is answered now.
  enum Answer: Equatable {
    /// Bytes for the host.
    case read(UInt32, ArraySlice<UInt8>)
    /// The accessory took so many bytes.
    case written(UInt32, count: Int)
    /// The endpoint is halted.
    case stalled(UInt32)
  }

  /// The interface that it belongs to.
  let interface: UInt8
  /// Whose sessions it carries; nil for the pair of iAP2.
  let protocolName: String?
  private let endpoints: (incoming: UInt8, outgoing: UInt8)
  /// The accessory's end.
  private(set) var pipe: BulkPipe?
  private var isHalted: Bool
  /// Transfers in which the host waits for bytes, in order.
  private var readers: [(sequence: UInt32, length: Int)] = []
  /// Transfers whose bytes the accessory does not take yet, in order.
  private var writers: [(sequence: UInt32, data: [UInt8])] = []
  /// How many bytes those have.
  private(set) var heldBytes = 0

  init?(_ interface: USBInterface, protocolName: String?) {
    guard let pair = interface.bulkPair else { return nil }
    self.interface = interface.number
    self.protocolName = protocolName
    endpoints = (pair.incoming.address & 0x0F, pair.outgoing.address & 0x0F)
    isHalted = protocolName != nil
  }

  var pendingCount: Int { readers.count + writers.count }
  /// Whether the host waits for bytes.
  var isRead: Bool { !readers.isEmpty }

  func has(_ submission: USBIPRequest.Submission) -> Bool {
    submission.endpoint == (submission.isIncoming ? endpoints.incoming : endpoints.outgoing)
  }

  // MARK: The accessory's end

  /// A new end; what was there before has been ended.
  func begin(_ pipe: BulkPipe) {
    self.pipe = pipe
    isHalted = false
  }

  /// Takes the end away, to be told how it ended. A native transport has no endpoints any more.
  func leave() -> BulkPipe? {
    defer { pipe = nil }
    if protocolName != nil { isHalted = true }
    return pipe
  }

  /// The accessory closed its end: the host gets what was sent before, and then a halt.
  func close() {
    isHalted = true
  }

  // MARK: The host's transfers

  /// Takes a transfer; false when there is no such endpoint now.
  func take(_ submission: USBIPRequest.Submission) -> Bool {
    guard !isHalted || submission.isIncoming && pipe?.hasBytes == true else { return false }
    if submission.isIncoming {
      readers.append((submission.sequence, submission.length))
    } else {
      writers.append((submission.sequence, submission.data))
      heldBytes += submission.data.count
    }
    return true
  }

  /// Takes a pending transfer back; whether there was one.
  func unlink(_ sequence: UInt32) -> Bool {
    if let index = readers.firstIndex(where: { $0.sequence == sequence }) {
      readers.remove(at: index)
    } else if let index = writers.firstIndex(where: { $0.sequence == sequence }) {
      heldBytes -= writers.remove(at: index).data.count
    } else {
      return false
    }
    return true
  }

  /// The next transfer that the accessory has bytes for, or that cannot be any more.
  func nextRead() -> Answer? {
    guard let (sequence, length) = readers.first else { return nil }
    if let piece = pipe?.take(length) {
      readers.removeFirst()
      return .read(sequence, piece)
    }
    guard isHalted else { return nil }
    readers.removeFirst()
    return .stalled(sequence)
  }

  /// The next transfer whose bytes the accessory takes, with those bytes, or that cannot be any more.
  func nextWrite() -> (answer: Answer, data: [UInt8])? {
    guard !writers.isEmpty, isHalted || pipe?.takesBytes == true else { return nil }
    let (sequence, data) = writers.removeFirst()
    heldBytes -= data.count
    return isHalted ? (.stalled(sequence), []) : (.written(sequence, count: data.count), data)
  }
}
