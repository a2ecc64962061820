import AccessoryCore
import AccessoryUSB
import LinuxIO
import Testing

final class USBIPClient: ChannelHandler {
  let channel: any Channel
  private(set) var received: [UInt8] = []
  private(set) var end: ChannelEnd?

  init(_ channel: any Channel) {
    self.channel = channel
    channel.start(self)
  }

  func send(_ bytes: [UInt8]) {
    #expect(channel.send(bytes.span.bytes) == bytes.count)
  }

  func take() -> [UInt8] {
    defer { received = [] }
    return received
  }

  func channel(_ channel: any Channel, received bytes: RawSpan) {
    bytes.withUnsafeBytes { received.append(contentsOf: $0) }
  }
  func channelIsWritable(_ channel: any Channel) {}
  func channel(_ channel: any Channel, endedWith end: ChannelEnd) { self.end = end }
}

/// A server on a virtual loop, with an accessory that retains its cables.
final class USBIPRig {
  let loop = VirtualLoop()
  let server: USBIPServer
  let export: USBIPExport
  var complaints: [String] { log.lines }
  /// The number of problems, including those that were only counted and not recorded.
  var allComplaints: Int {
    complaints.reduce(0) { sum, line in
      let words = line.split(separator: " ")
      return sum + (words.first == "and" ? Int(words[1]) ?? 0 : 1)
    }
  }
  private(set) var cables: [AccessoryEnd] = []
  private(set) var sides: [(name: String, end: AccessoryEnd)] = []
  private let log = Log()

  private final class Log {
    var lines: [String] = []
  }

  init(natives: [String] = []) {
    let log = log
    server = USBIPServer(on: loop) { log.lines.append($0) }
    var shape = USBAccessoryShape(manufacturer: "Lawaken", name: "Glasses", serial: "A1")
    shape.nativeProtocols = natives
    export = server.makeExport(shape)
    plugIn()
  }

  func plugIn() {
    export.plugIn { [unowned self] cable in
      cables.append(AccessoryEnd(cable.main))
      cable.onNativeChannel { [unowned self] in sides.append(($0, AccessoryEnd($1))) }
    }
  }

  func connect(capacity: Int = 1 << 21) -> USBIPClient {
    let cable = LoopbackChannel.makePair(on: loop, capacity: capacity)
    server.accept(cable.right, from: "the test")
    return USBIPClient(cable.left)
  }

  func settle() throws {
    try pass(.seconds(1))
  }

  func pass(_ time: Duration) throws {
    try loop.advance(by: time)
  }

  func importing() throws -> USBIPClient {
    let client = connect()
    client.send(USBIPBytes.importRequest("1-1"))
    try settle()
    #expect(client.take().count == 320)
    client.send(USBIPBytes.control(1, [0x00, 0x09, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00]))
    try settle()
    #expect(client.take() == USBIPBytes.answer(1, status: 0, count: 0))
    return client
  }
}

final class AccessoryEnd: ChannelHandler {
  let channel: any Channel
  private(set) var received: [[UInt8]] = []
  private(set) var writableCalls = 0
  private(set) var end: ChannelEnd?

  init(_ channel: any Channel) {
    self.channel = channel
    channel.start(self)
  }

  func send(_ bytes: [UInt8]) -> Int { channel.send(bytes.span.bytes) }

  func channel(_ channel: any Channel, received bytes: RawSpan) {
    received.append(bytes.withUnsafeBytes { Array($0) })
  }
  func channelIsWritable(_ channel: any Channel) { writableCalls += 1 }
  func channel(_ channel: any Channel, endedWith end: ChannelEnd) { self.end = end }
}

enum USBIPBytes {
  static func number(_ value: UInt32) -> [UInt8] {
    [UInt8(value >> 24), UInt8(value >> 16 & 0xFF), UInt8(value >> 8 & 0xFF), UInt8(value & 0xFF)]
  }

  static func importRequest(_ busID: String) -> [UInt8] {
    [0x01, 0x11, 0x80, 0x03, 0, 0, 0, 0] + Array(busID.utf8)
      + [UInt8](repeating: 0, count: 32 - busID.utf8.count)
  }

  static func submit(
    _ sequence: UInt32, incoming: Bool, endpoint: UInt32, length: UInt32, setup: [UInt8]? = nil, data: [UInt8] = [],
    packets: UInt32 = 0
  ) -> [UInt8] {
    number(1) + number(sequence) + number(0x0001_0002) + number(incoming ? 1 : 0) + number(endpoint)
      + number(0) + number(length) + number(0) + number(packets) + number(0)
      + (setup ?? [0, 0, 0, 0, 0, 0, 0, 0]) + data
  }

  static func control(_ sequence: UInt32, _ setup: [UInt8]) -> [UInt8] {
    let length = UInt32(setup[6]) | UInt32(setup[7]) << 8
    return submit(sequence, incoming: setup[0] & 0x80 != 0, endpoint: 0, length: length, setup: setup)
  }

  static func unlink(_ sequence: UInt32, victim: UInt32) -> [UInt8] {
    number(2) + number(sequence) + number(0x0001_0002) + number(0) + number(0) + number(victim)
      + [UInt8](repeating: 0, count: 24)
  }

  static func answer(_ sequence: UInt32, status: Int32, count: UInt32, _ data: [UInt8] = []) -> [UInt8] {
    number(3) + number(sequence) + number(0) + number(0) + number(0) + number(UInt32(bitPattern: status))
      + number(count) + [UInt8](repeating: 0, count: 20) + data
  }

  static func unlinked(_ sequence: UInt32, status: Int32) -> [UInt8] {
    number(4) + number(sequence) + number(0) + number(0) + number(0) + number(UInt32(bitPattern: status))
      + [UInt8](repeating: 0, count: 24)
  }
}
