/// An object whose keys correspond to the properties of a type. See ``Format`` for a complete example.
///
/// Each field has a key path to its property. `base` holds the defaults.
public struct Record<Root: Equatable & Sendable>: Sendable {
  /// The name used for the object in messages, the schema and the documentation.
  public let name: String
  /// A sentence that describes the object in the documentation and in help.
  public let summary: String
  /// The defaults.
  public let base: Root
  let fields: [Field<Root>]
  private let check: @Sendable (Root, ObjectReader) -> Void
  private let rules: [JSON5Member]
  private var example: String?

  /// Creates the description of an object that has the keys in `fields` and the defaults in `base`.
  public init(_ name: String, _ summary: String = "", _ base: Root, @FieldList<Root> _ fields: () -> [Field<Root>]) {
    self.init(name, summary, base, fields(), rules: []) { _, _ in }
  }

  init(
    _ name: String, _ summary: String, _ base: Root, _ fields: [Field<Root>], rules: [JSON5Member],
    check: @escaping @Sendable (Root, ObjectReader) -> Void
  ) {
    (self.name, self.summary, self.base, self.fields) = (name, summary, base, fields)
    (self.rules, self.check) = (rules, check)
  }

  /// Returns this record with a check for additional rules that involve several keys. `check` receives the value and
  /// the keys that are present, and reports mistakes. `schema` contains the rules that can be expressed in a JSON
  /// Schema.
  public func checked(
    schema: [JSON5Member] = [], _ check: @escaping @Sendable (Root, ObjectReader) -> Void
  ) -> Record {
    var checked = Record(name, summary, base, fields, rules: rules + schema, check: check)
    checked.example = example
    return checked
  }

  /// Returns this record with an example for the documentation. The example is a string of the form `name,key=value,…`.
  public func example(_ text: String) -> Record {
    var shown = self
    shown.example = text
    return shown
  }

  /// The object's shape.
  public var shape: RecordShape {
    RecordShape(
      name: name, summary: summary, fields: fields.compactMap { $0.shape(base) }, rules: rules, example: example)
  }

  /// The format, for use as the value of a key or the element of a list.
  public var format: Format<Root> {
    Format(.record(shape)) { value, now, place in
      read(value, onto: now ?? base, at: place)
    } encode: { root, standard in
      root == standard ? nil : .object(members(root, standard ?? base))
    }
  }

  /// Returns the format of a value that can be written as an object or, for short, as only the value of `key`. In the
  /// short form, all other keys have their defaults. For example, a protocol can be written as a name or as an object.
  public func format(orJust key: String) -> Format<Root> {
    guard let short = fields.first(where: { $0.key == key })?.shape(base)?.shape else {
      preconditionFailure("the \(name) has no key '\(key)'")
    }
    let whole = format
    return Format(.either([short, whole.shape])) { value, now, place in
      switch value.content {
      case .object: return whole.decode(value, now, place)
      case .text:
        return whole.decode(
          JSON5Value(.object([JSON5Member(key, value, at: value.position)]), at: value.position), now, place)
      case .null, .boolean, .number, .array: return place.expected("\(short.range.withArticle) or an object", value)
      }
    } encode: { root, standard in
      let members = members(root, standard ?? base)
      if members.count == 1, let only = members.first, only.key == key { return only.value }
      return .object(members)
    }
  }

  /// Returns this record's fields as fields of an outer type that stores the record's value in a property.
  public func fields<Outer>(at path: Property<Outer, Root>) -> [Field<Outer>] { fields.map { Field($0, at: path) } }

  // MARK: Reading

  /// Reads a complete document, or throws an error that lists all problems in the document.
  public func read(_ text: String, file: String) throws(SourceProblems) -> Root {
    let tree: JSON5Value
    do { tree = try JSON5.read(text, file: file) } catch { throw SourceProblems([error]) }
    return try read(tree)
  }

  /// Reads a tree, or throws an error that lists all problems in the tree.
  public func read(_ tree: JSON5Value) throws(SourceProblems) -> Root {
    let problems = ProblemCollector()
    let root = read(tree, onto: base, at: Place(problems))
    try problems.throwErrors()
    guard let root else { preconditionFailure("a \(name) that was not read has no reported problem") }
    return root
  }

  /// Reads an object, starting from the values in `root`. Returns nil if `value` is not an object or lacks a required
  /// key. Any other mistake is reported, and the affected key keeps its default.
  public func read(_ value: JSON5Value, onto root: Root, at place: Place) -> Root? {
    guard let object = ObjectReader(value, name, fields.map(\.key), at: place) else { return nil }
    var root = root
    return fill(&root, from: object) ? root : nil
  }

