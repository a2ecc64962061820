/// A pair of bulk endpoints on an imported device. Connects the host's pending transfers to the accessory's channel.
///
/// The iAP2 pair gets a channel when the host first uses it. A native transport's pair gets a channel when the host
/// selects alternate setting 1. The pair loses the channel when the host selects another setting or the accessory
/// closes the channel. After the accessory closes the channel, the pair stays halted until the host next selects a
/// setting, because a halt is the only way for a USB device to end a session.
final class USBIPEndpoints {
  let interface: UInt8
  /// The protocol of a native transport's pair, or nil for the iAP2 pair.
  let protocolName: String?
  private let endpoints: (incoming: UInt8, outgoing: UInt8)
  // Exclusivity checking is off in this type because a pair belongs to one loop and calls no other code while its state
  // changes.
  @exclusivity(unchecked) private(set) var pipe: BulkPipe?
  @exclusivity(unchecked) private var isHalted: Bool
  /// The host's pending reads, in order.
  @exclusivity(unchecked) private var readers: [(sequence: UInt32, length: Int)] = []
  /// The host's writes that the accessory has not accepted yet, in order.
  @exclusivity(unchecked) private var writers: [(sequence: UInt32, data: [UInt8])] = []
  @exclusivity(unchecked) private(set) var heldBytes = 0

  init?(_ interface: USBInterface, protocolName: String?) {
    guard let pair = interface.bulkPair else { return nil }
    self.interface = interface.number
    self.protocolName = protocolName
    endpoints = (pair.incoming.address & 0x0F, pair.outgoing.address & 0x0F)
    isHalted = protocolName != nil
  }

  var pendingCount: Int { readers.count + writers.count }
  var isRead: Bool { !readers.isEmpty }

  func has(_ submission: USBIPRequest.Submission) -> Bool {
    submission.endpoint == (submission.isIncoming ? endpoints.incoming : endpoints.outgoing)
  }

  // MARK: The accessory's channel

  /// Sets a new channel; any earlier channel must have ended.
  func begin(_ pipe: BulkPipe) {
    self.pipe = pipe
    isHalted = false
  }

  /// Removes the channel and returns it, so that the caller can end it. The endpoints of a native transport are then
  /// halted.
  func leave() -> BulkPipe? {
    defer { pipe = nil }
    if protocolName != nil { isHalted = true }
    return pipe
  }

  /// Called when the accessory has closed its channel. The host receives the bytes sent so far, and then a halt.
  func close() {
    isHalted = true
  }

  // MARK: The host's transfers

  func takes(_ submission: USBIPRequest.Submission) -> Bool {
    !isHalted || submission.isIncoming && pipe?.hasBytes == true
  }

  /// Whether bytes from the host can be delivered immediately: the accessory is accepting bytes, and no earlier bytes
  /// are waiting.
  var deliversAtOnce: Bool { !isHalted && writers.isEmpty && pipe?.takesBytes == true }

  func addReader(_ sequence: UInt32, _ length: Int) {
    readers.append((sequence, length))
  }

  func addWriter(_ sequence: UInt32, _ data: [UInt8]) {
    writers.append((sequence, data))
    heldBytes += data.count
  }

  /// Cancels a pending transfer. Returns true if the transfer was pending.
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

  func takeReader() -> (sequence: UInt32, length: Int)? {
    readers.isEmpty ? nil : readers.removeFirst()
  }

  /// Returns the host's next read that can be answered and the bytes to return. The bytes are nil if the endpoint is
  /// halted.
  func nextRead() -> (sequence: UInt32, piece: ArraySlice<UInt8>?)? {
    guard let (sequence, length) = readers.first else { return nil }
    let piece = pipe?.take(length)
    guard piece != nil || isHalted else { return nil }
    readers.removeFirst()
    return (sequence, piece)
  }

  /// Returns the host's next write that can be answered and the bytes written. The bytes are nil if the endpoint is
  /// halted.
  func nextWrite() -> (sequence: UInt32, data: [UInt8]?)? {
    guard !writers.isEmpty, isHalted || pipe?.takesBytes == true else { return nil }
    let (sequence, data) = writers.removeFirst()
    heldBytes -= data.count
    return (sequence, isHalted ? nil : data)
  }
}
