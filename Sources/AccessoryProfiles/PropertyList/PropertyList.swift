import AccessoryFormats

/// A value in a property list, such as an Info.plist, in XML or binary form. Keeps only strings, arrays and
/// dictionaries.
///
/// The size and the nesting of files are limited because files are untrusted. A few hundred kilobytes of nested tags
/// would overflow the stack. A binary file of a few hundred bytes could expand to gigabytes by referring to one value
/// many times.
///
/// ```swift
/// let list = try PropertyList(path: "Info.plist")
/// ```
public enum PropertyList: Equatable, Sendable {
  case text(String)
  case array([PropertyList])
  case dictionary([String: PropertyList])
  /// A value of any other kind. The value is represented by the name of its kind with an article, such as "a number".
  case other(String)

  /// The maximum size of a file that is read.
  public static let longest = 1 << 20
  /// How deeply arrays and dictionaries may be nested.
  public static let deepest = 64
  /// How many values a binary file may contain. A value counts once for each reference to it.
  public static let mostValues = 100_000
  /// How many bytes of text and data a binary file may contain. A value counts once for each reference to it.
  public static let mostContent = 8 << 20

  /// Reads a property list file.
  public init(path: String) throws(SourceProblem) {
    let bytes: [UInt8]
    do { bytes = try TextFile.read(path, limit: Self.longest) } catch {
      throw SourceProblem(at: nil, error.description)
    }
    try self.init(bytes, path: path)
  }

  /// Parses a property list.
  ///
  /// - Parameters:
  ///   - bytes: the contents of the file.
  ///   - path: the path of the file, for messages.
  public init(_ bytes: [UInt8], path: String) throws(SourceProblem) {
    guard bytes.count <= Self.longest else {
      throw SourceProblem(at: nil, "\(path) is larger than the limit of \(Self.longest) bytes")
    }
    let bytes = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes[3...]) : bytes
    if bytes.starts(with: Array("bplist".utf8)) {
      self = try BinaryPropertyList.read(bytes, path: path)
    } else {
      self = try XMLPropertyList.read(bytes, path: path)
    }
  }

  /// Returns the value for a key, or nil if this value is not a dictionary or has no such key.
  public subscript(key: String) -> PropertyList? {
    guard case .dictionary(let members) = self else { return nil }
    return members[key]
  }

  /// A description of the value, for messages.
  public var summary: String {
    switch self {
    case .text(let text): "the string '\(Excerpt.of(text))'"
    case .array: "an array"
    case .dictionary: "a dictionary"
    case .other(let kind): kind
    }
  }

  /// Returns the strings in an array. A single string counts as an array of one string, as on Apple's systems.
  ///
  /// - Parameter place: the file and the key, for messages.
  public func texts(of place: String) throws(SourceProblem) -> [String] {
    switch self {
    case .text(let text): return [text]
    case .array(let values):
      var texts: [String] = []
      for value in values {
        guard case .text(let text) = value else {
          throw SourceProblem(at: nil, path: place, "expected a string in the array, found \(value.summary)")
        }
        texts.append(text)
      }
      return texts
    case .dictionary, .other:
      throw SourceProblem(at: nil, path: place, "expected an array of strings, found \(summary)")
    }
  }
}

/// Reads a binary property list, as used in app bundles: objects, a table of their offsets, and a trailer.
struct BinaryPropertyList {
  private struct Damage: Error { let reason: String }

  private let bytes: [UInt8]
  private let table: Int
  private let offsetSize: Int
  private let referenceSize: Int
  private let count: Int
  private let top: Int
  private var values = 0
  private var content = 0

  static func read(_ bytes: [UInt8], path: String) throws(SourceProblem) -> PropertyList {
    do throws(Damage) {
      var reader = try BinaryPropertyList(bytes)
      return try reader.value(reader.top, depth: 0)
    } catch {
      throw SourceProblem(at: nil, "\(path) is a damaged binary property list: \(error.reason)")
    }
  }

  /// Parses the trailer, which is the last 32 bytes of the file. The trailer contains the sizes of offsets and
  /// references, the number of objects, the top object, and the position of the offset table.
  private init(_ bytes: [UInt8]) throws(Damage) {
    self.bytes = bytes
    guard bytes.count >= 8 + 32 else { throw Damage(reason: "the file has only \(bytes.count) bytes") }
    let trailer = bytes.count - 32
    (offsetSize, referenceSize) = (Int(bytes[trailer + 6]), Int(bytes[trailer + 7]))
    guard 1...8 ~= offsetSize, 1...8 ~= referenceSize else { throw Damage(reason: "the trailer contains wrong sizes") }
    guard let count = Self.number(bytes, trailer + 8, 8), let top = Self.number(bytes, trailer + 16, 8),
      let table = Self.number(bytes, trailer + 24, 8), top < count, 8...trailer ~= table,
      count <= (trailer - table) / offsetSize
    else { throw Damage(reason: "the trailer refers to missing bytes") }
    (self.count, self.top, self.table) = (count, top, table)
  }

