/// A value that has one of several kinds, each with its own keys. In Swift, such a value is an enum with payloads. One
/// of the keys holds the kind.
///
/// In a file, such a value is an object or a string `kind,key=value,…`. On the command line, such a value is always a
/// string. In a string, a key may be omitted if its value is one of the key's named choices, and a key without a value
/// means `true`: `session,refuse,times=1`.
///
/// ```swift
/// enum Light: Equatable {
///   case lamp(Lamp)
///   case none
///
///   static let format = OneOf("light", key: "kind", example: "lamp,red") {
///     Kind(Lamp.format, Light.lamp) { if case .lamp(let lamp) = $0 { lamp } else { nil } }
///     Kind("none", "no light at all", Light.none)
///   }
/// }
/// let light = try Light.format.read("lamp,green,fading=2s")
/// Light.format.text(light)                // "lamp,color=green,fading=2s"
/// ```
public struct OneOf<Root: Equatable & Sendable>: Sendable {
  /// The word for such a value in messages, for example "quirk".
  public let name: String
  let key: String
  let example: String
  let kinds: [Kind<Root>]
  private let isWrittenAsText: Bool
  private let shorthand: Shorthand?

  /// An additional string form, for values that are not written as `kind,key=value`.
  public struct Shorthand: Sendable {
    /// A regular expression, used in the schema, that matches strings in this form.
    let pattern: String
    /// Converts a string to the members of an object, or returns nil if the string has the usual form. If the string is
    /// invalid, the error explains what to write instead.
    let members: @Sendable (String) throws(OptionError) -> [JSON5Member]?

    /// Creates a shorthand.
    public init(pattern: String, _ members: @escaping @Sendable (String) throws(OptionError) -> [JSON5Member]?) {
      self.pattern = pattern
      self.members = members
    }
  }

  /// Creates a format from a list of kinds.
  ///
  /// - Parameters:
  ///   - key: the key that holds the kind.
  ///   - example: a valid string, for messages.
  ///   - isWrittenAsText: whether to use the string form in files where possible.
  public init(
    _ name: String, key: String, example: String, isWrittenAsText: Bool = false, shorthand: Shorthand? = nil,
    @KindList<Root> _ kinds: () -> [Kind<Root>]
  ) {
    (self.name, self.key, self.example) = (name, key, example)
    (self.isWrittenAsText, self.shorthand) = (isWrittenAsText, shorthand)
    self.kinds = kinds()
    examples = self.kinds.map(\.base)
    names = self.kinds.map(\.name)
  }

  /// One value of each kind, with default parameters.
  public let examples: [Root]

  /// The names of all kinds.
  public let names: [String]

  /// The shape of the values.
  public var shape: OneOfShape {
    let texts = kinds.filter { $0.fields.allSatisfy(\.shape.isWord) }
    return OneOfShape(
      name: name, key: key, kinds: kinds.map { $0.shape(of: name) },
      textKinds: texts.filter { !$0.fields.contains(where: \.isRequired) }.map(\.name),
      textKindsWithKeys: texts.filter { $0.fields.contains(where: \.isRequired) }.map(\.name),
      textPattern: shorthand?.pattern)
  }

  /// The format, for use as the value of a key or the element of a list.
  public var format: Format<Root> {
    Format(.oneOf(shape)) { value, _, place in
      read(value, at: place)
    } encode: { root, standard in
      root == standard ? nil : tree(root)
    }
  }

  /// Returns the name of a value's kind.
  public func name(of root: Root) -> String { kind(of: root).name }

  /// Returns true if two values have the same kind.
  public func areOfOneKind(_ one: Root, _ other: Root) -> Bool { name(of: one) == name(of: other) }

  // MARK: Writing

  /// Returns the value as a tree. If all keys have their default values, the tree is only the name of the kind.
  /// Otherwise, the tree is an object or a string.
  public func tree(_ root: Root) -> JSON5Value {
    if isWrittenAsText || written(root).members.isEmpty { return .text(text(root)) }
    return .object(object(root))
  }

