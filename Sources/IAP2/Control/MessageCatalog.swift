/// The names of everything that may appear on the control session.
///
/// A number that is not here is still carried, shown as hex and ignored.
public enum MessageCatalog {
  /// What is known of one message.
  public struct Entry: Sendable {
    /// The message's number.
    public let id: MessageID
    /// Its name.
    public let name: String
    /// Which role sends it.
    public let sender: Link.Role
    /// How many top-level parameters are known to exist.
    public let parameterCount: Int
    let parameterText: String

    init(_ id: UInt16, _ name: String, _ sender: Link.Role, _ parameterCount: Int, _ parameters: String = "") {
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
    /// A number as wide as its value.
    case number
    /// A number as wide as its value that may be negative.
    case signed
    /// Packed two-byte numbers.
    case list
    /// Bytes.
    case blob
    /// Parameters.
    case group
    /// No value.
    case none
  }

  /// What is known of one parameter.
  public struct ParameterEntry: Equatable, Sendable {
    /// The parameter's number.
    public let id: UInt16
    /// How its value is written.
    public let kind: ValueKind
    /// Its name; may be empty.
    public let name: String
  }

  /// What is known of a message, if anything.
  public static func entry(_ id: MessageID) -> Entry? {
    byNumber[id.rawValue]
  }

  /// The message with this name, as in the catalogue.
  public static func named(_ name: String) -> Entry? {
    entries.first { $0.name == name }
  }

  /// All entries, by number.
  public static var all: [Entry] { entries }

  private static let byNumber: [UInt16: Entry] = Dictionary(
    entries.map { ($0.id.rawValue, $0) }, uniquingKeysWith: { first, _ in first })
}

extension MessageCatalog.Entry {
  /// The parameters that have a name.
  public var parameters: [MessageCatalog.ParameterEntry] {
    parameterText.split(separator: ";").compactMap { text in
      let words = text.split(separator: " ", maxSplits: 2)
      guard words.count >= 2, let id = UInt16(words[0]), let kind = MessageCatalog.ValueKind(rawValue: String(words[1]))
      else { return nil }
      return .init(id: id, kind: kind, name: words.count > 2 ? String(words[2]) : "")
    }
  }
}
