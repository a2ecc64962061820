/// The names of everything that may appear on the control session.
///
/// A number that is not here is still carried, shown as hex and ignored.
public enum MessageCatalog {
  /// The description of one message.
  public struct Entry: Sendable {
    /// The message's number.
    public let id: MessageID
    /// Its name; empty where a message was seen and no source names it.
    public let name: String
    /// Which role sends it, as far as that is known.
    public let sender: Link.Role?
    /// How many top-level parameters are known to exist.
    public let parameterCount: Int
    let parameterText: String

    init(_ id: UInt16, _ name: String, _ sender: Link.Role?, _ parameterCount: Int, _ parameters: String = "") {
      self.id = MessageID(rawValue: id)
      self.name = name
      self.sender = sender
      self.parameterCount = parameterCount
      parameterText = parameters
    }
  }

  /// How a parameter's value is written, as far as showing it needs to know.
  public enum ValueKind: String, Sendable {
    /// Text.
    case utf8
    /// A byte.
    case u8
    /// Two bytes.
    case u16
    /// Four bytes.
    case u32
    /// Eight bytes.
    case u64
    /// A byte that may be negative.
    case i8
    /// Two bytes that may be negative.
    case i16
    /// A number of unknown width.
    case number
    /// Packed two-byte numbers.
    case list
    /// Bytes.
    case blob
    /// Parameters.
    case group
    /// No value.
    case none
  }

  /// The description of one parameter.
  public struct ParameterEntry: Equatable, Sendable {
    /// The parameter's number.
    public let id: UInt16
    /// How its value is written.
    public let kind: ValueKind
    /// Its name; may be empty.
    public let name: String
    /// The parameters of a group, as far as they are known.
    public let group: [ParameterEntry]
  }

  /// The description of a message, if there is one.
  public static func entry(_ id: MessageID) -> Entry? {
    byNumber[id.rawValue]
  }

  /// The message with this name, as in the catalogue.
  public static func named(_ name: String) -> Entry? {
    name.isEmpty ? nil : entries.first { $0.name == name }
  }

  /// All entries, by number.
  public static var all: [Entry] { entries }

  private static let byNumber: [UInt16: Entry] = Dictionary(
    entries.map { ($0.id.rawValue, $0) }, uniquingKeysWith: { first, _ in first })
}

extension MessageCatalog.Entry {
  /// The parameters that have a name.
  public var parameters: [MessageCatalog.ParameterEntry] {
    var text = parameterText[...]
    return MessageCatalog.ParameterEntry.read(&text)
  }
}

extension MessageCatalog.ParameterEntry {
  /// Reads "0 u16 component; 1 group range {0 u16 from; 1 u16 to}; 2 none", up to the end or the brace that closes a group.
  fileprivate static func read(_ text: inout Substring) -> [Self] {
    var entries: [Self] = []
    while let end = text.firstIndex(where: { ";{}".contains($0) }) ?? (text.isEmpty ? nil : text.endIndex) {
      let words = text[..<end].split(separator: " ", maxSplits: 2)
      let mark = end < text.endIndex ? text[end] : ";"
      text = end < text.endIndex ? text[text.index(after: end)...] : ""
      let group = mark == "{" ? read(&text) : []
      if words.count >= 2, let id = UInt16(words[0]), let kind = MessageCatalog.ValueKind(rawValue: String(words[1])) {
        let name = words.count > 2 ? words[2].trimmingSuffix(of: " ") : ""
        entries.append(Self(id: id, kind: kind, name: name, group: group))
      }
      if mark == "}" { break }
    }
    return entries
  }
}

extension Substring {
  fileprivate func trimmingSuffix(of character: Character) -> String {
    var text = self
    while text.last == character { text.removeLast() }
    return String(text)
  }
}
