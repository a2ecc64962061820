import AccessoryCore

/// The generated parts of docs/control.md and docs/control-reference.md.
public enum ControlPage {
  /// A section for each method: what it does, its parameters, its result, its errors, and an example with the result of
  /// a real run.
  public static func methods(results: [String: String]) -> String {
    var group = ""
    var text = ""
    for method in ControlMethods.all {
      let name = String(method.name.prefix { $0 != "." })
      if name != group {
        group = name
        text += "## \(titles[name] ?? name)\n\n"
      }
      text += section(method, result: results[method.name] ?? method.exampleResult ?? "{}")
    }
    return text
  }

  private static let titles = [
    "rpc": "The server", "server": "The server's state", "events": "Events", "client": "The client", "world": "Worlds",
    "accessory": "Accessories",
    "fault": "Faults", "app": "Apps", "session": "Sessions", "time": "Time", "host": "Hosts", "capture": "Captures",
    "burst": "Runs",
    "scenario": "Scenarios",
    "soak": "Seeded worlds", "job": "Jobs", "library": "What there is to choose from", "packet": "Packets",
  ]

  private static func section(_ method: ControlMethod, result: String) -> String {
    var text = "### \(method.name)\n\n\(method.summary)\n\n"
    if !method.params.fields.isEmpty { text += linked(method.params.table) + "\n" }
    let fields = method.result.fields
    if !fields.isEmpty {
      text += "Result: " + fields.map { "`\($0.key)` (\($0.summary))" }.joined(separator: ", ") + ".\n\n"
    }
    if !method.errors.isEmpty {
      text += "Errors: " + method.errors.map { "`\($0.rawValue)`" }.joined(separator: ", ") + ".\n\n"
    }
    return text + "```json\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\(method.name)\",\"params\":\(method.example)}\n"
      + "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\(result)}\n```\n\n"
  }

  /// The methods whose requests cause no notification `change`.
  public static var silent: String {
    let names = ControlMethods.all.filter { $0.effect == .reads }.map { "`\($0.name)`" }
    return "Requests without it: \(names.joined(separator: ", ")).\n"
  }

  /// A table whose links lead to the pages that describe these shapes, because this page has no sections for them.
  private static func linked(_ table: String) -> String {
    let pages = [
      "quirk": "quirks-and-faults.md#quirks", "fault": "quirks-and-faults.md#faults",
      "behavior": "profiles.md#behavior", "a-profile": "profiles.md", "rules": "scenario-files.md#rules",
    ]
    return pages.reduce(table) { $0.replacing("](#\($1.key))", with: "](\($1.value))") }
  }

  /// The table of the kinds of errors.
  public static var errors: String {
    "| `kind` | code | when |\n|---|---|---|\n"
      + RPCError.Kind.allCases.map { "| `\($0.rawValue)` | \($0.code) | \($0.summary) |\n" }.joined()
  }
}
