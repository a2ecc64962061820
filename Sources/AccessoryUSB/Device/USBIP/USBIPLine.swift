/// One bulk pair of an imported device: what the host has pending on it, and the accessory's end of it.
///
/// The pair of iAP2 has an end as soon as the host uses it. That of a native transport has one from when the host chooses
/// alternate 1 until it chooses another or the accessory closes it; then the pair is halted, which is all that a USB
/// device can say, and stays so until the host chooses again.
final class USBIPLine {
  /// The interface that it belongs to.
  let interface: UInt8
  /// Whose sessions it carries; nil for the pair of iAP2.
  let protocolName: String?
  private let endpoints: (incoming: UInt8, outgoing: UInt8)
  /// The accessory's end.
  // Not checked for overlapping access, as all of this: a line belongs to one loop, and calls nobody while it changes.
  @exclusivity(unchecked) private(set) var pipe: BulkPipe?
  @exclusivity(unchecked) private var isHalted: Bool
  /// Transfers in which the host waits for bytes, in order.
  @exclusivity(unchecked) private var readers: [(sequence: UInt32, length: Int)] = []
  /// Transfers whose bytes the accessory does not take yet, in order.
  @exclusivity(unchecked) private var writers: [(sequence: UInt32, data: [UInt8])] = []
  /// How many bytes those have.
  @exclusivity(unchecked) private(set) var heldBytes = 0

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

  /// Whether there is an endpoint for a transfer now.
  func takes(_ submission: USBIPRequest.Submission) -> Bool {
    !isHalted || submission.isIncoming && pipe?.hasBytes == true
  }

  /// Whether what the host gives can be delivered at once: the accessory takes it, and nothing waits before it.
  var deliversAtOnce: Bool { !isHalted && writers.isEmpty && pipe?.takesBytes == true }

  /// The host waits for so many bytes.
  func addReader(_ sequence: UInt32, _ length: Int) {
    readers.append((sequence, length))
  }

  /// The host gave bytes that wait for the accessory.
  func addWriter(_ sequence: UInt32, _ data: [UInt8]) {
    writers.append((sequence, data))
    heldBytes += data.count
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

  /// The next transfer in which the host waits for bytes, for somebody who has some.
  func takeReader() -> (sequence: UInt32, length: Int)? {
    readers.isEmpty ? nil : readers.removeFirst()
  }

  /// The next transfer that the accessory has bytes for, with those, or that cannot be any more (nil).
  func nextRead() -> (sequence: UInt32, piece: ArraySlice<UInt8>?)? {
    guard let (sequence, length) = readers.first else { return nil }
    let piece = pipe?.take(length)
    guard piece != nil || isHalted else { return nil }
    readers.removeFirst()
    return (sequence, piece)
  }

  /// The next transfer whose bytes the accessory takes, with those, or that cannot be any more (nil).
  func nextWrite() -> (sequence: UInt32, data: [UInt8]?)? {
    guard !writers.isEmpty, isHalted || pipe?.takesBytes == true else { return nil }
    let (sequence, data) = writers.removeFirst()
    heldBytes -= data.count
    return (sequence, isHalted ? nil : data)
  }
}
