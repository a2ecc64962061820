import AccessoryCore

/// The bytes of a property list, checked for what libraries do not check: size, nesting, the number of values, and
/// text with a NUL character. Libraries read nested values by recursion, and a file of a few hundred kilobytes would
/// overflow their stack. A binary file can refer to one value many times, and a few hundred bytes would become gigabytes.
/// libplist ends the process at a key with a NUL character.
///
/// ```swift
/// let file = try PropertyListFile(path: "Info.plist")
/// let list = try LibPlist.read(file)
/// ```
public struct PropertyListFile: Sendable {
  /// The two forms that are read.
  public enum Form: Sendable {
    /// XML in UTF-8, as Xcode's sources have it.
    case xml
    /// Binary, as app bundles have it.
    case binary
  }

  /// Where the bytes come from, for messages.
  public let path: String
  /// The form of the bytes.
  public let form: Form
  /// The contents, without a byte order mark.
  public let bytes: [UInt8]

  /// The longest file that is read.
  public static let longest = 1 << 20
  /// How deep arrays and dictionaries may be nested.
  public static let deepest = 64
  /// How many values a binary file may have, counted each time one is referred to.
  public static let mostValues = 100_000
  /// How many bytes of text and data a binary file may have, counted each time one is referred to.
  public static let mostContent = 8 << 20

  /// Reads and checks a file.
  public init(path: String) throws(SourceProblem) {
    let bytes: [UInt8]
    do { bytes = try TextFile.read(path, limit: Self.longest) } catch {
      throw SourceProblem(at: nil, error.description)
    }
    try self.init(bytes, path: path)
  }

  /// Checks bytes.
  public init(_ bytes: [UInt8], path: String) throws(SourceProblem) {
    self.path = path
    guard bytes.count <= Self.longest else {
      throw SourceProblem(at: nil, "\(path) has more than the maximum of \(Self.longest) bytes")
    }
    let bytes = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes[3...]) : bytes
    self.bytes = bytes
    if bytes.starts(with: Array("bplist".utf8)) {
      form = .binary
      do throws(BinaryNesting.Damage) { try BinaryNesting(bytes).check() } catch {
        throw SourceProblem(at: nil, "\(path) is a damaged binary property list: \(error.reason)")
      }
    } else {
      form = .xml
      var nesting = XMLNesting(bytes, file: path)
      try nesting.check()
    }
  }
}

/// Follows the tags of an XML property list, to find how deep they are nested. It refuses what XML readers understand in
/// different ways: other encodings, attributes, and definitions in the document type.
private struct XMLNesting {
  private let bytes: [UInt8]
  private let file: String
  private var index = 0
  private var depth = 0

  init(_ bytes: [UInt8], file: String) {
    self.bytes = bytes
    self.file = file
  }

  mutating func check() throws(SourceProblem) {
    guard let text = String(validating: bytes, as: UTF8.self), !bytes.contains(0) else {
      throw SourceProblem(at: nil, "\(file) is neither a binary property list nor XML in UTF-8")
    }
    guard text.first(where: { !$0.isWhitespace }) == "<" else {
      throw SourceProblem(at: nil, "\(file) is not a property list: expected XML that begins with <?xml or <plist>")
    }
    while let next = bytes[index...].firstIndex(of: UInt8(ascii: "<")) {
      index = next
      try step()
    }
  }

  /// Steps over one piece of markup.
  private mutating func step() throws(SourceProblem) {
    if stands("<!--") { return try skip(past: "-->") }
    if stands("<![CDATA[") { return try skip(past: "]]>") }
    let start = index
    if stands("<?") {
      try skip(past: "?>")
      return try checkEncoding(start)
    }
    try skip(past: ">")
    let tag = String(decoding: bytes[start..<index], as: UTF8.self)
    if tag.hasPrefix("<!") {
      if tag.contains("[") { throw problem(start, "document types with their own definitions are not supported") }
      return
    }
    let isClosing = tag.hasPrefix("</")
    let name = tag.dropFirst(isClosing ? 2 : 1).prefix { $0.isLetter || $0.isNumber }
    if name != "plist", tag.contains("\"") || tag.contains("'") {
      throw problem(start, "attributes of <\(Excerpt.of(String(name)))> are not read")
    }
    guard name == "array" || name == "dict" || name == "plist" else { return }
    if isClosing {
      depth -= 1
    } else if !tag.hasSuffix("/>") {
      depth += 1
      // The <plist> around everything counts as well.
      if depth > PropertyListFile.deepest + 1 {
        throw problem(start, "arrays and dictionaries are nested deeper than \(PropertyListFile.deepest)")
      }
    }
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

  private func problem(_ place: Int, _ message: String) -> SourceProblem {
    let before = bytes[..<place]
    let line = before.count { $0 == 0x0A } + 1
    let start = before.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
    let column = bytes[start..<place].count { $0 & 0xC0 != 0x80 } + 1
    return SourceProblem(at: SourcePosition(file: file, line: line, column: column), message)
  }
}

/// Walks the objects of a binary property list, to find how deep they are nested, how many values and bytes they
/// make, and whether a text is one that libraries fail at.
private struct BinaryNesting {
  struct Damage: Error { let reason: String }

