/// The shape of the values of a ``Format``, for the schema, the documentation, help and completion.
public indirect enum Shape: Sendable {
  case text(TextShape)
  case boolean
  case integer(ClosedRange<Int64>)
  case number(ClosedRange<Double>)
  /// A duration such as `'250ms'`.
  case duration(ClosedRange<Duration>)
  /// A probability such as `'2.5%'`.
  case chance
  case words([String])
  case null
  case constant(Int)
  case list(Shape, count: ClosedRange<Int>)
  case record(RecordShape)
  /// An object whose keys the user chooses, with a minimum number of keys.
  case named(Shape, atLeast: Int)
  /// An object that is described in another document, given by its name.
  case document(String)
  case oneOf(OneOfShape)
  case either([Shape])
}

/// The rules for a string that a schema can express.
public struct TextShape: Equatable, Sendable {
  /// The documentation's term for the string, for example "a protocol's name", or nil for any text.
  public var name: String?
  /// The regular expression that the string must match.
  public var pattern: String?
  /// The minimum and maximum number of characters.
  public var length: ClosedRange<Int>

  /// Creates the rules for a string.
  public init(_ name: String? = nil, pattern: String? = nil, length: ClosedRange<Int> = 0...Int.max) {
    (self.name, self.pattern, self.length) = (name, pattern, length)
  }
}

/// An object's shape.
public struct RecordShape: Sendable {
  /// The object's name.
  public let name: String
  /// The name of the ``OneOf`` that has this object as one of its kinds, for example "quirk". For an ordinary object,
  /// the name is nil.
  public var owner: String?
  /// A sentence that describes the object, or an empty string.
  public let summary: String
  /// The object's keys, in file order.
  public let fields: [FieldShape]
  /// A string of the form `name,key=value,…` that shows a typical use, or nil if there is none.
  public var example: String?
  package let rules: [JSON5Member]

  /// Creates the shape of an object from its keys.
  package init(
    name: String, owner: String? = nil, summary: String, fields: [FieldShape], rules: [JSON5Member] = [],
    example: String? = nil
  ) {
    (self.name, self.owner, self.summary, self.fields, self.rules) = (name, owner, summary, fields, rules)
    self.example = example
  }
}

extension RecordShape {
  /// The text to append to an error about a parameter: `, as in 'name,key=value'`, or an empty string.
  var exampleHint: String { example.map { $0.contains(",") ? ", as in '\($0)'" : "" } ?? "" }

  func laid(_ file: JSON5Value, over base: JSON5Value) -> JSON5Value {
    guard case .object(let own) = file.content, case .object(let inherited) = base.content else { return file }
    let merged = own.map { member -> JSON5Member in
      guard case .record(let inner)? = fields.first(where: { $0.key == member.key })?.shape,
        let below = base[member.key]
      else { return member }
      return JSON5Member(member.key, inner.laid(member.value, over: below), at: member.keyPosition)
    }
    let added = inherited.filter { below in !own.contains { $0.key == below.key } }
    return JSON5Value(.object(merged + added), at: file.position)
  }
}

/// The shape of a key in an object.
public struct FieldShape: Sendable {
  /// The key.
  public let key: String
  /// What the key means.
  public let summary: String
  /// The allowed values.
  public let shape: Shape
  /// Whether the key is required.
  public let isRequired: Bool
  /// The default, or nil if the key has no default or if the default depends on other keys.
  public var standard: JSON5Value?
  /// What the default depends on, for example "the accessory's name".
  public var standardText: String?

  package init(
    key: String, summary: String, shape: Shape, isRequired: Bool, standard: JSON5Value? = nil,
    standardText: String? = nil
  ) {
    (self.key, self.summary, self.shape, self.isRequired) = (key, summary, shape, isRequired)
    (self.standard, self.standardText) = (standard, standardText)
  }

  /// Creates a key whose value is an object that is described elsewhere.
  package init(ofType type: RecordShape) {
    self.init(key: type.name, summary: "", shape: .record(type), isRequired: true)
  }
}

/// The shape of a value that has one of several kinds.
public struct OneOfShape: Sendable {
  /// The value's name.
  public let name: String
  /// The key that holds the kind.
  public let key: String
  /// The kinds.
  public let kinds: [RecordShape]
  /// The kinds whose name alone is a valid string.
  package let textKinds: [String]
  /// The kinds whose string form must include keys after the name.
  package let textKindsWithKeys: [String]
  /// The regular expression for other valid strings, or nil if there are none.
  package let textPattern: String?
}

// MARK: - Words