  /// Returns the value as an object with the key for the kind and each key whose value differs from the default.
  public func object(_ root: Root) -> [JSON5Member] {
    let (kind, members) = written(root)
    return [JSON5Member(key, .text(kind.name))] + members
  }

  /// Returns the value in the form `kind,key=value,…` with every key whose value differs from the default.
  public func text(_ root: Root) -> String {
    let (kind, members) = written(root)
    return ([kind.name] + members.map { "\($0.key)=\($0.value.word)" }).joined(separator: ",")
  }

  /// Returns the keys whose values differ from the defaults, each with its value.
  public func members(_ root: Root) -> [JSON5Member] { written(root).members }

  private func written(_ root: Root) -> (kind: Kind<Root>, members: [JSON5Member]) {
    let kind = kind(of: root)
    return (kind, kind.write(root))
  }

  private func kind(of root: Root) -> Kind<Root> {
    // Searching by index avoids copying each kind, which would take longer than the comparison.
    guard let index = kinds.indices.first(where: { kinds[$0].holds(root) }) else {
      preconditionFailure("\(name.withArticle) has no kind in its list: \(root)")
    }
    return kinds[index]
  }

  // MARK: Reading

  /// Reads a string from the command line. The error lists every mistake with its column. If the kind is misspelled,
  /// the error suggests words from `others` as well as names of kinds.
  public func read(_ text: String, others: [String] = []) throws(SourceProblems) -> Root {
    let problems = ProblemCollector()
    let position = SourcePosition(argument: "\(name) '\(Excerpt.of(text))'")
    let word = OptionText(text).name
    if !others.isEmpty, !names.contains(word) {
      problems.error(at: position, unknown(word, others: others))
      try problems.throwErrors()
    }
    let root = read(JSON5Value(.text(text), at: position), at: Place(problems))
    try problems.throwErrors()
    guard let root else { preconditionFailure("\(name.withArticle) that was not read has no reported problem") }
    return root
  }

  func read(_ value: JSON5Value, at place: Place) -> Root? {
    switch value.content {
    case .object(let members):
      guard let word = members.first(where: { $0.key == key })?.value else {
        place.error(value, "the key '\(key)' is missing")
        return nil
      }
      guard case .text(let name) = word.content else { return place.key(key).expected("text", word) }
      return kind(name, at: word.position, place).flatMap { read($0, value, place) }
    case .text(let text): return read(text, value, place)
    default: return place.expected("\(name.withArticle) such as '\(example)' or an object", value)
    }
  }

  private func read(_ text: String, _ value: JSON5Value, _ place: Place) -> Root? {
    do throws(OptionError) {
      if let members = try shorthand?.members(text) {
        return read(JSON5Value(.object(members), at: value.position), at: place)
      }
    } catch {
      place.error(value, error.description)
      return nil
    }
    let options = OptionText(text)
    guard let kind = kind(options.name, at: value.position, place) else { return nil }
    let members = options.members(kind.shape(of: name), value.position, place)
    let name = JSON5Member(key, JSON5Value(.text(options.name), at: value.position), at: value.position)
    return read(kind, JSON5Value(.object([name] + members), at: value.position), place)
  }

  private func kind(_ name: String, at position: SourcePosition, _ place: Place) -> Kind<Root>? {
    if let kind = kinds.first(where: { $0.name == name }) { return kind }
    place.problems.error(at: position, path: place.path, unknown(name))
    return nil
  }

  private func unknown(_ word: String, others: [String] = []) -> String {
    // A sign other than the comma, as in `loss=1%`, is taken for a part of the name.
    let stem = word.prefix { $0.isLetter || $0.isNumber || $0 == "-" || $0 == "." }
    let meant = kinds.first { $0.name == stem }?.shape(of: name)
    let hint = meant.map { ": a comma follows the name\($0.exampleHint)" }
    return "unknown \(name) '\(Excerpt.of(word))'\(hint ?? Suggestion.hint(for: word, in: names + others))"
  }