  private let bytes: [UInt8]
  private let table: Int
  private let offsetSize: Int
  private let referenceSize: Int
  private let count: Int
  private let top: Int

  /// Reads the trailer: the last 32 bytes, with the sizes of offsets and references, the number of objects, the top object,
  /// and the place of the offset table.
  init(_ bytes: [UInt8]) throws(Damage) {
    self.bytes = bytes
    guard bytes.count >= 8 + 32 else { throw Damage(reason: "it has only \(bytes.count) bytes") }
    let trailer = bytes.count - 32
    (offsetSize, referenceSize) = (Int(bytes[trailer + 6]), Int(bytes[trailer + 7]))
    guard 1...8 ~= offsetSize, 1...8 ~= referenceSize else { throw Damage(reason: "its trailer has wrong sizes") }
    guard let count = Self.number(bytes, trailer + 8, 8), let top = Self.number(bytes, trailer + 16, 8),
      let table = Self.number(bytes, trailer + 24, 8), top < count, 8...trailer ~= table,
      count <= (trailer - table) / offsetSize
    else { throw Damage(reason: "its trailer refers to missing bytes") }
    (self.count, self.top, self.table) = (count, top, table)
  }

  func check() throws(Damage) {
    var open = [(object: top, depth: 0)]
    var (values, content) = (0, 0)
    while let (object, depth) = open.popLast() {
      values += 1
      guard values + open.count <= PropertyListFile.mostValues else {
        throw Damage(reason: "it has more than \(PropertyListFile.mostValues) values")
      }
      switch try self.object(object) {
      case .container(let members):
        guard depth < PropertyListFile.deepest else {
          throw Damage(reason: "arrays and dictionaries are nested deeper than \(PropertyListFile.deepest)")
        }
        guard members.count <= PropertyListFile.mostValues else {
          throw Damage(reason: "it has more than \(PropertyListFile.mostValues) values")
        }
        for place in members.places {
          guard let member = Self.number(bytes, place, referenceSize), member < count else {
            throw Damage(reason: "byte \(place) refers to a missing object")
          }
          open.append((member, depth + 1))
        }
      case .content(let elements, let isText):
        content += elements.count * elements.size
        guard content <= PropertyListFile.mostContent else {
          throw Damage(reason: "it has more than \(PropertyListFile.mostContent) bytes of text and data")
        }
        let isNull = { (place: Int) in bytes[place..<place + elements.size].allSatisfy { $0 == 0 } }
        if isText, elements.places.contains(where: isNull) {
          throw Damage(reason: "object \(object) is text with a NUL character")
        }
      case .other: break
      }
    }
  }

  private enum Object {
    /// The references of an array, set or dictionary.
    case container(Elements)
    /// The bytes of data, the characters of text.
    case content(Elements, isText: Bool)
    case other
  }

  private struct Elements {
    let first: Int
    let count: Int
    let size: Int

    var places: StrideTo<Int> { stride(from: first, to: first + count * size, by: size) }
  }

  private func object(_ object: Int) throws(Damage) -> Object {
    guard let start = Self.number(bytes, table + object * offsetSize, offsetSize), 8..<table ~= start else {
      throw Damage(reason: "object \(object) is not between the header and the offset table")
    }
    let marker = bytes[start]
    let kind = marker >> 4
    guard kind >= 0xA || 0x4...0x6 ~= kind else { return .other }
    var first = start + 1
    var length = Int(marker & 0xF)
    if length == 0xF {
      guard first < table, bytes[first] >> 4 == 1, bytes[first] & 0xF <= 3 else {
        throw Damage(reason: "object \(object) has a wrong length")
      }
      let size = 1 << Int(bytes[first] & 0xF)
      guard let long = Self.number(bytes, first + 1, size) else {
        throw Damage(reason: "object \(object) has a wrong length")
      }
      (first, length) = (first + 1 + size, long)
    }
    // Data, ASCII, UTF-16, and what refers to others; a dictionary refers to its keys and then to its values.
    let size = kind >= 0xA ? referenceSize : kind == 0x6 ? 2 : 1
    let repeats = kind == 0xD ? 2 : 1
    guard length <= (table - min(first, table)) / size / repeats else {
      throw Damage(reason: "object \(object) is longer than the file")
    }
    let elements = Elements(first: first, count: length * repeats, size: size)
    return kind >= 0xA ? .container(elements) : .content(elements, isText: kind != 0x4)
  }

  /// A big-endian number; nil when it is outside of the bytes or larger than any place in a file.
  private static func number(_ bytes: [UInt8], _ place: Int, _ size: Int) -> Int? {
    guard place >= 0, place <= bytes.count - size else { return nil }
    var value: UInt64 = 0
    for byte in bytes[place..<place + size] { value = value << 8 | UInt64(byte) }
    return value <= UInt64(Int32.max) ? Int(value) : nil
  }
}
