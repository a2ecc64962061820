import IAP2

/// Packets and messages assembled byte by byte, without the code under test.
///
/// All bytes in these tests are hex text, so a failure shows them in the same form as the test.
enum Sheet {
  static let detection = "ff550200ee10"
  static let syn: UInt8 = 0x80
  static let ack: UInt8 = 0x40
  static let eak: UInt8 = 0x20
  static let rst: UInt8 = 0x10
  static let slp: UInt8 = 0x08

  /// A packet consists of FF 5A, length, control, sequence, acknowledgement, session and checksum, then the payload and
  /// its checksum.
  static func packet(
    _ control: UInt8, _ sequence: UInt8, _ acknowledgement: UInt8, session: UInt8 = 0, _ payload: String = ""
  ) -> String {
    hex(bytes(control, sequence, acknowledgement, session: session, unhex(payload)))
  }

  static func bytes(
    _ control: UInt8, _ sequence: UInt8, _ acknowledgement: UInt8, session: UInt8 = 0, _ payload: [UInt8] = []
  ) -> [UInt8] {
    let length = payload.isEmpty ? 9 : payload.count + 10
    var packet: [UInt8] = [
      0xFF, 0x5A, UInt8(length / 256), UInt8(length % 256), control, sequence, acknowledgement, session,
    ]
    packet.append(checksum(packet))
    if !payload.isEmpty { packet += payload + [checksum(payload)] }
    return packet
  }

  /// The checksum is "the byte that makes the 8-bit sum zero".
  static func checksum(_ bytes: [UInt8]) -> UInt8 {
    UInt8((256 - bytes.reduce(0) { ($0 + Int($1)) % 256 }) % 256)
  }

  /// Returns the payload of a SYN. Without arguments, this is the payload that an accessory with default settings
  /// sends.
  static func parameters(
    version: Int = 1, window: Int = 32, length: Int = 65_535, timeout: Int = 2_000, hold: Int = 22, repeats: Int = 30,
    acks: Int = 3, sessions: String = "010001 020201"
  ) -> String {
    func word(_ value: Int) -> [UInt8] { [UInt8(value / 256), UInt8(value % 256)] }
    let bytes =
      [UInt8(version), UInt8(window)] + word(length) + word(timeout) + word(hold) + [UInt8(repeats), UInt8(acks)]
    return hex(bytes + unhex(sessions))
  }

  /// A message consists of 40 40, length, number and parameters.
  static func message(_ number: UInt16, _ parameters: String = "") -> String {
    let body = unhex(parameters)
    let length = body.count + 6
    return hex(
      [0x40, 0x40, UInt8(length / 256), UInt8(length % 256), UInt8(number / 256), UInt8(number % 256)] + body)
  }

  /// A parameter consists of length, number and value.
  static func parameter(_ id: UInt16, _ value: String = "") -> String {
    let bytes = unhex(value)
    let length = bytes.count + 4
    return hex([UInt8(length / 256), UInt8(length % 256), UInt8(id / 256), UInt8(id % 256)] + bytes)
  }

  static func text(_ text: String) -> String {
    hex(Array(text.utf8) + [0])
  }

  static func hex(_ bytes: [UInt8]) -> String { Hex.plain(bytes) }

  /// Parses hex, ignoring spaces. Traps if a test's hex contains a typing error.
  static func unhex(_ text: String) -> [UInt8] {
    do { return try Hex.parse(text) } catch { fatalError("\(error): \(text)") }
  }
}

extension Instant {
  static func milliseconds(_ count: Int64) -> Instant { Instant(nanoseconds: count * 1_000_000) }
}