  private func read(_ kind: Kind<Root>, _ value: JSON5Value, _ place: Place) -> Root? {
    let keys = [key] + kind.fields.map(\.key)
    let object = ObjectReader(value, "\(name) \(kind.name)", keys, at: place) { key in
      let others = kinds.filter { $0.fields.contains { $0.key == key } }.map { "'\($0.name)'" }
      return others.isEmpty ? nil : "'\(kind.name)' has no '\(key)': it belongs to \(others.joined(separator: ", "))"
    }
    return object.flatMap { kind.read($0) }
  }
}

/// One of the kinds in a ``OneOf``.
public struct Kind<Root: Equatable & Sendable>: Sendable {
  /// The name of the kind, as written in the key that holds the kind.
  public let name: String
  /// A sentence that describes the kind.
  public let summary: String
  /// A value of this kind with default parameters.
  public let base: Root
  let fields: [FieldShape]
  private let rules: [JSON5Member]
  private let example: String?
  let read: @Sendable (ObjectReader) -> Root?
  let holds: @Sendable (Root) -> Bool
  let write: @Sendable (Root) -> [JSON5Member]

  /// Creates a kind whose payload is described by a record.
  ///
  /// - Parameters:
  ///   - shared: keys that are not part of the payload, such as keys that several kinds share.
  ///   - make: wraps a payload in its enum case.
  ///   - payload: returns the payload if the value is that case, otherwise nil.
  public init<Payload>(
    _ record: Record<Payload>, shared: [Field<Root>] = [], _ make: @escaping @Sendable (Payload) -> Root,
    payload: @escaping @Sendable (Root) -> Payload?
  ) {
    let base = make(record.base)
    let rest = Record("", "", base, shared, rules: []) { _, _ in }
    (name, summary, self.base) = (record.name, record.summary, base)
    let shape = record.shape
    (fields, rules, example) = (shape.fields + rest.shape.fields, shape.rules, shape.example)
    read = { object in
      var payload = record.base
      let isWhole = record.fill(&payload, from: object)
      var root = make(payload)
      return rest.fill(&root, from: object) && isWhole ? root : nil
    }
    holds = { payload($0) != nil }
    write = { root in
      payload(root).map { record.members($0, record.base) + rest.members(root, make($0)) } ?? []
    }
  }

  /// Creates a kind without a payload.
  public init(_ name: String, _ summary: String, _ value: Root) {
    (self.name, self.summary, base, fields, rules) = (name, summary, value, [], [])
    example = name
    read = { _ in value }
    holds = { $0 == value }
    write = { _ in [] }
  }

  func shape(of owner: String) -> RecordShape {
    RecordShape(name: name, owner: owner, summary: summary, fields: fields, rules: rules, example: example)
  }
}

/// Collects the kinds for a ``OneOf``.
@resultBuilder public enum KindList<Root: Equatable & Sendable> {
  /// One kind.
  public static func buildExpression(_ kind: Kind<Root>) -> [Kind<Root>] { [kind] }
  /// Several kinds, given as a list.
  public static func buildExpression(_ kinds: [Kind<Root>]) -> [Kind<Root>] { kinds }
  /// Joins the kinds of all expressions into one list.
  public static func buildBlock(_ kinds: [Kind<Root>]...) -> [Kind<Root>] { kinds.flatMap(\.self) }
}

/// One of the keys that can hold the kind in ``OneOf/format(in:at:sides:complaint:)``.
public struct OneOfSide: Sendable {
  /// The key's name.
  public let key: String
  let summary: String

  /// Creates a side from a key and a summary of its choices.
  public init(_ key: String, _ summary: String) { (self.key, self.summary) = (key, summary) }
}

