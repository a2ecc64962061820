import AccessoryFormats

/// Reads an XML property list in UTF-8, as used in Xcode projects. The reader refuses everything that XML parsers
/// interpret in different ways: other encodings, attributes, and definitions in the document type.
struct XMLPropertyList {
  private let bytes: [UInt8]
  private let file: String
  private var index = 0

  static func read(_ bytes: [UInt8], path: String) throws(SourceProblem) -> PropertyList {
    guard let text = String(validating: bytes, as: UTF8.self), !bytes.contains(0) else {
      throw SourceProblem(at: nil, "\(path) is neither a binary property list nor UTF-8 XML")
    }
    guard text.first(where: { !$0.isWhitespace }) == "<" else {
      throw SourceProblem(at: nil, "\(path) is not a property list: expected XML that begins with <?xml or <plist>")
    }
    var reader = XMLPropertyList(bytes: bytes, file: path)
    return try reader.document()
  }

  private struct Tag {
    let start: Int
    let name: String
    var isClosing = false
    /// Whether the tag closes itself, as in `<string/>`.
    var isEmpty = false
  }

  private mutating func document() throws(SourceProblem) -> PropertyList {
    let first = try tag()
    let isWrapped = first.name == "plist" && !first.isClosing
    if isWrapped, first.isEmpty { throw invalid(first.start, "<plist> is empty") }
    let list = try value(isWrapped ? try tag() : first, depth: 0)
    if isWrapped { try close(first) }
    try expectEnd()
    return list
  }

  private mutating func value(_ tag: Tag, depth: Int) throws(SourceProblem) -> PropertyList {
    guard !tag.isClosing else { throw invalid(tag.start, "</\(Excerpt.of(tag.name))> closes nothing") }
    switch tag.name {
    case "string": return .text(try text(of: tag))
    case "array", "dict":
      guard depth < PropertyList.deepest else {
        throw problem(tag.start, "arrays and dictionaries are nested deeper than \(PropertyList.deepest)")
      }
      return tag.name == "dict" ? try dictionary(tag, depth: depth + 1) : try array(tag, depth: depth + 1)
    default:
      guard let kind = Self.others[tag.name] else {
        throw invalid(tag.start, "<\(Excerpt.of(tag.name))> is no value of a property list")
      }
      _ = try text(of: tag)
      return .other(kind)
    }
  }

  private static let others = [
    "true": "a boolean", "false": "a boolean", "integer": "a number", "real": "a number", "date": "a date",
    "data": "data",
  ]

  private mutating func array(_ opening: Tag, depth: Int) throws(SourceProblem) -> PropertyList {
    var values: [PropertyList] = []
    while let next = try member(of: opening) { values.append(try value(next, depth: depth)) }
    return .array(values)
  }

  private mutating func dictionary(_ opening: Tag, depth: Int) throws(SourceProblem) -> PropertyList {
    var members: [String: PropertyList] = [:]
    while let next = try member(of: opening) {
      guard next.name == "key", !next.isClosing else {
        throw invalid(next.start, "expected <key> or </dict>, found <\(Excerpt.of(next.name))>")
      }
      let key = try text(of: next)
      members[key] = try value(try tag(), depth: depth)
    }
    return .dictionary(members)
  }

  private mutating func member(of opening: Tag) throws(SourceProblem) -> Tag? {
    if opening.isEmpty { return nil }
    let next = try tag()
    return next.isClosing && next.name == opening.name ? nil : next
  }

  private mutating func close(_ opening: Tag) throws(SourceProblem) {
    guard let other = try member(of: opening) else { return }
    throw invalid(other.start, "expected </\(Excerpt.of(opening.name))>")
  }

  // MARK: Text

  /// Returns the text up to the closing tag, without comments and with references resolved.
  private mutating func text(of opening: Tag) throws(SourceProblem) -> String {
    var text: [UInt8] = []
    while !opening.isEmpty {
      guard index < bytes.count else { throw invalid(opening.start, "<\(opening.name)> is not closed") }
      if stands("<![CDATA[") {
        let start = index + 9
        try skip(past: "]]>")
        text += bytes[start..<index - 3]
      } else if stands("<!--") {
        try skip(past: "-->")
      } else if bytes[index] == UInt8(ascii: "<") {
        try close(opening)
        break
      } else if bytes[index] == UInt8(ascii: "&") {
        text += String(try reference()).utf8
      } else {
        text.append(bytes[index])
        index += 1
      }
    }
    return String(decoding: text, as: UTF8.self)
  }

