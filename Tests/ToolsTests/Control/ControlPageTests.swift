import AccessoryControl
import AccessoryFormats
import AccessoryWorlds
import TestSupport
import Testing

/// docs/control-reference.md is generated from the methods, and includes the results of running the examples in order.
/// Two tables in docs/control.md, of errors and of silent methods, are also generated. `EASIM_REWRITE=1` rewrites both
/// files.
@Suite(.serialized) struct ControlPageTests {
  @Test func theDocumentIsWhatTheMethodsSay() throws {
    let errors = try CommittedText.difference("docs/control.md", part: "errors", from: ControlPage.errors)
    #expect(errors == nil, "\(errors ?? "")")
    let silent = try CommittedText.difference("docs/control.md", part: "silent", from: ControlPage.silent)
    #expect(silent == nil, "\(silent ?? "")")
    let methods = ControlPage.methods(results: try play(ControlDesk().client()))
    let difference = try CommittedText.difference("docs/control-reference.md", part: "methods", from: methods)
    #expect(difference == nil, "\(difference ?? "")")
  }

  /// If an action in the table of world actions names a method, the action and the method must have the same summary.
  @Test func eachActionWithAMethodIsAMethod() {
    let kinds = WorldAction.kinds().filter { $0.method != nil }
    #expect(kinds.count > 12)
    for kind in kinds {
      let methods = ControlMethods.all.filter { $0.name == kind.method }
      #expect(methods.map(\.summary) == [kind.summary], "\(kind.name)")
    }
  }

  /// All methods that change something send a notice, and no others do.
  @Test func whatChangesSomethingIsNoticed() throws {
    let client = ControlDesk().client()
    let watcher = client.desk.client()
    try watcher.result("events.subscribe")
    _ = try play(client)
    let noticed = Set(try watcher.notices("change").compactMap { $0["request"]?.word })
    let played = ControlMethods.all.filter { $0.exampleResult == nil && $0.effect == .changes }.map(\.name)
    #expect(noticed == Set(played + ["time.advance"]))
  }

  /// Runs all examples in the order of the document, and before each example the calls that it requires.
  private func play(_ client: DeskClient) throws -> [String: String] {
    var results: [String: String] = [:]
    for method in ControlMethods.all {
      try prepare(method.name, client)
      guard method.exampleResult == nil else { continue }
      let result = try client.result(method.name, method.example)
      results[method.name] = String(JSON5Writer.write(result, as: .jsonLine).dropLast())
    }
    return results
  }

  private func prepare(_ name: String, _ client: DeskClient) throws {
    switch name {
    case "accessory.flicker", "accessory.pull", "app.accessories":
      _ = try? client.result("accessory.unplug", "{\"accessory\":\"a1\"}")
      try client.result("accessory.plug", "{\"accessory\":\"a1\"}")
    case "accessory.remove": try client.result("accessory.add", "{\"profile\":\"echo\"}")
    case "app.kill", "app.crash": try client.result("app.launch")
    case "app.open": try client.result("accessory.behavior", "{\"accessory\":\"a1\",\"behavior\":\"echo\"}")
    case "burst.run":
      if try client.result("accessory.list")["accessories"].elements.first?["plugged"]?.content != .boolean(true) {
        try client.result("accessory.plug", "{\"accessory\":\"a1\"}")
      }
    case "time.advance": try client.result("world.create", "{\"time\":\"virtual\"}")
    default: break
    }
    try client.desk.advance(.seconds(3))
  }
}
