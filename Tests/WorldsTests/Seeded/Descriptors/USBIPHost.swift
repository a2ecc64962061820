import AccessoryCore

/// A channel that is the host's side of a USB/IP connection. Over a socket, this channel does what a kernel and its
/// driver do for one accessory.
final class USBIPHost: Channel, ChannelHandler {
  private static let bulkIn: UInt32 = 1
  private static let bulkOut: UInt32 = 2
  /// The maximum length of a transfer, and the number of transfers in flight in each direction.
  private static let longest = 16_384
  private static let mostTransfers = 3

  let keepsTransfersApart = true
  private let wire: any Channel
  private let busID: String
  private let loop: any EventLoop
  private var handler: (any ChannelHandler)?
  private var input: [UInt8] = []
  private var output: [UInt8] = []
  private var sequence: UInt32 = 0
  private var reads: Set<UInt32> = []
  private var writes: Set<UInt32> = []
  private var isImported = false
  private var isConfigured = false
  private var isPaused = false
  private var senderWaits = false
  private var unread: [[UInt8]] = []

  /// Creates a host. When the host is started, it imports the device with this bus ID.
  init(_ wire: any Channel, busID: String, on loop: any EventLoop) {
    self.wire = wire
    self.busID = busID
    self.loop = loop
  }

  // MARK: Channel

  func start(_ handler: any ChannelHandler) {
    self.handler = handler
    wire.start(self)
    put([0x01, 0x11, 0x80, 0x03, 0, 0, 0, 0] + Array(busID.utf8) + [UInt8](repeating: 0, count: 32 - busID.utf8.count))
  }

  func send(_ bytes: RawSpan) -> Int {
    var taken = 0
    while isConfigured, handler != nil, taken < bytes.byteCount, writes.count < Self.mostTransfers {
      let count = min(Self.longest, bytes.byteCount - taken)
      let piece = bytes.extracting(taken..<taken + count).withUnsafeBytes { Array($0) }
      writes.insert(submit(Self.bulkOut, incoming: false, length: count, piece))
      taken += count
    }
    senderWaits = taken < bytes.byteCount
    return taken
  }

  func pauseReading() { isPaused = true }

  func resumeReading() {
    isPaused = false
    loop.schedule(after: .zero) { [weak self] in self?.deliver() }
  }

  func close() {
    handler = nil
    wire.close()
  }

  // MARK: The connection

  func channel(_ channel: any Channel, received bytes: RawSpan) {
    bytes.withUnsafeBytes { input.append(contentsOf: $0) }
    while handler != nil, takeAnswer() {}
  }

  func channelIsWritable(_ channel: any Channel) { put([]) }

  func channel(_ channel: any Channel, endedWith end: ChannelEnd) {
    deliver()
    let told = handler
    handler = nil
    told?.channel(self, endedWith: end)
  }

  private func put(_ bytes: [UInt8]) {
    output += bytes
    output.removeFirst(wire.send(output.span.bytes))
  }

  private func takeAnswer() -> Bool {
    guard isImported else {
      guard input.count >= 8 else { return false }
      if number(at: 4) != 0 {
        fail("the server has no \(busID) to give")
        return false
      }
      guard input.count >= 320 else { return false }
      input.removeFirst(320)
      isImported = true
      // This request is SET_CONFIGURATION for configuration 1.
      _ = submit(0, incoming: false, length: 0, setup: [0x00, 0x09, 0x01, 0, 0, 0, 0, 0])
      return true
    }
    guard input.count >= 48 else { return false }
    let (answered, status, count) = (number(at: 4), number(at: 20), Int(number(at: 24)))
    let data = reads.contains(answered) ? count : 0
    guard input.count >= 48 + data else { return false }
    let bytes = Array(input[48..<48 + data])
    input.removeFirst(48 + data)
    guard status == 0 else {
      fail("a transfer ended with \(Int32(bitPattern: status))")
      return false
    }
    if reads.remove(answered) != nil {
      unread.append(bytes)
      deliver()
    } else if writes.remove(answered) == nil {
      isConfigured = true
      readOn()
    }
    if senderWaits, isConfigured {
      senderWaits = false
      handler?.channelIsWritable(self)
    }
    return true
  }

  private func deliver() {
    while !isPaused, !unread.isEmpty, let handler {
      let bytes = unread.removeFirst()
      if !bytes.isEmpty { handler.channel(self, received: bytes.span.bytes) }
    }
    readOn()
  }

  private func readOn() {
    while isConfigured, !isPaused, handler != nil, reads.count < Self.mostTransfers {
      reads.insert(submit(Self.bulkIn, incoming: true, length: Self.longest))
    }
  }

  private func fail(_ what: String) {
    let told = handler
    handler = nil
    wire.close()
    told?.channel(self, endedWith: .lost(what))
  }

  private func submit(
    _ endpoint: UInt32, incoming: Bool, length: Int, _ data: [UInt8] = [],
    setup: [UInt8] = .init(repeating: 0, count: 8)
  ) -> UInt32 {
    sequence += 1
    let numbers = [1, sequence, 0x0001_0002, incoming ? 1 : 0, endpoint, 0, UInt32(length), 0, 0, 0]
    put(numbers.flatMap { number in (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) } } + setup + data)
    return sequence
  }

  private func number(at place: Int) -> UInt32 {
    input[place..<place + 4].reduce(0) { $0 << 8 | UInt32($1) }
  }
}
