import AccessoryFormats

/// The protocol as an OpenRPC document, generated from the methods.
enum OpenRPC {
  static let version = "1.3.2"

  static func document(version easim: String) -> JSON5Value {
    .object([
      .init("openrpc", .text(version)),
      .init("info", .object([.init("title", .text("easim")), .init("version", .text(easim))])),
      .init("methods", .array(ControlMethods.all.map(method))),
    ])
  }

  private static func method(_ method: ControlMethod) -> JSON5Value {
    .object([
      .init("name", .text(method.name)), .init("summary", .text(method.summary)),
      .init("paramStructure", .text("by-name")),
      .init("params", .array(method.params.fields.map(parameter))),
      .init(
        "result",
        .object([
          .init("name", .text(method.result.name)), .init("schema", method.result.schema(id: "\(method.name).result")),
        ])),
      .init(
        "errors",
        .array(
          (method.errors + [.params]).map { kind in
            .object([
              .init("code", .number(kind.code)), .init("message", .text(kind.summary)),
              .init("data", .object([.init("kind", .text(kind.rawValue))])),
            ])
          })),
    ])
  }

  /// Each parameter is the schema of an object with this key alone, so that it contains everything the key refers to.
  private static func parameter(_ field: FieldShape) -> JSON5Value {
    let schema = RecordShape(name: field.key, summary: "", fields: [field]).schema(id: field.key)
    let own = schema["properties"]?[field.key] ?? .object([])
    var members: [JSON5Member] = []
    if case .object(let found) = own.content { members = found }
    if case .object(let definitions)? = schema["$defs"]?.content, !definitions.isEmpty {
      members.append(.init("$defs", .object(definitions)))
    }
    return .object([
      .init("name", .text(field.key)), .init("description", .text(field.summary)),
      .init("required", .boolean(field.isRequired)), .init("schema", .object(members)),
    ])
  }
}
