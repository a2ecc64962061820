import AccessoryFormats

/// A value of a property list: of an Info.plist, XML or binary. Only strings are kept, with what they are in.
///
/// Files have limits, because the bytes are a stranger's: a few hundred kilobytes of nested tags would overflow the stack,
/// and a binary file can refer to one value many times, so that a few hundred bytes would become gigabytes.
///
/// ```swift
/// let list = try PropertyList(path: "Info.plist")
/// ```
public enum PropertyList: Equatable, Sendable {
  /// A string.
  case text(String)
  /// A list of values.
  case array([PropertyList])
  /// Values by key.
  case dictionary([String: PropertyList])
  /// Any other value, by its kind with an article: "a number".
  case other(String)

  /// The longest file that is read.
  public static let longest = 1 << 20
  /// How deep arrays and dictionaries may be nested.
  public static let deepest = 64
  /// How many values a binary file may have, counted each time one is referred to.
  public static let mostValues = 100_000
  /// How many bytes of text and data a binary file may have, counted each time one is referred to.
  public static let mostContent = 8 << 20

  /// Reads a file.
  public init(path: String) throws(SourceProblem) {
    let bytes: [UInt8]
    do { bytes = try TextFile.read(path, limit: Self.longest) } catch {
      throw SourceProblem(at: nil, error.description)
    }
    try self.init(bytes, path: path)
  }

  /// Reads bytes.
  ///
  /// - Parameter path: where they come from, for messages.
  public init(_ bytes: [UInt8], path: String) throws(SourceProblem) {
    guard bytes.count <= Self.longest else {
      throw SourceProblem(at: nil, "\(path) has more than \(Self.longest) bytes, the most it may have")
    }
    let bytes = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes[3...]) : bytes
    if bytes.starts(with: Array("bplist".utf8)) {
      self = try BinaryPropertyList.read(bytes, path: path)
    } else {
      self = try XMLPropertyList.read(bytes, path: path)
    }
  }

  /// The value of a key, when this is a dictionary that has it.
  public subscript(key: String) -> PropertyList? {
    guard case .dictionary(let members) = self else { return nil }
    return members[key]
  }

  /// What the value is, for messages.
  public var summary: String {
    switch self {
    case .text(let text): "the string '\(Excerpt.of(text))'"
    case .array: "an array"
    case .dictionary: "a dictionary"
    case .other(let kind): kind
    }
  }

  /// The strings of an array. A single string counts as an array of one, as it does for Apple's systems.
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
