import AccessoryCore
import AccessoryFormats
import AccessoryProfiles
import AccessoryRuns

/// Generates the tables in docs/control.md and docs/control-reference.md.
package enum ControlPage {
  /// Returns an index of the methods, a section about each method, and a description of each type that the methods use.
  /// A section lists the method's parameters, result and errors, and contains an example with a real result.
  package static func methods(results: [String: String]) -> String {
    var group = ""
    var text = index + "\n"
    for method in ControlMethods.all {
      let name = groupName(of: method)
      if name != group {
        group = name
        text += "## \(titles[name] ?? name)\n\n"
      }
      text += section(method, result: results[method.name] ?? method.exampleResult ?? "{}")
    }
    return text + types
  }

  private static func groupName(of method: ControlMethod) -> String { String(method.name.prefix { $0 != "." }) }

  private static var index: String {
    var groups: [(name: String, methods: [String])] = []
    for method in ControlMethods.all {
      let name = groupName(of: method)
      if groups.last?.name != name { groups.append((name, [])) }
      groups[groups.count - 1].methods.append("[\(method.name)](#\(method.name.replacing(".", with: "").lowercased()))")
    }
    return "| subject | methods |\n|---|---|\n"
      + groups.map { "| \(titles[$0.name] ?? $0.name) | \($0.methods.joined(separator: ", ")) |\n" }.joined()
  }

  private static var types: String {
    let fields = ControlMethods.all.flatMap {
      $0.params.fields + (shared.contains($0.result.name) ? [FieldShape(ofType: $0.result)] : $0.result.fields)
    }
    let all = RecordShape(name: "types", summary: "", fields: fields)
    let sections = all.tables(heading: "###", elsewhere: elsewhere)
    // Omits the first table, which combines the fields of all methods.
    return "## Types\n\n"
      + (sections.firstRange(of: "\n###").map { String(sections[$0.lowerBound...].dropFirst()) } ?? "")
  }

  /// The names of results that several methods share. The page describes these results as types.
  private static let shared: Set<String> = {
    let results = ControlMethods.all.map(\.result).filter { !$0.fields.isEmpty }
    return Set(Dictionary(grouping: results, by: \.name).filter { $0.value.count > 1 }.keys)
  }()

  private static let elsewhere = [
    "a notification": "control.md#notifications", "a profile": "profiles.md", "a scenario": "scenarios.md",
    "a link preset": "quirks-and-faults.md", "a packet": "#packetget", "fields": "#packetget", "figures": "load.md",
    "info": "https://spec.open-rpc.org", "method": "https://spec.open-rpc.org",
    "components": "https://spec.open-rpc.org", "parameters": "messages.md",
  ]

  private static let titles = [
    "rpc": "The server", "server": "The server's state", "events": "Events", "client": "The client", "world": "Worlds",
    "accessory": "Accessories",
    "fault": "Faults", "app": "Apps", "session": "Sessions", "time": "Time", "host": "Hosts", "capture": "Captures",
    "burst": "Load tests",
    "scenario": "Scenarios",
    "soak": "Soak tests", "job": "Jobs", "library": "Profiles, scenarios and link presets", "packet": "Packets",
    "proxy": "Proxies", "trace": "Traces",
  ]

  private static func section(_ method: ControlMethod, result: String) -> String {
    var text = "### \(method.name)\n\n\(method.summary)\n\n"
    if !method.params.fields.isEmpty { text += table(method.params) + "\n" }
    let type = method.result.name
    if shared.contains(type) {
      text += "Result: [\(type)](#\(type.replacing(" ", with: "-"))).\n\n"
    } else if !method.result.fields.isEmpty {
      text += "Result:\n\n" + table(method.result) + "\n"
    }
    if !method.errors.isEmpty {
      text += "Errors: " + method.errors.map { "`\($0.rawValue)`" }.joined(separator: ", ") + ".\n\n"
    }
    return text + "```json\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\(method.name)\",\"params\":\(method.example)}\n"
      + "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\(result)}\n```\n\n"
  }

  /// The methods that send no `change` notification.
  package static var silent: String {
    let names = ControlMethods.all.filter { $0.effect == .reads }.map { "`\($0.name)`" }
    return "Requests without it: \(names.joined(separator: ", ")).\n"
  }

  private static func table(_ record: RecordShape) -> String {
    let text = record.tables(heading: "###", elsewhere: elsewhere)
    return text.firstRange(of: "\n\n###").map { String(text[..<$0.lowerBound]) + "\n" } ?? text
  }

  package static var errors: String {
    "| `kind` | code | when |\n|---|---|---|\n"
      + RPCError.Kind.allCases.map { "| `\($0.rawValue)` | \($0.code) | \($0.summary) |\n" }.joined()
  }
}

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
