import AccessoryFormats

extension RecordShape {
  /// Returns the JSON Schema for documents of this shape. The schema omits rules that only the reader can check, such
  /// as rules about several keys. If `key` is given, a document that contains this key extends another document and may
  /// omit required keys.
  public func schema(id: String, extending key: String? = nil) -> JSON5Value {
    var definitions = SharedSchemas()
    var members: [JSON5Member]
    if let key {
      members = definitions.members(of: partial)
      members.append(.init("anyOf", .array([.object([required([key])]), .object(requiredMembers)])))
    } else {
      members = definitions.members(of: self)
    }
    return definitions.document(id, members)
  }

  /// Returns the JSON Schema for documents that can have any of several shapes.
  public static func schema(id: String, title: String, ofAny shapes: [RecordShape]) -> JSON5Value {
    var definitions = SharedSchemas()
    let either = definitions.schema(of: .either(shapes.map(Shape.record)))
    guard case .object(let members) = either.content else { preconditionFailure("a schema is an object") }
    return definitions.document(id, [.init("title", .text(title))] + members)
  }

  fileprivate var partial: RecordShape {
    let fields = fields.map { field in
      var shape = field.shape
      if case .record(let record) = shape { shape = .record(record.partial) }
      return FieldShape(
        key: field.key, summary: field.summary, shape: shape, isRequired: field.isRequired && shape.isConstant,
        standard: field.standard)
    }
    return RecordShape(name: name, owner: owner, summary: summary, fields: fields, rules: rules)
  }

  private var requiredMembers: [JSON5Member] {
    let inner = fields.compactMap { field -> JSON5Member? in
      guard case .record(let record) = field.shape else { return nil }
      let members = record.requiredMembers
      return members.isEmpty ? nil : JSON5Member(field.key, .object(members))
    }
    let keys = fields.filter { $0.isRequired && !$0.shape.isConstant }.map(\.key)
    return (keys.isEmpty ? [] : [required(keys)])
      + (inner.isEmpty ? [] : [JSON5Member("properties", .object(inner))])
  }

  private func required(_ keys: [String]) -> JSON5Member { .init("required", .array(keys.map { .text($0) })) }
}

extension Shape {
  fileprivate var isConstant: Bool { if case .constant = self { true } else { false } }
}

/// A set of schemas that share their definitions within one document.
public struct SharedSchemas {
  private let place: String
  /// Whether objects may have keys that the schema does not name, such as keys that a later version adds.
  private let isOpen: Bool
  /// The shapes that ``Shape/document(_:)`` refers to, keyed by name.
  private let documents: [String: RecordShape]
  private var definitions: [JSON5Member] = []

  /// Creates a set of schemas for a document of its own, whose definitions are in `$defs`.
  fileprivate init() { (place, isOpen, documents) = ("#/$defs/", false, [:]) }

  /// Creates a set of schemas whose definitions are in `components`, as in OpenRPC. `documents` maps names to the
  /// objects that other documents describe.
  public init(documents: [String: RecordShape]) {
    (place, isOpen, self.documents) = ("#/components/schemas/", true, documents)
  }

  /// The definitions used by the schemas created so far, keyed by name.
  public var all: JSON5Value { .object(definitions) }

  fileprivate func document(_ id: String, _ members: [JSON5Member]) -> JSON5Value {
    let root: [JSON5Member] = [
      .init("$schema", .text("https://json-schema.org/draft/2020-12/schema")), .init("$id", .text(id)),
    ]
    return .object(root + members + [.init("$defs", all)])
  }

  private mutating func reference(_ name: String, _ schema: (inout Self) -> JSON5Value) -> JSON5Value {
    // Client code is generated from schemas that allow unknown keys, so names must be valid identifiers.
    var name = isOpen ? Self.identifier(name) : name.replacing(" ", with: "-")
    // Several types in one document may have the same name.
    while isOpen, let there = definitions.first(where: { $0.key == name }), there.value.content != .null,
      schema(&self).content != there.value.content
    { name += "Other" }
    if !definitions.contains(where: { $0.key == name }) {
      // Reserves the definition's position in the list so that the definitions stay in document order.
      definitions.append(JSON5Member(name, .null))
      let made = schema(&self)
      if let place = definitions.firstIndex(where: { $0.key == name }) { definitions[place].value = made }
    }
    return .object([JSON5Member("$ref", .text(place + name))])
  }

  /// Returns the name in camel case without its article: "a stale byte" becomes "StaleByte".
  private static func identifier(_ name: String) -> String {
    let words = name.split { $0 == " " || $0 == "-" }
    let all = words.count > 1 && words[0] == "a" ? words.dropFirst() : words[...]
    return all.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
  }

