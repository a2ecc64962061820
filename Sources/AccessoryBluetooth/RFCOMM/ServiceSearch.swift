import AccessoryCore

/// Looks up a service's RFCOMM channel over SDP. The search performs no I/O: it only builds requests and parses
/// answers.
///
/// ```
///   we  ── 06 search for UUID, attribute 0004 ──▶ device
///   we  ◀── 07 a part of the records, and how to continue ──
///   …until nothing is left to continue
/// ```
///
/// The search accepts at most ``longestAnswer`` bytes, in at most ``mostParts`` parts.
struct ServiceSearch {
  enum Step: Equatable {
    case send([UInt8])
    case found(channel: UInt8)
    case absent
    /// The answer is not valid SDP. The associated value is the reason.
    case failed(String)
  }

  static let longestAnswer = 65_536
  static let mostParts = 64

  private let uuid: [UInt8]
  private var transaction: UInt16 = 1
  private var parts = 0
  private var records: [UInt8] = []

  /// Creates a search for the service with a UUID such as `00000000-deca-fade-deca-deafdecacaff`.
  init(for service: String) {
    let digits = service.filter { $0 != "-" }
    precondition(digits.utf8.count == 32, "\(service) is not a 128-bit UUID")
    uuid = (try? Hex.parse(digits)) ?? []
  }

  func start() -> [UInt8] { request(continuing: []) }

  private func request(continuing state: [UInt8]) -> [UInt8] {
    // The search pattern is a sequence that contains one UUID. The attribute list is a sequence that contains one
    // number: 0004, which stands for the protocols.
    let pattern: [UInt8] = [0x35, 0x11, 0x1C] + uuid
    let attributes: [UInt8] = [0x35, 0x03, 0x09, 0x00, 0x04]
    let parameters = pattern + [0xFF, 0xFF] + attributes + [UInt8(state.count)] + state
    let header: [UInt8] = [
      0x06, UInt8(transaction >> 8), UInt8(transaction & 0xFF), UInt8(parameters.count >> 8),
      UInt8(parameters.count & 0xFF),
    ]
    return header + parameters
  }

  mutating func receive(_ packet: [UInt8]) -> Step {
    guard packet.count >= 5 else { return .failed("an SDP packet of \(packet.count) bytes") }
    let number = UInt16(packet[1]) << 8 | UInt16(packet[2])
    guard number == transaction else { return .failed("an SDP answer to a different request") }
    switch packet[0] {
    case 0x07: return receiveRecords(packet[5...])
    case 0x01: return .failed("SDP error " + Hex.plain(packet[5...].prefix(2)))
    default: return .failed("an SDP packet of type \(Hex.number(packet[0]))")
    }
  }

  private mutating func receiveRecords(_ parameters: ArraySlice<UInt8>) -> Step {
    guard parameters.count >= 3 else { return .failed("an SDP answer without records") }
    let start = parameters.startIndex
    let count = Int(parameters[start]) << 8 | Int(parameters[start + 1])
    let body = parameters[(start + 2)...]
    guard body.count > count else { return .failed("a truncated SDP answer") }
    records += body.prefix(count)
    parts += 1
    let rest = body.dropFirst(count)
    guard let stateLength = rest.first, rest.count == 1 + Int(stateLength), stateLength <= 16 else {
      return .failed("an SDP answer with an invalid continuation state")
    }
    if stateLength > 0 {
      guard parts < Self.mostParts, records.count < Self.longestAnswer else { return .failed("an endless SDP answer") }
      transaction += 1
      return .send(request(continuing: Array(rest.dropFirst())))
    }
    guard let elements = DataElement.readAll(records) else { return .failed("SDP records that cannot be read") }
    return Self.channel(in: elements).map { .found(channel: $0) } ?? .absent
  }

  /// Returns the RFCOMM channel found in a list of records. Each record is a list of attribute numbers and values. The
  /// protocols form a list of lists: `[[L2CAP], [RFCOMM, channel]]`.
  private static func channel(in elements: [DataElement]) -> UInt8? {
    for case .sequence(let lists) in elements {
      for case .sequence(let record) in lists {
        for (name, value) in zip(record, record.dropFirst()) where name == .number(0x0004) {
          guard case .sequence(let protocols) = value else { continue }
          for case .sequence(let one) in protocols where one.first == .uuid(0x0003) {
            if case .number(let channel)? = one.dropFirst().first, 1...30 ~= channel { return UInt8(channel) }
          }
        }
      }
    }
    return nil
  }
}

enum DataElement: Equatable {
  case number(UInt64)
  /// A UUID of 16 or 32 bits, or the short form of a 128-bit UUID.
  case uuid(UInt32)
  /// A sequence of elements, or a list of alternatives.
  case sequence([DataElement])
  case other

  private static let deepest = 8

  /// Reads all elements. Returns nil if the bytes are truncated or the elements are nested too deeply.
  static func readAll(_ bytes: [UInt8]) -> [DataElement]? { readAll(bytes[...], depth: 0) }

  private static func readAll(_ bytes: ArraySlice<UInt8>, depth: Int) -> [DataElement]? {
    guard depth < deepest else { return nil }
    var (rest, elements) = (bytes, [DataElement]())
    while let header = rest.popFirst() {
      guard let size = size(header & 7, isNil: header >> 3 == 0, &rest), rest.count >= size else { return nil }
      let body = rest.prefix(size)
      rest = rest.dropFirst(size)
      switch header >> 3 {
      case 1 where size <= 8: elements.append(.number(number(body)))
      case 3 where size == 2 || size == 4: elements.append(.uuid(UInt32(number(body))))
      case 3 where size == 16: elements.append(short(body).map { .uuid($0) } ?? .other)
      case 6, 7:
        guard let inner = readAll(body, depth: depth + 1) else { return nil }
        elements.append(.sequence(inner))
      default: elements.append(.other)
      }
    }
    return elements
  }

  private static func size(_ index: UInt8, isNil: Bool, _ rest: inout ArraySlice<UInt8>) -> Int? {
    switch index {
    case 0: return isNil ? 0 : 1
    case 1...4: return 1 << Int(index)
    default:
      let width = 1 << Int(index - 5)
      guard rest.count >= width else { return nil }
      let size = number(rest.prefix(width))
      rest = rest.dropFirst(width)
      return Int(exactly: size)
    }
  }

  private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }

  /// If a UUID is based on the Bluetooth base UUID, `xxxxxxxx-0000-1000-8000-00805F9B34FB`, returns its first 32 bits.
  private static func short(_ bytes: ArraySlice<UInt8>) -> UInt32? {
    let base: [UInt8] = [0x00, 0x00, 0x10, 0x00, 0x80, 0x00, 0x00, 0x80, 0x5F, 0x9B, 0x34, 0xFB]
    return bytes.dropFirst(4).elementsEqual(base) ? UInt32(number(bytes.prefix(4))) : nil
  }
}
