import AccessoryFormats
import Certificates
import IAP2

/// JSON written by easim, such as reports, `--json` output, decoded captures, and the data in a trace.
struct JSONDocument: RedactedDocument {
  let isCapture = false
  private let bytes: [UInt8]
  private let pieces: [JSONText.Piece]
  private var streams: [String: WireStream] = [:]
  /// For each string that contains bytes: the stream that the bytes belong to, and their range in that stream.
  private var ranges: [Int: (stream: String, range: Range<Int>)] = [:]

  init(_ bytes: [UInt8]) throws(RedactionRefusal) { try self.init(bytes, in: 0..<bytes.count) }

  init(_ bytes: [UInt8], in range: Range<Int>) throws(RedactionRefusal) {
    self.bytes = bytes
    pieces = try JSONText(bytes[range]).pieces
    for (index, piece) in pieces.enumerated() {
      let (name, found): (String, [UInt8]?) =
        switch piece.use {
        case .hex(let name): (name, try? Hex.parse(String(decoding: piece.text, as: UTF8.self)))
        case .base64(let name): (name, Base64.bytes(String(decoding: piece.text, as: UTF8.self)))
        case .text, .secret: ("", [])
        }
      guard let found else { throw RedactionRefusal("", "byte \(piece.range.lowerBound): bytes that cannot be read") }
      guard !name.isEmpty, !found.isEmpty else { continue }
      let isNative = name.hasPrefix("native")
      ranges[index] = (name, streams[name, default: WireStream(isNative: isNative)].append(found))
    }
  }

  mutating func collect(into names: inout SecretNames, _: (Double) -> Void) {
    for key in streams.keys.sorted() { streams[key]?.collect(into: &names) }
    for piece in pieces {
      switch piece.use {
      case .text: ShownMessages.collect(piece.text, into: &names)
      case .secret(.payload): break
      case .secret(let kind): names.add(piece.text, kind)
      case .hex, .base64: break
      }
    }
  }

  mutating func rewrite(_ names: inout SecretNames, _: (Double) -> Void) -> [UInt8] {
    for key in streams.keys.sorted() { streams[key]?.rewrite(&names) }
    var made: [UInt8] = []
    var place = 0
    for (index, piece) in pieces.enumerated() {
      made += bytes[place..<piece.range.lowerBound]
      place = piece.range.upperBound
      made += written(piece, index, &names)
    }
    return made + bytes[place...]
  }

  private func written(_ piece: JSONText.Piece, _ index: Int, _ names: inout SecretNames) -> [UInt8] {
    if let (name, range) = ranges[index], let stream = streams[name] {
      let new = Array(stream.bytes[range])
      let text =
        switch piece.use {
        case .base64: Base64.text(new)
        default: Hex.plain(new)
        }
      return Array(text.utf8)
    }
    var text = piece.text
    if piece.use == .secret(.payload), !names.kept.contains(.payload) {
      text = [UInt8](repeating: UInt8(ascii: "x"), count: text.count)
    } else {
      HexInText.rewrite(&text, &names)
    }
    return text == piece.text ? Array(bytes[piece.range]) : JSONText.written(text)
  }
}

/// The strings in one or more JSON values, with their positions in a file and their meanings.
struct JSONText {
  enum Use: Equatable {
    case text
    /// The string is a secret, as the member's key shows.
    case secret(SecretKind)
    /// Bytes of the named stream, written in hex.
    case hex(String)
    /// Bytes of the named stream, written in base64.
    case base64(String)
  }

  struct Piece {
    /// The string's position in the file, excluding the quotation marks.
    let range: Range<Int>
    /// The string's contents, with escape sequences decoded.
    let text: [UInt8]
    var use: Use
  }

  private(set) var pieces: [Piece] = []
  private var places: [Range<Int>] = []

  init(_ bytes: ArraySlice<UInt8>) throws(RedactionRefusal) {
    let values: [JSON5Value]
    do throws(SourceProblem) {
      (values, places) = try JSON5.readAll(Array(bytes), file: "", limits: .init(depth: 100), as: .json)
    } catch {
      let place = error.position.map { "line \($0.line), column \($0.column): " } ?? ""
      throw RedactionRefusal("", "not valid JSON: \(place)\(error.message)")
    }
    places = places.map { $0.lowerBound + bytes.startIndex..<$0.upperBound + bytes.startIndex }
    for value in values { _ = read(value) }
  }

  /// The value of a member or an element: a string, given by its index, or a number.
  private enum Value {
    case text(Int)
    case number(String)
    case other
  }

  private mutating func read(_ value: JSON5Value) -> Value {
    switch value.content {
    case .text(let text):
      pieces.append(Piece(range: places[pieces.count], text: Array(text.utf8), use: .text))
      return .text(pieces.count - 1)
    case .number(let number): return .number(number.spelling)
    case .null, .boolean: return .other
    case .array(let values):
      var elements: [Value] = []
      for value in values { elements.append(read(value)) }
      mark(elements)
    case .object(let members):
      var found: [String: Value] = [:]
      for member in members { found[member.key] = read(member.value) }
      mark(found)
    }
    return .other
  }

