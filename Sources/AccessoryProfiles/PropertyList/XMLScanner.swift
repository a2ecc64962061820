import AccessoryCore

/// Tags and text of an XML file, as far as property lists use it: attributes are read over, and so are comments, the
/// declaration and a document type without definitions of its own.
struct XMLScanner {
  /// One tag.
  struct Tag: Equatable {
    enum Kind: Equatable { case opening, closing, empty }

    var name: String
    var kind: Kind
    var position: SourcePosition

    /// The tag as it is written.
    var spelling: String {
      switch kind {
      case .opening: "<\(Excerpt.of(name))>"
      case .closing: "</\(Excerpt.of(name))>"
      case .empty: "<\(Excerpt.of(name))/>"
      }
    }

    func problem(_ message: String) -> SourceProblem { SourceProblem(at: position, message) }
  }

  private let bytes: [UInt8]
  private let file: String
  private var index = 0
  private var line = 1
  private var column = 1

  init(_ bytes: [UInt8], file: String) {
    self.bytes = bytes
    self.file = file
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { index = 3 }
  }

  var position: SourcePosition { SourcePosition(file: file, line: line, column: column) }

  func problem(_ message: String) -> SourceProblem { SourceProblem(at: position, message) }

  /// The next tag, with nothing but blanks and comments before it; nil at the end of the file.
  mutating func nextTag() throws(SourceProblem) -> Tag? {
    while true {
      skipBlanks()
      guard index < bytes.count else { return nil }
      guard bytes[index] == UInt8(ascii: "<") else { throw problem("text stands where a tag is expected") }
      if try !skipMarkup() { return try tag() }
    }
  }

  /// The text up to the end of an element that holds nothing else, with its entities resolved.
  mutating func text(of opening: Tag) throws(SourceProblem) -> String {
    var text: [UInt8] = []
    while index < bytes.count {
      switch bytes[index] {
      case UInt8(ascii: "&"): text += try entity()
      case UInt8(ascii: "<"):
        if stands("<![CDATA[") {
          text += try between("<![CDATA[", "]]>")
        } else if try !skipMarkup() {
          let end = try tag()
          guard end.kind == .closing, end.name == opening.name else {
            throw end.problem("expected </\(opening.name)> for line \(opening.position.line), found \(end.spelling)")
          }
          guard let valid = String(validating: text, as: UTF8.self) else {
            throw opening.problem("this \(opening.spelling) is not UTF-8")
          }
          return valid
        }
      default:
        text.append(bytes[index])
        advance()
      }
    }
    throw opening.problem("this \(opening.spelling) is not closed")
  }

  // MARK: Markup

  /// Steps over a comment, a declaration or a document type, if one stands here.
  private mutating func skipMarkup() throws(SourceProblem) -> Bool {
    if stands("<!--") {
      _ = try between("<!--", "-->")
    } else if stands("<?") {
      _ = try between("<?", "?>")
    } else if stands("<!DOCTYPE") {
      let start = position
      if try between("<!DOCTYPE", ">").contains(UInt8(ascii: "[")) {
        throw SourceProblem(at: start, "a document type with definitions of its own is not read")
      }
    } else {
      return false
    }
    return true
  }

  private mutating func tag() throws(SourceProblem) -> Tag {
    let start = position
    advance()
    var kind = Tag.Kind.opening
    if stands("/") {
      kind = .closing
      advance()
    }
    let name = word()
    guard !name.isEmpty else {
      throw SourceProblem(at: start, "a '<' begins no tag here: as text it is written '&lt;'")
    }
    var quote: UInt8?
    var last: UInt8 = 0
    while index < bytes.count {
      let byte = bytes[index]
      advance()
      if quote == nil, byte == UInt8(ascii: ">") {
        if last == UInt8(ascii: "/"), kind == .opening { kind = .empty }
        return Tag(name: name, kind: kind, position: start)
      }
      if quote == nil, byte == UInt8(ascii: "<") { break }
      if byte == quote {
        quote = nil
      } else if quote == nil, byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
        quote = byte
      }
      last = byte
    }
    throw SourceProblem(at: start, "this tag has no '>'")
  }

  private mutating func word() -> String {
    let start = index
    while index < bytes.count, Self.isNameByte(bytes[index]) { advance() }
    return String(decoding: bytes[start..<index], as: UTF8.self)
  }

  private mutating func entity() throws(SourceProblem) -> [UInt8] {
    let start = position
    guard let end = bytes[index...].prefix(12).firstIndex(of: UInt8(ascii: ";")) else {
      throw SourceProblem(at: start, "an '&' begins no entity here: as text it is written '&amp;'")
    }
    let name = String(decoding: bytes[(index + 1)..<end], as: UTF8.self)
    guard let scalar = Self.scalar(named: name) else {
      throw SourceProblem(at: start, "the entity '&\(Excerpt.of(name));' is not known")
    }
    while index <= end { advance() }
    return Array(String(Character(scalar)).utf8)
  }

  private static func scalar(named name: String) -> Unicode.Scalar? {
    switch name {
    case "amp": return "&"
    case "lt": return "<"
    case "gt": return ">"
    case "quot": return "\""
    case "apos": return "'"
    default:
      let isHex = name.hasPrefix("#x")
      guard name.hasPrefix("#"), let value = UInt32(name.dropFirst(isHex ? 2 : 1), radix: isHex ? 16 : 10) else {
        return nil
      }
      return value == 0 ? nil : Unicode.Scalar(value)
    }
  }

  // MARK: Bytes

  /// What stands between two marks; steps behind the second.
  private mutating func between(_ opening: StaticString, _ closing: StaticString) throws(SourceProblem) -> [UInt8] {
    let start = position
    advance(opening.utf8CodeUnitCount)
    let first = index
    while index < bytes.count {
      if stands(closing) {
        let inside = Array(bytes[first..<index])
        advance(closing.utf8CodeUnitCount)
        return inside
      }
      advance()
    }
    throw SourceProblem(at: start, "'\(opening)' is not closed: '\(closing)' is missing")
  }

  private func stands(_ mark: StaticString) -> Bool {
    mark.withUTF8Buffer { bytes[index...].starts(with: $0) }
  }

  private mutating func skipBlanks() {
    while index < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[index]) { advance() }
  }

  private mutating func advance(_ count: Int = 1) {
    for _ in 0..<count where index < bytes.count {
      // A column per scalar: the bytes that continue one do not count.
      let byte = bytes[index]
      index += 1
      if byte == 0x0A {
        (line, column) = (line + 1, 1)
      } else if byte & 0xC0 != 0x80 {
        column += 1
      }
    }
  }

  private static func isNameByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: ":"),
      UInt8(ascii: "."):
      true
    default: false
    }
  }
}