  private static let named: [String: Unicode.Scalar] = ["amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'"]

  private mutating func reference() throws(SourceProblem) -> Unicode.Scalar {
    let start = index
    let name = bytes[(start + 1)...].prefix(10).prefix { $0 != UInt8(ascii: ";") }
    index += name.count + 2
    let word = String(decoding: name, as: UTF8.self)
    let number = word.hasPrefix("#x") ? UInt32(word.dropFirst(2), radix: 16) : UInt32(word.dropFirst())
    guard index <= bytes.count, bytes[index - 1] == UInt8(ascii: ";"),
      let scalar = Self.named[word] ?? (word.hasPrefix("#") ? number.flatMap(Unicode.Scalar.init) : nil), scalar != "\0"
    else { throw invalid(start, "'&' must begin a reference such as &amp;") }
    return scalar
  }

  // MARK: Markup

  private mutating func tag() throws(SourceProblem) -> Tag {
    while true {
      skipSpace()
      let start = index
      guard index < bytes.count else { throw invalid(start, "it ends too early") }
      guard bytes[index] == UInt8(ascii: "<"), !stands("<![CDATA[") else {
        throw invalid(start, "text outside of <string>")
      }
      if stands("<!--") {
        try skip(past: "-->")
        continue
      }
      if stands("<?") {
        try skip(past: "?>")
        try checkEncoding(start)
        continue
      }
      try skip(past: ">")
      let text = String(decoding: bytes[start..<index], as: UTF8.self)
      if text.hasPrefix("<!") {
        if text.contains("[") { throw problem(start, "document types with their own definitions are not supported") }
        continue
      }
      let isClosing = text.hasPrefix("</")
      let name = String(text.dropFirst(isClosing ? 2 : 1).prefix { !$0.isWhitespace && $0 != "/" && $0 != ">" })
      if name != "plist", text.contains("\"") || text.contains("'") {
        throw problem(start, "attributes of <\(Excerpt.of(name))> are not supported")
      }
      return Tag(start: start, name: name, isClosing: isClosing, isEmpty: text.hasSuffix("/>"))
    }
  }

  private mutating func expectEnd() throws(SourceProblem) {
    while true {
      skipSpace()
      if index == bytes.count { return }
      guard stands("<!--") else { throw invalid(index, "expected the end of the file") }
      try skip(past: "-->")
    }
  }

  private mutating func skipSpace() {
    while index < bytes.count, bytes[index] == 0x20 || 0x09...0x0D ~= bytes[index] { index += 1 }
  }

  private func checkEncoding(_ start: Int) throws(SourceProblem) {
    let declaration = String(decoding: bytes[start..<index], as: UTF8.self).lowercased()
    guard declaration.contains("encoding") else { return }
    guard declaration.contains("utf-8") || declaration.contains("us-ascii") else {
      throw problem(start, "the encoding is not UTF-8")
    }
  }

  private mutating func skip(past mark: StaticString) throws(SourceProblem) {
    let start = index
    let length = mark.utf8CodeUnitCount
    while index + length <= bytes.count {
      if stands(mark) {
        index += length
        return
      }
      index += 1
    }
    throw problem(start, "this tag or comment is not closed: '\(mark)' is missing")
  }

  private func stands(_ mark: StaticString) -> Bool {
    mark.withUTF8Buffer { bytes[index...].starts(with: $0) }
  }

  private func invalid(_ place: Int, _ message: String) -> SourceProblem {
    problem(place, "this is not a valid property list: \(message)")
  }

  private func problem(_ place: Int, _ message: String) -> SourceProblem {
    let before = bytes[..<place]
    let line = before.count { $0 == 0x0A } + 1
    let start = before.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
    let column = bytes[start..<place].count { $0 & 0xC0 != 0x80 } + 1
    return SourceProblem(at: SourcePosition(file: file, line: line, column: column), message)
  }
}