  private mutating func mark(_ elements: [Value]) {
    // In a trace, a packet consists of these elements: microseconds, cable, sender, event, text and bytes.
    guard elements.count >= 7, case .number(let cable) = elements[1], case .number(let sender) = elements[2],
      case .number(let event) = elements[3], case .text = elements[4], case .text(let bytes) = elements[5]
    else { return }
    // Transfers on native channels belong to a separate stream. A trace contains a packet twice if a fault changed it,
    // so changed packets are treated as a separate stream.
    let kind = event == "5" ? "native" : event == "6" ? "fault" : "packet"
    pieces[bytes].use = .base64("\(kind) \(cable) \(sender)")
  }

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
    // If an object has a serial number, it describes an accessory, so its name is a secret. The names of other objects
    // are not secret.
    if text("serial") != nil || text("serialNumber") != nil { set("name", .secret(.name)) }
    if text("data") != nil, text("from") != nil { set("data", .secret(.payload)) }
    guard case .text? = members["hex"] else { return }
    var cable = ""
    if case .number(let number)? = members["cable"] { cable = number }
    let isNative = text("event") == "sessionBytes" || text("event") == "transfer" || text("kind") == "transfer"
    let kind = isNative ? "native" : text("kind") == "fault" ? "fault" : "packet"
    set("hex", .hex("\(kind) \(cable) \(text("from") ?? "")"))
  }

  /// Encodes a string for use between quotation marks. Also escapes `<`, as easim's HTML pages do.
  static func written(_ text: [UInt8]) -> [UInt8] {
    let quoted = JSONObject.quoted(String(decoding: text, as: UTF8.self)).replacing("<", with: "\\u003c")
    return Array(quoted.utf8.dropFirst().dropLast())
  }
}

/// An HTML page or a JUnit file. Redaction changes the text, the attribute values and, in a trace, the data.
///
/// A trace shows which values are secrets. Any other page must be redacted together with the JSON report of the same
/// run.
struct MarkupDocument: RedactedDocument {
  let isCapture = false
  var namesSecrets: Bool { !data.isEmpty }
  private let bytes: [UInt8]
  private var texts: [Range<Int>] = []
  private var data: [(range: Range<Int>, document: JSONDocument)] = []

  init(_ bytes: [UInt8]) throws(RedactionRefusal) {
    self.bytes = bytes
    var place = 0
    while place < bytes.count {
      let end = bytes[place...].firstIndex(of: UInt8(ascii: "<")) ?? bytes.count
      if end > place { texts.append(place..<end) }
      guard end < bytes.count else { return }
      if bytes[end...].starts(with: "<![CDATA[".utf8) || bytes[end...].starts(with: "<!--".utf8) {
        throw RedactionRefusal("", "byte \(end): a comment or CDATA, which easim does not write")
      }
      place = try readTag(end)
      for element in ["script", "style"] where bytes[end...].starts(with: "<\(element)".utf8) {
        let close = Array("</\(element)>".utf8)
        guard let found = bytes[place...].firstRange(of: close)?.lowerBound else {
          throw RedactionRefusal("", "byte \(end): an unclosed element")
        }
        if bytes[end..<place].firstRange(of: Array("application/json".utf8)) != nil {
          data.append((place..<found, try JSONDocument(bytes, in: place..<found)))
        }
        place = found
      }
    }
  }

  /// Reads a tag, records the positions of its attribute values, and returns the position that follows the tag.
  private mutating func readTag(_ start: Int) throws(RedactionRefusal) -> Int {
    var place = start + 1
    while place < bytes.count, bytes[place] != UInt8(ascii: ">") {
      if bytes[place] == UInt8(ascii: "\"") || bytes[place] == UInt8(ascii: "'") {
        guard let end = bytes[(place + 1)...].firstIndex(of: bytes[place]) else { break }
        texts.append(place + 1..<end)
        place = end
      }
      place += 1
    }
    guard place < bytes.count else { throw RedactionRefusal("", "byte \(start): an unclosed tag") }
    return place + 1
  }

  mutating func collect(into names: inout SecretNames, _ progress: (Double) -> Void) {
    for index in data.indices { data[index].document.collect(into: &names, progress) }
    for range in texts { ShownMessages.collect(Self.plain(bytes[range]), into: &names) }
  }

  mutating func rewrite(_ names: inout SecretNames, _ progress: (Double) -> Void) -> [UInt8] {
    var changes: [(range: Range<Int>, bytes: [UInt8])] = []
    for range in texts {
      let before = Self.plain(bytes[range])
      var text = before
      HexInText.rewrite(&text, &names)
      if text != before {
        changes.append((range, Array(MarkupText.escaped(String(decoding: text, as: UTF8.self)).utf8)))
      }
    }
    for index in data.indices {
      let whole = data[index].document.rewrite(&names, progress)
      let range = data[index].range
      let tail = bytes.count - range.upperBound
      changes.append((range, Array(whole[range.lowerBound..<whole.count - tail])))
    }
    var made: [UInt8] = []
    var place = 0
    for change in changes.sorted(by: { $0.range.lowerBound < $1.range.lowerBound }) {
      made += bytes[place..<change.range.lowerBound] + change.bytes
      place = change.range.upperBound
    }
    return made + bytes[place...]
  }

  private static func plain(_ text: ArraySlice<UInt8>) -> [UInt8] {
    var plain = String(decoding: text, as: UTF8.self)
    for (entity, character) in [
      ("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&#10;", "\n"), ("&amp;", "&"),
    ]
    where plain.contains("&") {
      plain = plain.replacing(entity, with: character)
    }
    return Array(plain.utf8)
  }
}