  fileprivate mutating func members(of record: RecordShape, discriminator: String? = nil) -> [JSON5Member] {
    var members: [JSON5Member] = [
      .init("title", .text([record.owner, record.name].compactMap(\.self).joined(separator: " ")))
    ]
    if !record.summary.isEmpty { members.append(.init("description", .text(record.summary))) }
    var properties: [JSON5Member] = []
    if let discriminator { properties.append(.init(discriminator, .object([.init("const", .text(record.name))]))) }
    for field in record.fields {
      var property: [JSON5Member] = []
      if !field.summary.isEmpty { property.append(.init("description", .text(field.summary))) }
      if let standard = field.standard { property.append(.init("default", standard)) }
      if case .object(let schema) = schema(of: field.shape).content { property += schema }
      // The object's description is already part of its definition.
      properties.append(.init(field.key, .object(property)))
    }
    members += [.init("type", .text("object")), .init("properties", .object(properties))]
    let required = [discriminator].compactMap(\.self) + record.fields.filter(\.isRequired).map(\.key)
    if !required.isEmpty { members.append(.init("required", .array(required.map { .text($0) }))) }
    if !isOpen { members.append(.init("additionalProperties", .boolean(false))) }
    return members + record.rules
  }

  /// Returns a value's schema.
  public mutating func schema(of shape: Shape) -> JSON5Value {
    func object(_ members: JSON5Member...) -> JSON5Value { .object(members) }
    switch shape {
    case .text(let text): return schema(of: text)
    case .boolean: return object(.init("type", .text("boolean")))
    case .integer(let range):
      return object(
        .init("type", .text("integer")), .init("minimum", .number(Int(range.lowerBound))),
        .init("maximum", .number(Int(range.upperBound))))
    case .number(let range):
      return object(
        .init("type", .text("number")), .init("minimum", Format.number(range).write(range.lowerBound)),
        .init("maximum", Format.number(range).write(range.upperBound)))
    case .duration:
      return reference("duration") { _ in
        object(
          .init("description", .text("A number and a unit: 250ms, 1.5s, 2m.")), .init("type", .text("string")),
          .init("pattern", .text("^[0-9]+(\\.[0-9]+)?(ns|us|ms|s|m|h)$")))
      }
    case .chance:
      return reference("chance") { _ in
        object(
          .init("description", .text("A chance in percent or as a fraction: 2.5%, 0.025.")),
          .init("type", .text("string")), .init("pattern", .text("^[0-9]+(\\.[0-9]+)?%?$")))
      }
    case .words(let words): return object(.init("enum", .array(words.map { .text($0) })))
    case .null: return object(.init("type", .text("null")))
    case .constant(let number): return object(.init("const", .number(number)))
    case .list(let element, let count):
      var members: [JSON5Member] = [.init("type", .text("array")), .init("items", schema(of: element))]
      if count.lowerBound > 0 { members.append(.init("minItems", .number(count.lowerBound))) }
      if count.upperBound < .max { members.append(.init("maxItems", .number(count.upperBound))) }
      return .object(members)
    case .record(let record): return reference(record.name) { .object($0.members(of: record)) }
    case .named(let element, let least):
      var members: [JSON5Member] = [
        .init("type", .text("object")), .init("additionalProperties", schema(of: element)),
      ]
      if least > 0 { members.append(.init("minProperties", .number(least))) }
      return .object(members)
    case .document(let name):
      guard let shape = documents[name] else { return object(.init("type", .text("object"))) }
      return reference(name) { .object($0.members(of: shape.partial)) }
    case .oneOf(let kinds): return reference(kinds.name) { $0.schema(of: kinds) }
    case .either(let shapes): return object(.init("anyOf", .array(shapes.map { schema(of: $0) })))
    }
  }

  private mutating func schema(of text: TextShape) -> JSON5Value {
    var members: [JSON5Member] = [.init("type", .text("string"))]
    if text.length.lowerBound > 0 { members.append(.init("minLength", .number(text.length.lowerBound))) }
    if text.length.upperBound < .max { members.append(.init("maxLength", .number(text.length.upperBound))) }
    if let pattern = text.pattern { members.append(.init("pattern", .text(pattern))) }
    guard let name = text.name else { return .object(members) }
    return reference(name) { _ in .object(members) }
  }

  private mutating func schema(of kinds: OneOfShape) -> JSON5Value {
    var forms: [JSON5Value] = []
    func pattern(_ names: [String], _ keys: String) -> [String] {
      names.isEmpty ? [] : ["(\(names.joined(separator: "|")))\\s*\(keys)"]
    }
    var patterns = pattern(kinds.textKinds, "(,[\\s\\S]*)?") + pattern(kinds.textKindsWithKeys, ",[\\s\\S]*")
    if let pattern = kinds.textPattern { patterns.append(pattern) }
    if !patterns.isEmpty {
      let pattern = "^\\s*(\(patterns.joined(separator: "|")))$"
      forms.append(
        .object([
          .init(
            "description",
            .text("\(kinds.name.prefix(1).uppercased())\(kinds.name.dropFirst()) and keys: NAME,key=value,…")),
          .init("type", .text("string")), .init("pattern", .text(pattern)),
        ]))
    }
    for kind in kinds.kinds {
      forms.append(reference("\(kinds.name)-\(kind.name)") { .object($0.members(of: kind, discriminator: kinds.key)) })
    }
    return .object([JSON5Member("anyOf", .array(forms))])
  }
}