  /// Reads every key from `object`. Returns false if a required key is missing.
  func fill(_ root: inout Root, from object: ObjectReader) -> Bool {
    let isWhole = fields.fill(&root, from: object)
    check(root, object)
    // Derived values are compared only if every key that they may depend on could be read.
    if isWhole, object.problems.errorCount == 0 { for field in fields { field.confirm(root, object) } }
    return isWhole
  }

  /// Returns a file's tree merged with the tree that the file extends. Objects with known keys are merged key by key.
  /// All other values are replaced as a whole. Each value keeps its position in the file that it came from.
  public func laid(_ file: JSON5Value, over base: JSON5Value) -> JSON5Value { shape.laid(file, over: base) }

  // MARK: Writing

  /// Returns the value as a tree that contains every key whose value differs from the default.
  public func tree(_ root: Root) -> JSON5Value { .object(members(root, base)) }

  func members(_ root: Root, _ standard: Root) -> [JSON5Member] { fields.members(root, standard) }
}

/// One key of a ``Record``.
public struct Field<Root: Equatable & Sendable>: Sendable {
  /// The key.
  public let key: String
  private(set) var isRequired = false
  /// The shape of the value, or nil for a key that is never valid.
  let shape: @Sendable (Root) -> FieldShape?
  /// Reads the value into the root. Returns false if the value is invalid.
  let read: @Sendable (JSON5Value, inout Root, Place) -> Bool
  /// If the key is missing and its default depends on other properties, sets the property to that default.
  private(set) var complete: @Sendable (inout Root) -> Void = { _ in }
  private(set) var write: @Sendable (Root, Root) -> JSON5Value? = { _, _ in nil }
  /// Called after all keys have been read. Compares the value that a file gives for a derived key with the value that
  /// follows from the other keys.
  private(set) var confirm: @Sendable (Root, ObjectReader) -> Void = { _, _ in }

  /// Creates a key that corresponds to a property.
  ///
  /// - Parameters:
  ///   - isRequired: whether the key is required.
  ///   - isAlwaysWritten: whether the key is written even with its default value.
  ///   - standard: the default, if it depends on earlier keys.
  ///   - standardText: the documentation's description of the default, if it differs from the type's default.
  public init<Value>(
    _ key: String, _ path: Property<Root, Value>, _ format: Format<Value>, _ summary: String,
    isRequired: Bool = false, isAlwaysWritten: Bool = false, standard: Standard<Root, Value>? = nil,
    standardText: String? = nil
  ) {
    self.key = key
    self.isRequired = isRequired
    shape = { base in
      let hasOwn = standard == nil && standardText == nil && !isRequired
      let value = hasOwn ? format.encode(base[keyPath: path], nil) : nil
      return FieldShape(
        key: key, summary: summary, shape: format.shape, isRequired: isRequired, standard: value,
        standardText: standardText ?? standard?.text)
    }
    read = { value, root, place in
      guard let read = format.decode(value, root[keyPath: path], place) else { return false }
      root[keyPath: path] = read
      return true
    }
    complete = { root in
      if let standard { root[keyPath: path] = standard.value(root) }
    }
    write = { root, base in
      let omitted = standard.map { $0.value(root) } ?? base[keyPath: path]
      return format.encode(root[keyPath: path], isRequired || isAlwaysWritten ? nil : omitted)
    }
  }

  init<Inner>(_ field: Field<Inner>, at path: Property<Root, Inner>) {
    key = field.key
    isRequired = field.isRequired
    shape = { field.shape($0[keyPath: path]) }
    read = { field.read($0, &$1[keyPath: path], $2) }
    complete = { field.complete(&$0[keyPath: path]) }
    write = { field.write($0[keyPath: path], $1[keyPath: path]) }
    confirm = { field.confirm($0[keyPath: path], $1) }
  }

  /// Creates a key that corresponds to a property whose value is itself an object.
  public init<Value>(
    _ key: String, _ path: Property<Root, Value>, _ record: Record<Value>, isRequired: Bool = false
  ) {
    self.init(key, path, record.format, record.summary, isRequired: isRequired)
  }

  /// Creates a key for an object that exists only in the file. The keys of the object are properties of the enclosing
  /// type. If other objects have the same key, `name` distinguishes this object in the documentation.
  public init(
    group key: String, named name: String? = nil, _ summary: String, isRequired: Bool = false,
    @FieldList<Root> _ fields: () -> [Field<Root>]
  ) {
    let fields = fields()
    self.key = key
    self.isRequired = isRequired
    shape = { base in
      let record = RecordShape(
        name: name ?? key, summary: summary, fields: fields.compactMap { $0.shape(base) }, rules: [])
      return FieldShape(key: key, summary: summary, shape: .record(record), isRequired: isRequired)
    }
    read = { value, root, place in
      guard let object = ObjectReader(value, key, fields.map(\.key), at: place) else { return false }
      return fields.fill(&root, from: object)
    }
    complete = { root in
      for field in fields { field.complete(&root) }
    }
    write = { root, base in
      let members = fields.members(root, base)
      return members.isEmpty ? nil : .object(members)
    }
  }

