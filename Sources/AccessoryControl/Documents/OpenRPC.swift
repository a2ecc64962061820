import AccessoryFormats
import AccessoryProfiles
import AccessoryRuns

/// Describes the protocol as an OpenRPC document. Each type appears once, in `components`.
enum OpenRPC {
  static let version = "1.3.2"

  static func document(version easim: String) -> JSON5Value {
    var schemas = SharedSchemas(documents: ["a profile": Profile.format.shape])
    let methods = ControlMethods.all.map { method($0, &schemas) }
    return .object([
      .init("openrpc", .text(version)),
      .init("info", .object([.init("title", .text("easim")), .init("version", .text(easim.isEmpty ? "0" : easim))])),
      .init("methods", .array(methods)),
      .init("components", .object([.init("schemas", schemas.all)])),
    ])
  }

  private static func method(_ method: ControlMethod, _ schemas: inout SharedSchemas) -> JSON5Value {
    .object([
      .init("name", .text(method.name)), .init("summary", .text(method.summary)),
      .init("paramStructure", .text("by-name")),
      // OpenRPC requires mandatory parameters to come first.
      .init(
        "params",
        .array(
          (method.params.fields.filter(\.isRequired) + method.params.fields.filter { !$0.isRequired })
            .map { parameter($0, &schemas) })),
      .init(
        "result",
        .object([.init("name", .text(method.result.name)), .init("schema", schemas.schema(of: .record(method.result)))])
      ),
      .init("errors", .array((method.errors + [.params]).map(error))),
      .init("examples", .array([example(method)])),
    ])
  }

  private static func error(_ kind: RPCError.Kind) -> JSON5Value {
    .object([
      .init("code", .number(kind.code)), .init("message", .text(kind.summary)),
      .init("data", .object([.init("kind", .text(kind.rawValue))])),
    ])
  }

  private static func parameter(_ field: FieldShape, _ schemas: inout SharedSchemas) -> JSON5Value {
    .object([
      .init("name", .text(field.key)), .init("description", .text(field.summary)),
      .init("required", .boolean(field.isRequired)), .init("schema", schemas.schema(of: field.shape)),
    ])
  }

  private static func example(_ method: ControlMethod) -> JSON5Value {
    var params: [JSON5Value] = []
    if case .object(let members)? = (try? JSON5.read(method.example, file: method.name))?.content {
      params = members.map { .object([.init("name", .text($0.key)), .init("value", $0.value)]) }
    }
    return .object([.init("name", .text(method.name)), .init("params", .array(params))])
  }
}
