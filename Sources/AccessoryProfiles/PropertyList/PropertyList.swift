import AccessoryCore

/// A value of an XML property list, as Xcode writes `Info.plist`, with the place where it stands.
///
/// ```swift
/// let plist = try PropertyList.read(file: "Info.plist")
/// plist["UISupportedExternalAccessoryProtocols"]?.texts   // ["com.lawaken.iap2"]
/// ```
public struct PropertyList: Equatable, Sendable {
  /// What the value is.
  public var content: Content
  /// Where its tag stands.
  public var position: SourcePosition

  /// The kinds of values.
  public enum Content: Equatable, Sendable {
    /// `<string>`.
    case text(String)
    /// `<true/>` or `<false/>`.
    case boolean(Bool)
    /// `<array>`.
    case array([PropertyList])
    /// `<dict>`, in the order in which it was written, each key once.
    case dictionary([(key: String, value: PropertyList)])
    /// `<integer>`, `<real>`, `<date>` or `<data>`, by its tag and as it was written.
    case other(tag: String, String)

    /// Whether two values say the same, in the same order, at the same places.
    public static func == (left: Content, right: Content) -> Bool {
      switch (left, right) {
      case (.text(let left), .text(let right)): left == right
      case (.boolean(let left), .boolean(let right)): left == right
      case (.array(let left), .array(let right)): left == right
      case (.dictionary(let left), .dictionary(let right)): left.elementsEqual(right) { $0 == $1 }
      case (.other(let leftTag, let left), .other(let rightTag, let right)): leftTag == rightTag && left == right
      default: false
      }
    }
  }

  /// A value at a place.
  public init(_ content: Content, at position: SourcePosition) {
    self.content = content
    self.position = position
  }

  /// The value of a key, when this is a dictionary that has it.
  public subscript(key: String) -> PropertyList? {
    guard case .dictionary(let members) = content else { return nil }
    return members.first { $0.key == key }?.value
  }

  /// What the value is, for messages.
  public var summary: String {
    switch content {
    case .text(let text): "the string '\(Excerpt.of(text))'"
    case .boolean(let value): "<\(value)/>"
    case .array: "an <array>"
    case .dictionary: "a <dict>"
    case .other(let tag, _): "an <\(tag)>"
    }
  }

  /// The strings of an array, or of a single string, which the system takes for an array of one.
  ///
  /// - Throws: where there is something else.
  public func texts(of key: String) throws(SourceProblem) -> [String] {
    switch content {
    case .text(let text): return [text]
    case .array(let values):
      var texts: [String] = []
      for value in values {
        guard case .text(let text) = value.content else {
          throw SourceProblem(at: value.position, path: key, "expected a <string> in the list, found \(value.summary)")
        }
        texts.append(text)
      }
      return texts
    default: throw SourceProblem(at: position, path: key, "expected an <array> of <string>, found \(summary)")
    }
  }

  /// Reads a file.
  ///
  /// - Throws: what is wrong with it, with line and column where it is about the text.
  public static func read(file path: String) throws(SourceProblem) -> PropertyList {
    let bytes: [UInt8]
    do { bytes = try TextFile.read(path, limit: sizeLimit) } catch {
      throw SourceProblem(at: nil, error.description)
    }
    return try read(bytes, file: path)
  }

  /// Reads a property list from its bytes.
  public static func read(_ bytes: [UInt8], file: String) throws(SourceProblem) -> PropertyList {
    let start = SourcePosition(file: file, line: 1, column: 1)
    guard bytes.count <= sizeLimit else {
      throw SourceProblem(at: start, "the file has \(bytes.count) bytes, and at most \(sizeLimit) are read")
    }
    if bytes.starts(with: Array("bplist".utf8)) {
      throw SourceProblem(
        at: start, "this is a binary property list: write it as XML, on Linux with `plistutil -i \(file) -f xml`")
    }
    var reader = PropertyListReader(scanner: XMLScanner(bytes, file: file))
    return try reader.document()
  }

  /// The longest file that is read.
  static let sizeLimit = 1 << 20
}
