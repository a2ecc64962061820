/// The keys that one kind of object may have. Declared once: the reader refuses other keys by it, suggestions come
/// from it, and a test holds it against the JSON Schema.
public struct ObjectShape: Equatable, Sendable {
  /// What the object is called in messages and, where it has an entry of its own, in the schema's definitions.
  public let name: String
  /// The keys, in the order in which they are written.
  public let keys: [String]

  /// A shape.
  public init(_ name: String, _ keys: [String]) {
    self.name = name
    self.keys = keys
  }
}
