import AccessoryFormats

/// The strings in one or more JSON values, with their positions in a file and their meanings.
struct JSONText {
  /// The meaning of a string.
  enum Use: Equatable {
    /// Words, which may contain secrets.
    case text
    /// A secret, recognized by the member's key.
    case secret(SecretKind)
    /// Bytes of the named stream, in hex.
    case hex(String)
    /// Bytes of the named stream, in base64.
    case base64(String)
  }

  /// A string that is not a key.
  struct Piece {
    /// The string's position in the file, without the quotation marks.
    let range: Range<Int>
    /// The string's contents, with escapes decoded.
    let text: [UInt8]
    var use: Use
  }

  private(set) var pieces: [Piece] = []
  private let bytes: ArraySlice<UInt8>
  private var place: Int
  private static let mostDepth = 100

  init(_ bytes: ArraySlice<UInt8>) throws(RedactionRefusal) {
    (self.bytes, place) = (bytes, bytes.startIndex)
    skipBlanks()
    while place < bytes.endIndex {
      _ = try readValue(0)
      skipBlanks()
    }
  }

  private func refusal() -> RedactionRefusal { RedactionRefusal("", "byte \(place): this is not JSON") }

  private mutating func skipBlanks() {
    while place < bytes.endIndex, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[place]) { place += 1 }
  }

  private mutating func take(_ byte: Character) -> Bool {
    skipBlanks()
    guard place < bytes.endIndex, bytes[place] == byte.asciiValue else { return false }
    place += 1
    return true
  }

  /// The value of a member or an element: a string, given by its index, or a number.
  private enum Value {
    case text(Int)
    case number(String)
    case other
  }

  private mutating func readValue(_ depth: Int) throws(RedactionRefusal) -> Value {
    guard depth < Self.mostDepth, place < bytes.endIndex else { throw refusal() }
    if take("{") { return try readObject(depth) }
    if take("[") { return try readList(depth) }
    if bytes[place] == UInt8(ascii: "\"") {
      let (range, text) = try readText()
      pieces.append(Piece(range: range, text: text, use: .text))
      return .text(pieces.count - 1)
    }
    let start = place
    while place < bytes.endIndex, ![0x20, 0x09, 0x0A, 0x0D, 0x2C, 0x5D, 0x7D].contains(bytes[place]) { place += 1 }
    let word = String(decoding: bytes[start..<place], as: UTF8.self)
    guard ["true", "false", "null"].contains(word) || Double(word) != nil else { throw refusal() }
    return .number(word)
  }

  private mutating func readObject(_ depth: Int) throws(RedactionRefusal) -> Value {
    var members: [String: Value] = [:]
    if take("}") { return .other }
    repeat {
      skipBlanks()
      guard place < bytes.endIndex, bytes[place] == UInt8(ascii: "\"") else { throw refusal() }
      let key = String(decoding: try readText().text, as: UTF8.self)
      guard take(":") else { throw refusal() }
      skipBlanks()
      members[key] = try readValue(depth + 1)
    } while take(",")
    guard take("}") else { throw refusal() }
    mark(members)
    return .other
  }

  private mutating func readList(_ depth: Int) throws(RedactionRefusal) -> Value {
    var elements: [Value] = []
    if take("]") { return .other }
    repeat {
      skipBlanks()
      elements.append(try readValue(depth + 1))
    } while take(",")
    guard take("]") else { throw refusal() }
    // A packet in a trace: microseconds, cable, sender, event, text, bytes.
    if elements.count >= 7, case .number(let cable) = elements[1], case .number(let sender) = elements[2],
      case .number(let event) = elements[3], case .text = elements[4], case .text(let bytes) = elements[5]
    {
      // Native channels' transfers are a separate stream, and so are packets that a fault changed, because the trace
      // contains such packets twice.
      let kind = event == "5" ? "native" : event == "6" ? "fault" : "packet"
      pieces[bytes].use = .base64("\(kind) \(cable) \(sender)")
    }
    return .other
  }

  /// Determines the meaning of an object's strings.
  private mutating func mark(_ members: [String: Value]) {
    func text(_ key: String) -> String? {
      guard case .text(let index)? = members[key] else { return nil }
      return String(decoding: pieces[index].text, as: UTF8.self)
    }
    func set(_ key: String, _ use: Use) {
      if case .text(let index)? = members[key] { pieces[index].use = use }
    }
    for key in ["serial", "serialNumber", "uid", "uuid", "UUID"] { set(key, .secret(.serial)) }
    for key in ["mac", "MAC", "bluetoothAddress"] { set(key, .secret(.address)) }
    for key in ["ssid", "passphrase"] { set(key, .secret(.wifi)) }
    // A `name` next to a serial number is an accessory's; other objects' names are not secret.
    if text("serial") != nil || text("serialNumber") != nil { set("name", .secret(.name)) }
    if text("data") != nil, text("from") != nil { set("data", .secret(.payload)) }
    guard case .text? = members["hex"] else { return }
    var cable = ""
    if case .number(let number)? = members["cable"] { cable = number }
    let isNative = text("event") == "sessionBytes" || text("event") == "transfer" || text("kind") == "transfer"
    let kind = isNative ? "native" : text("kind") == "fault" ? "fault" : "packet"
    set("hex", .hex("\(kind) \(cable) \(text("from") ?? "")"))
  }

  // MARK: Texts

  private mutating func readText() throws(RedactionRefusal) -> (range: Range<Int>, text: [UInt8]) {
    place += 1
    let start = place
    var text: [UInt8] = []
    while place < bytes.endIndex, bytes[place] != UInt8(ascii: "\"") {
      if bytes[place] == UInt8(ascii: "\\") {
        place += 1
        try readEscape(into: &text)
      } else {
        text.append(bytes[place])
        place += 1
      }
    }
    guard place < bytes.endIndex else { throw refusal() }
    place += 1
    return (start..<place - 1, text)
  }

  private mutating func readEscape(into text: inout [UInt8]) throws(RedactionRefusal) {
    guard place < bytes.endIndex else { throw refusal() }
    let letter = bytes[place]
    place += 1
    let plain: [UInt8: UInt8] = [0x62: 0x08, 0x66: 0x0C, 0x6E: 0x0A, 0x72: 0x0D, 0x74: 0x09]
    guard letter == UInt8(ascii: "u") else { return text.append(plain[letter] ?? letter) }
    var units = [try readUnit()]
    if 0xD800..<0xDC00 ~= units[0], bytes[place...].starts(with: "\\u".utf8) {
      place += 2
      units.append(try readUnit())
    }
    text += Array(String(decoding: units, as: UTF16.self).utf8)
  }

  private mutating func readUnit() throws(RedactionRefusal) -> UInt16 {
    let digits = bytes[place...].prefix(4)
    guard digits.count == 4, let unit = UInt16(String(decoding: digits, as: UTF8.self), radix: 16) else {
      throw refusal()
    }
    place += 4
    return unit
  }

  /// Encodes a string for use between quotation marks; `<` is escaped, as easim does in HTML pages.
  static func written(_ text: [UInt8]) -> [UInt8] {
    let quoted = JSONObject.quoted(String(decoding: text, as: UTF8.self)).replacing("<", with: "\\u003c")
    return Array(quoted.utf8.dropFirst().dropLast())
  }
}