  /// Returns fields that reject the keys of another object. `only` is the name of the other object.
  public static func refused(_ keys: [String], _ only: String) -> [Field] {
    keys.map { Field(refused: $0, "\(only) has '\($0)'") }
  }

  private init(refused key: String, _ complaint: String) {
    self.key = key
    shape = { _ in nil }
    read = { value, _, place in
      place.error(value, complaint)
      return true
    }
  }

  /// Creates a required key whose value is a fixed number, such as the version of the format.
  public init(constant key: String, _ number: Int, _ summary: String) {
    self.key = key
    isRequired = true
    shape = { _ in FieldShape(key: key, summary: summary, shape: .constant(number), isRequired: true) }
    read = { value, _, place in
      if case .number(let found) = value.content, found.integer == Int64(number) { return true }
      place.error(value, "expected \(number), the format this program reads, found \(value.summary)")
      return false
    }
    write = { _, _ in .number(number) }
  }

  /// Creates a key whose value is derived from the other keys. The value is written for human readers and ignored when
  /// the file is read.
  public init<Value>(
    derived key: String, _ format: Format<Value>, _ summary: String, _ value: @escaping @Sendable (Root) -> Value
  ) {
    self.key = key
    shape = { _ in FieldShape(key: key, summary: summary, shape: format.shape, isRequired: false) }
    read = { _, _, _ in true }
    write = { root, _ in format.write(value(root)) }
  }

  /// Creates a key whose value is derived from the other keys. A file with any other value is rejected.
  public init<Value: Equatable>(
    confirmed key: String, _ format: Format<Value>, _ summary: String, _ value: @escaping @Sendable (Root) -> Value
  ) {
    self.init(derived: key, format, summary, value)
    confirm = { root, object in
      guard let given = object.value(key) else { return }
      let place = object.place.key(key)
      guard let stated = format.decode(given, nil, place), stated != value(root) else { return }
      place.error(given, "is \(given.summary), but the other figures give \(format.write(value(root)).summary)")
    }
  }

  /// Creates a key that is validated but otherwise ignored, such as `$schema`.
  public init<Value>(passing key: String, _ format: Format<Value>, _ summary: String) {
    self.key = key
    shape = { _ in FieldShape(key: key, summary: summary, shape: format.shape, isRequired: false) }
    read = { value, _, place in format.decode(value, nil, place) != nil }
  }
}

/// A key path to a property.
public typealias Property<Root, Value> = any WritableKeyPath<Root, Value> & Sendable

/// A default that depends on other properties.
public struct Standard<Root, Value>: Sendable {
  /// How the documentation describes the default, for example "the identity's name".
  public let text: String
  let value: @Sendable (Root) -> Value

  /// Creates a default.
  public init(_ text: String, _ value: @escaping @Sendable (Root) -> Value) {
    self.text = text
    self.value = value
  }
}

extension Array {
  fileprivate func fill<Root>(_ root: inout Root, from object: ObjectReader) -> Bool where Element == Field<Root> {
    var isWhole = true
    for field in self {
      if let value = object.value(field.key) {
        if !field.read(value, &root, object.place.key(field.key)), field.isRequired { isWhole = false }
      } else if field.isRequired {
        object.require(field.key)
        isWhole = false
      }
    }
    for field in self where object.value(field.key) == nil { field.complete(&root) }
    return isWhole
  }

  fileprivate func members<Root>(_ root: Root, _ standard: Root) -> [JSON5Member] where Element == Field<Root> {
    compactMap { field in field.write(root, standard).map { JSON5Member(field.key, $0) } }
  }
}

/// Collects the fields of a ``Record``, including lists of fields shared by several records.
@resultBuilder public enum FieldList<Root: Equatable & Sendable> {
  /// A single field.
  public static func buildExpression(_ field: Field<Root>) -> [Field<Root>] { [field] }
  /// Fields that several records share.
  public static func buildExpression(_ fields: [Field<Root>]) -> [Field<Root>] { fields }
  /// Fields that a `for` loop generates.
  public static func buildArray(_ fields: [[Field<Root>]]) -> [Field<Root>] { fields.reduce(into: []) { $0 += $1 } }
  /// Fields that only some records have.
  public static func buildOptional(_ fields: [Field<Root>]?) -> [Field<Root>] { fields ?? [] }
  /// Joins the fields of all expressions into one list.
  public static func buildBlock(_ fields: [Field<Root>]...) -> [Field<Root>] { fields.reduce(into: []) { $0 += $1 } }
}