extension Shape {
  /// The words to choose from, or an empty list if other values are allowed.
  public var choices: [String] {
    switch self {
    case .words(let words): words
    case .boolean: ["true", "false"]
    case .either(let shapes): shapes.flatMap(\.choices)
    case .oneOf(let kinds): kinds.kinds.map(\.name)
    case .text, .integer, .number, .duration, .chance, .null, .constant, .list, .record, .named, .document: []
    }
  }

  /// The placeholder for the value in help texts: `TIME`, `N`, `wire|device`.
  public var placeholder: String {
    switch self {
    case .text: "TEXT"
    case .boolean: "true|false"
    case .integer, .number: "N"
    case .duration: "TIME"
    case .chance: "P%"
    case .words(let words): words.joined(separator: "|")
    case .null: "null"
    case .constant(let number): "\(number)"
    case .list(let element, _): "\(element.placeholder)…"
    case .record, .named, .document: "{…}"
    case .oneOf(let kinds): kinds.name.uppercased()
    case .either(let shapes): shapes.map(\.placeholder).joined(separator: "|")
    }
  }

  /// A description of the allowed values, for example `20ms to 65.535s`.
  public var range: String {
    switch self {
    case .text(let text): text.name ?? "text"
    case .boolean: "true or false"
    case .integer(let range): "\(range.lowerBound) to \(range.upperBound)"
    case .number(let range): "\(range.lowerBound) to \(range.upperBound)"
    case .duration(let range): range.text
    case .chance: "0% to 100%"
    case .words(let words): words.joined(separator: ", ")
    case .null: "null"
    case .constant(let number): "\(number)"
    case .list(let element, _): "list: \(element.range)"
    case .record(let record): "object: \(record.name)"
    case .named(let element, _): "object that maps names to values: \(element.range)"
    case .document(let name): name
    case .oneOf(let kinds): kinds.name
    case .either(let shapes): shapes.map(\.range).joined(separator: ", or ")
    }
  }

  /// Whether a value can be written as one word in a string of the form `name,key=value`.
  var isWord: Bool {
    switch self {
    case .text, .boolean, .integer, .number, .duration, .chance, .words, .constant: true
    case .null, .list, .record, .named, .document, .oneOf: false
    case .either(let shapes): shapes.contains { $0.isWord }
    }
  }

  /// Converts a word to a value. A word that does not fit becomes a string, so that the reader reports the mistake.
  public func content(of word: String) -> JSON5Value.Content {
    switch self {
    case .boolean:
      switch word {
      case "true", "yes": return .boolean(true)
      case "false", "no": return .boolean(false)
      default: return .text(word)
      }
    case .integer, .constant: return Int64(word).map { .number(JSON5Number($0)) } ?? .text(word)
    case .number:
      guard let value = Double(word) else { return .text(word) }
      return .number(JSON5Number(spelling: word, value: value, integer: Int64(exactly: value)))
    case .either(let shapes):
      let contents = shapes.map { $0.content(of: word) }
      return contents.first { if case .text = $0 { false } else { true } } ?? .text(word)
    case .text, .duration, .chance, .words, .null, .list, .record, .named, .document, .oneOf: return .text(word)
    }
  }
}

extension JSON5Value {
  /// The value as one word in a string of the form `name,key=value`. Lists and objects are written as JSON5.
  public var word: String {
    switch content {
    case .null: "null"
    case .boolean(let boolean): "\(boolean)"
    case .number(let number): number.spelling
    case .text(let text): text
    case .array, .object: String(JSON5Writer.write(self).dropLast())
    }
  }
}

extension String {
  var withArticle: String { (first.map { "aeiou".contains($0) } ?? false ? "an " : "a ") + self }
}

// MARK: - Later versions

extension Record {
  /// Reads a tree that a later version may have written. Unknown keys are ignored in all objects.
  public func readKnown(_ tree: JSON5Value) throws(SourceProblems) -> Root { try read(shape.known(in: tree)) }
}

extension RecordShape {
  fileprivate func known(in tree: JSON5Value) -> JSON5Value {
    guard case .object(let members) = tree.content else { return tree }
    let known = members.compactMap { member in
      fields.first { $0.key == member.key }.map {
        JSON5Member(member.key, $0.shape.known(in: member.value), at: member.keyPosition)
      }
    }
    return JSON5Value(.object(known), at: tree.position)
  }
}

extension Shape {
  fileprivate func known(in tree: JSON5Value) -> JSON5Value {
    switch (self, tree.content) {
    case (.record(let record), _): record.known(in: tree)
    case (.list(let element, _), .array(let values)):
      JSON5Value(.array(values.map { element.known(in: $0) }), at: tree.position)
    default: tree
    }
  }
}