  private mutating func value(_ object: Int, depth: Int) throws(Damage) -> PropertyList {
    values += 1
    guard values <= PropertyList.mostValues else {
      throw Damage(reason: "the file has more than \(PropertyList.mostValues) values")
    }
    guard let start = Self.number(bytes, table + object * offsetSize, offsetSize), 8..<table ~= start else {
      throw Damage(reason: "object \(object) is not between the header and the offset table")
    }
    switch bytes[start] >> 4 {
    case 0x0 where 0x8...0x9 ~= bytes[start]: return .other("a boolean")
    case 0x1, 0x2: return .other("a number")
    case 0x3: return .other("a date")
    case 0x4:
      _ = try elements(object, at: start, size: 1)
      return .other("data")
    case 0x5: return .text(try text(object, at: start, size: 1))
    case 0x6: return .text(try text(object, at: start, size: 2))
    case 0xA:
      var list: [PropertyList] = []
      for place in try members(object, at: start, depth: depth) {
        list.append(try value(try reference(place), depth: depth + 1))
      }
      return .array(list)
    case 0xD:
      let places = Array(try members(object, at: start, repeats: 2, depth: depth))
      var members: [String: PropertyList] = [:]
      for (key, place) in zip(places, places[(places.count / 2)...]) {
        guard case .text(let name) = try value(try reference(key), depth: depth + 1) else {
          throw Damage(reason: "a key of object \(object) is not text")
        }
        let member = try value(try reference(place), depth: depth + 1)
        // If a key occurs twice, the first value is used, as in Foundation.
        members[name] = members[name] ?? member
      }
      return .dictionary(members)
    default: return .other("a value of another kind")
    }
  }

  /// Returns the positions of the references in an array or a dictionary. In a dictionary, the keys come first.
  private func members(
    _ object: Int, at start: Int, repeats: Int = 1, depth: Int
  ) throws(Damage) -> StrideTo<Int> {
    guard depth < PropertyList.deepest else {
      throw Damage(reason: "arrays and dictionaries are nested deeper than \(PropertyList.deepest)")
    }
    let room = try extent(object, at: start, size: referenceSize, repeats: repeats)
    return stride(from: room.lowerBound, to: room.upperBound, by: referenceSize)
  }

  private mutating func text(_ object: Int, at start: Int, size: Int) throws(Damage) -> String {
    let units = try elements(object, at: start, size: size)
    let text =
      size == 1
      ? String(decoding: bytes[units], as: UTF8.self)
      : String(
        decoding: stride(from: units.lowerBound, to: units.upperBound, by: 2).map {
          UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1])
        }, as: UTF16.self)
    if text.utf8.contains(0) { throw Damage(reason: "object \(object) is text with a NUL character") }
    return text
  }

  private mutating func elements(_ object: Int, at start: Int, size: Int) throws(Damage) -> Range<Int> {
    let room = try extent(object, at: start, size: size)
    content += room.count
    guard content <= PropertyList.mostContent else {
      throw Damage(reason: "the file has more than \(PropertyList.mostContent) bytes of text and data")
    }
    return room
  }

  /// Returns the range that the elements of an object occupy. The marker at `start` either contains the number of
  /// elements or says that the number follows it.
  private func extent(_ object: Int, at start: Int, size: Int, repeats: Int = 1) throws(Damage) -> Range<Int> {
    var first = start + 1
    var length = Int(bytes[start] & 0xF)
    if length == 0xF {
      guard first < table, bytes[first] >> 4 == 1, bytes[first] & 0xF <= 3,
        let long = Self.number(bytes, first + 1, 1 << Int(bytes[first] & 0xF))
      else { throw Damage(reason: "object \(object) has a wrong length") }
      (first, length) = (first + 1 + 1 << Int(bytes[first] & 0xF), long)
    }
    guard length <= (table - min(first, table)) / size / repeats else {
      throw Damage(reason: "object \(object) is longer than the file")
    }
    return first..<first + length * size * repeats
  }

  private func reference(_ place: Int) throws(Damage) -> Int {
    guard let object = Self.number(bytes, place, referenceSize), object < count else {
      throw Damage(reason: "byte \(place) refers to a missing object")
    }
    return object
  }

  /// Returns a big-endian number, or nil if it lies beyond the end or is larger than any position in a file.
  private static func number(_ bytes: [UInt8], _ place: Int, _ size: Int) -> Int? {
    guard place >= 0, place <= bytes.count - size else { return nil }
    var value: UInt64 = 0
    for byte in bytes[place..<place + size] { value = value << 8 | UInt64(byte) }
    return value <= UInt64(Int32.max) ? Int(value) : nil
  }
}
