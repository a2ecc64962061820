import AccessoryControl
import AccessoryFormats
import Testing

/// Clients that have subscribed to events are notified of other clients' changes.
@Suite struct ChangeTests {
  private func watched() throws -> (watcher: DeskClient, actor: DeskClient) {
    let desk = ControlDesk()
    let watcher = desk.client()
    try watcher.result("events.subscribe")
    return (watcher, desk.client())
  }

  @Test func theNoticeHasTheRequestAndWhatItMade() throws {
    let (watcher, actor) = try watched()
    try actor.result("accessory.add", "{\"profile\":\"echo\"}")
    try actor.result("fault.add", "{\"accessory\":\"a1\",\"fault\":\"latency,delay=5ms\"}")
    try actor.result("fault.change", "{\"fault\":\"f1\",\"to\":\"latency,delay=7ms\"}")
    let changes = try watcher.notices("change")
    #expect(changes.map { $0["request"]?.word } == ["accessory.add", "fault.add", "fault.change"])
    #expect(changes.map { $0["number"]?.withoutPositions } == [.number(1), .number(2), .number(3)])
    #expect(changes.allSatisfy { $0["world"]?.word == "main" && $0["t"] != nil })
    #expect(changes[0]["result"]?["accessories"]?.withoutPositions == .array([.text("a1")]))
    #expect(changes[1]["result"]?["faults"]?.withoutPositions == .array([.text("f1")]))
    #expect(changes[2]["params"]?["to"]?.word == "latency,delay=7ms")
    // The notice contains only the IDs from the result, not the complete state.
    #expect(changes[2]["result"]?.withoutPositions == JSON5Value.object([.init("fault", .text("f1"))]).withoutPositions)
  }

  @Test func aRequestThatFailsOrReadsMakesNone() throws {
    let (watcher, actor) = try watched()
    #expect(try actor.kind("accessory.plug", "{\"accessory\":\"a1\"}") == "unknown")
    try actor.result("accessory.list")
    try actor.result("time.runUntil", "{\"event\":\"connect\",\"limit\":\"1ms\"}")
    #expect(try watcher.notices("change").isEmpty)
  }

  @Test func whatIsRemovedIsNoticedInItsWorld() throws {
    let (watcher, actor) = try watched()
    try actor.result("world.create", "{\"time\":\"virtual\"}")
    try actor.result("accessory.add", "{\"world\":\"w1\",\"profile\":\"echo\"}")
    try actor.result("accessory.remove", "{\"accessory\":\"a1\"}")
    try actor.result("time.advance", "{\"world\":\"w1\",\"by\":\"1s\"}")
    try actor.result("world.remove", "{\"world\":\"w1\"}")
    let changes = try watcher.notices("change")
    #expect(
      changes.map { $0["request"]?.word } == [
        "world.create", "accessory.add", "accessory.remove", "time.advance", "world.remove",
      ])
    #expect(changes.map { $0["world"]?.word } == ["main", "w1", "w1", "w1", "w1"])
  }

  @Test func longParametersAreLeftOut() throws {
    let (watcher, actor) = try watched()
    let modes = "[\"\(String(repeating: "x", count: 2_000))\"]"
    try actor.result("app.launch", "{\"backgroundModes\":\(modes)}")
    let change = try #require(try watcher.notices("change").first)
    #expect(change["params"] == nil)
    #expect(change["result"]?["app"]?.word == "p1")
  }

  /// A client can list the notices that it missed, in order, and can wait for a notice.
  @Test func changesAreListedAndWaitedFor() throws {
    let client = ControlDesk().client()
    try client.result("accessory.add", "{\"profile\":\"echo\"}")
    let notices = try client.result("events.list")["notices"].elements
    #expect(notices.map { $0["method"]?.word } == ["change"])
    let waited = try client.result("time.runUntil", "{\"event\":\"accessory.add\",\"after\":0,\"limit\":\"1ms\"}")
    #expect(waited["reached"]?.content == .boolean(true))
    #expect(try client.notices("change").isEmpty, "without a subscription")
  }

  @Test func afterAPullTheAnswerSaysThatItIsNotPluggedIn() throws {
    let client = ControlDesk().client()
    try client.result("accessory.add", "{\"profile\":\"echo\"}")
    for unnoticed in [false, true] {
      try client.result("accessory.plug", "{\"accessory\":\"a1\"}")
      let state = try client.result("accessory.pull", "{\"accessory\":\"a1\",\"unnoticed\":\(unnoticed)}")
      #expect(state["plugged"]?.content == .boolean(false))
      #expect(state["whole"]?.content == .boolean(false))
    }
  }

  @Test func theStateOfASessionNamesTheConnectionItWasOpenedWith() throws {
    let client = ControlDesk().client()
    try client.result("accessory.add", "{\"profile\":\"echo\",\"count\":2}")
    try client.result("app.launch")
    for id in ["a1", "a2"] { try client.result("accessory.plug", "{\"accessory\":\"\(id)\"}") }
    try client.desk.advance(.seconds(3))
    let seen = try client.result("app.accessories", "{\"app\":\"p1\"}")["accessories"].elements
    let wanted = try #require(seen.last?["connectionID"]?.withoutPositions)
    let opened = try client.result(
      "app.open", "{\"app\":\"p1\",\"protocol\":\"com.example.echo\",\"accessory\":\"a2\"}")
    #expect(opened["connectionID"]?.withoutPositions == wanted)
  }
}
