import AccessoryFormats

/// A method's answer: an object whose values are computed from a `Source`. Unlike a `Record`, an answer is only written
/// and never read, so no type is needed for its values.
struct Answer<Source>: Sendable {
  let shape: RecordShape
  let tree: @Sendable (Source) -> JSON5Value

  init(_ name: String, _ summary: String = "", @Keys _ keys: () -> [Key<Source>]) {
    let keys = keys()
    shape = RecordShape(name: name, summary: summary, fields: keys.map(\.shape))
    tree = { source in .object(keys.compactMap { key in key.write(source).map { JSON5Member(key.shape.key, $0) } }) }
  }

  init(shape: RecordShape, tree: @escaping @Sendable (Source) -> JSON5Value) {
    (self.shape, self.tree) = (shape, tree)
  }

  @resultBuilder enum Keys {
    static func buildExpression(_ key: Key<Source>) -> Key<Source> { key }
    static func buildBlock(_ keys: Key<Source>...) -> [Key<Source>] { keys }
  }

  /// An object with one key.
  static func only(_ name: String, _ key: String, _ format: Format<Source>, _ summary: String) -> Answer
  where Source: Equatable & Sendable {
    Answer(name) { Key(key, format, summary) { $0 } }
  }

  /// A list of strings under one key.
  static func list(_ key: String, _ summary: String) -> Answer where Source == [String] {
    Answer("list of \(key)", summary) { Key(key, .list(of: .text), summary) { $0 } }
  }

  /// A list of objects under one key.
  static func list<Element>(_ key: String, _ element: Answer<Element>, _ summary: String) -> Answer
  where Source == [Element] {
    Answer("list of \(key)", summary) {
      Key(
        shape: FieldShape(
          key: key, summary: summary, shape: .list(.record(element.shape), count: 0...Int.max), isRequired: true)
      ) { .array($0.map(element.tree)) }
    }
  }
}

struct Key<Source>: Sendable {
  let shape: FieldShape
  let write: @Sendable (Source) -> JSON5Value?
}

extension Key {
  init<Value>(
    _ key: String, _ format: Format<Value>, _ summary: String, _ value: @escaping @Sendable (Source) -> Value
  ) {
    shape = FieldShape(key: key, summary: summary, shape: format.shape, isRequired: true)
    write = { format.write(value($0)) }
  }

  /// A key that is omitted if there is no value.
  init<Value>(
    optional key: String, _ format: Format<Value>, _ summary: String, _ value: @escaping @Sendable (Source) -> Value?
  ) {
    shape = FieldShape(key: key, summary: summary, shape: format.shape, isRequired: false)
    write = { value($0).map { format.write($0) } }
  }
}

extension Answer<String> {
  /// The ID of a new object.
  static func new(_ kind: String) -> Answer { .only("new \(kind)", kind, .text, "the id of the new \(kind)") }
}

extension Answer<Void> {
  static let nothing = Answer("nothing", "an empty object") {}
}