extension OneOf {
  /// Returns the format of an object that holds the kind in one of several keys. For example, the kind `app.look` is
  /// written as the key `app` with the value `look`. The keys of the kind and the keys of `record` are at the same
  /// level.
  ///
  /// - Parameters:
  ///   - path: the property that stores the value.
  ///   - sides: the alternative keys, such as `app`, whose value names the kind. An object must have exactly one of
  ///     these keys.
  ///   - complaint: returns the message for a key that does not belong to the kind. If this closure returns nil, the
  ///     message lists the kinds that have the key.
  public func format<Owner>(
    in record: Record<Owner>, at path: Property<Owner, Root>, sides: [OneOfSide],
    complaint: @escaping @Sendable (_ key: String, _ kind: String) -> String?
  ) -> Format<Owner> {
    let shape = sided(record.shape, sides)
    let keys = shape.fields.map(\.key)
    return Format(.record(shape)) { value, place in
      guard let object = ObjectReader(value, record.name, keys, at: place) else { return nil }
      var owner = record.base
      let isWhole = record.fill(&owner, from: object)
      guard let kind = kind(in: object, sides, of: record.name) else { return nil }
      for key in payloadKeys where object.value(key) != nil && !kind.fields.contains(where: { $0.key == key }) {
        object.error(key, complaint(key, kind.name) ?? "'\(key)' needs \(owners(of: key))")
      }
      guard let root = kind.read(object), isWhole else { return nil }
      owner[keyPath: path] = root
      return owner
    } write: { owner in
      let root = owner[keyPath: path]
      let (side, word) = Self.parts(of: name(of: root))
      return .object(record.members(owner, record.base) + [JSON5Member(side, .text(word))] + members(root))
    }
  }

  private func kind(in object: ObjectReader, _ sides: [OneOfSide], of name: String) -> Kind<Root>? {
    let given = sides.filter { object.value($0.key) != nil }
    guard given.count == 1, let side = given.first?.key else {
      // For a name such as "step with apps", the message uses only the first word. The documentation uses the full
      // name.
      let what = String(name.prefix { $0 != " " }).withArticle
      object.error("\(what) needs exactly one of \(sides.map { "'\($0.key)'" }.joined(separator: ", "))")
      return nil
    }
    let format = Format.words(
      kinds.filter { $0.name.hasPrefix("\(side).") }.map { (Self.parts(of: $0.name).word, $0.name) })
    return object.value(side).flatMap { format.read($0, at: object.place.key(side)) }.flatMap { name in
      kinds.first { $0.name == name }
    }
  }

  private func sided(_ record: RecordShape, _ sides: [OneOfSide]) -> RecordShape {
    let sideFields = sides.map { side in
      FieldShape(key: side.key, summary: side.summary, shape: .words(words(of: side.key)), isRequired: false)
    }
    let payload = payloadKeys.compactMap { key in kinds.lazy.flatMap(\.fields).first { $0.key == key } }
    let optional = payload.map { field in
      FieldShape(
        key: field.key, summary: field.summary, shape: field.shape, isRequired: false, standard: field.standard)
    }
    let rule = sides.map { JSON5Value.object([JSON5Member("required", .array([.text($0.key)]))]) }
    return RecordShape(
      name: record.name, summary: record.summary, fields: record.fields + sideFields + optional,
      rules: [JSON5Member("anyOf", .array(rule))])
  }

  private func words(of side: String) -> [String] {
    names.map(Self.parts).filter { $0.side == side }.map(\.word)
  }

  private static func parts(of name: String) -> (side: String, word: String) {
    guard let dot = name.firstIndex(of: ".") else { preconditionFailure("the kind \(name) has no side") }
    return (String(name[..<dot]), String(name[name.index(after: dot)...]))
  }

  private var payloadKeys: [String] {
    kinds.flatMap(\.fields).reduce(into: []) { keys, field in
      if !keys.contains(field.key) { keys.append(field.key) }
    }
  }

  private func owners(of key: String) -> String {
    kinds.filter { $0.fields.contains { $0.key == key } }.map { kind in
      let (side, word) = Self.parts(of: kind.name)
      return "\(side): '\(word)'"
    }.joined(separator: " or ")
  }
}
