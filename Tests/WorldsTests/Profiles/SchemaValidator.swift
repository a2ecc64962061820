import AccessoryFormats

@testable import AccessoryProfiles

/// Implements the parts of JSON Schema (draft 2020-12) that the profile schema uses. An unknown keyword is an error, so
/// that no part of the schema goes unchecked.
struct SchemaValidator {
  let root: JSON5Value

  /// Reads the published schema of this name.
  init(of name: String) throws {
    let path = "\(profilesFolder)/schema/\(name).schema.json"
    root = try JSON5.read(try TextFile.read(path, limit: JSON5.Limits().bytes), file: path)
  }

  struct Unknown: Error { let keyword: String }

  func accepts(_ value: JSON5Value) throws -> Bool {
    try accepts(value, root)
  }

  func definition(_ reference: String) throws -> JSON5Value {
    guard reference.hasPrefix("#/$defs/"), let found = root["$defs"]?[String(reference.dropFirst(8))] else {
      throw Unknown(keyword: reference)
    }
    return found
  }

  private func accepts(_ value: JSON5Value, _ schema: JSON5Value) throws -> Bool {
    switch schema.content {
    case .boolean(let accepted): return accepted
    case .object(let members):
      for member in members where try !holds(member.key, member.value, schema, value) { return false }
      return true
    default: throw Unknown(keyword: schema.summary)
    }
  }

  private func holds(
    _ keyword: String, _ argument: JSON5Value, _ schema: JSON5Value, _ value: JSON5Value
  ) throws -> Bool {
    switch keyword {
    case "$schema", "$id", "$defs", "title", "description", "default": return true
    case "$ref": return try accepts(value, definition(argument.string))
    case "anyOf": return try argument.elements.contains { try accepts(value, $0) }
    case "not": return try !accepts(value, argument)
    case "const": return value.withoutPositions.canonical == argument.withoutPositions.canonical
    case "enum": return argument.elements.contains { $0.withoutPositions == value.withoutPositions }
    case "type": return has(value, type: argument.string)
    default: break
    }
    switch value.content {
    case .object(let members): return try holds(keyword, argument, schema, members)
    case .array(let values): return try holds(keyword, argument, values)
    case .text(let text): return try holds(keyword, argument, text)
    case .number(let number): return try holds(keyword, argument, number)
    default: return Self.others.contains(keyword) ? true : try { throw Unknown(keyword: keyword) }()
    }
  }

  /// The keywords that apply to only one type of value. Values of all other types satisfy them.
  private static let others: Set<String> = [
    "properties", "required", "additionalProperties", "minProperties", "maxProperties", "items", "minItems", "maxItems",
    "pattern", "minLength", "maxLength", "minimum", "maximum",
  ]

  private func has(_ value: JSON5Value, type: String) -> Bool {
    switch (value.content, type) {
    case (.null, "null"), (.boolean, "boolean"), (.text, "string"), (.array, "array"), (.object, "object"): true
    case (.number(let number), "integer"): number.integer != nil
    default: false
    }
  }

  private func holds(
    _ keyword: String, _ argument: JSON5Value, _ schema: JSON5Value, _ members: [JSON5Member]
  ) throws -> Bool {
    let known = schema["properties"]?.members ?? []
    switch keyword {
    case "properties":
      return try known.allSatisfy { property in
        try members.filter { $0.key == property.key }.allSatisfy { try accepts($0.value, property.value) }
      }
    case "required": return argument.elements.allSatisfy { key in members.contains { $0.key == key.string } }
    case "additionalProperties":
      return try members.filter { member in !known.contains { $0.key == member.key } }
        .allSatisfy { try accepts($0.value, argument) }
    case "minProperties": return members.count >= argument.integer
    case "maxProperties": return members.count <= argument.integer
    default: return try unconcerned(keyword)
    }
  }

  private func holds(_ keyword: String, _ argument: JSON5Value, _ values: [JSON5Value]) throws -> Bool {
    switch keyword {
    case "items": return try values.allSatisfy { try accepts($0, argument) }
    case "minItems": return values.count >= argument.integer
    case "maxItems": return values.count <= argument.integer
    default: return try unconcerned(keyword)
    }
  }

  private func holds(_ keyword: String, _ argument: JSON5Value, _ text: String) throws -> Bool {
    switch keyword {
    case "minLength": return text.unicodeScalars.count >= argument.integer
    case "maxLength": return text.unicodeScalars.count <= argument.integer
    case "pattern":
      // Every pattern in the schema must match the whole text. Swift's `$` would also allow a line break at the end.
      guard argument.string.hasPrefix("^"), argument.string.hasSuffix("$") else {
        return try unconcerned(argument.string)
      }
      let pattern = try Regex(String(argument.string.dropFirst().dropLast())).matchingSemantics(.unicodeScalar)
      return try pattern.wholeMatch(in: text) != nil
    default: return try unconcerned(keyword)
    }
  }

  private func holds(_ keyword: String, _ argument: JSON5Value, _ number: JSON5Number) throws -> Bool {
    switch keyword {
    case "minimum": return number.value >= Double(argument.integer)
    case "maximum": return number.value <= Double(argument.integer)
    default: return try unconcerned(keyword)
    }
  }

  private func unconcerned(_ keyword: String) throws -> Bool {
    guard Self.others.contains(keyword) else { throw Unknown(keyword: keyword) }
    return true
  }
}

extension JSON5Value {
  var string: String { if case .text(let text) = content { text } else { "" } }
  var elements: [JSON5Value] { if case .array(let values) = content { values } else { [] } }
  var members: [JSON5Member] { if case .object(let members) = content { members } else { [] } }
  var integer: Int { if case .number(let number) = content { Int(number.integer ?? 0) } else { 0 } }

  var canonical: JSON5Value {
    if case .number(let number) = content, let integer = number.integer { return .number(Int(integer)) }
    return self
  }
}
