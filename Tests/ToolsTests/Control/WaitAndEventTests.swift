import AccessoryControl
import AccessoryFormats
import Testing

/// Tests events that name their accessory, subscriptions to events, cancelled waits, and reading clocks.
@Suite struct WaitAndEventTests {
  private func plugged(_ desk: ControlDesk, count: Int) throws -> DeskClient {
    let client = desk.client()
    for _ in 0..<count { try client.result("accessory.add", "{\"profile\":\"echo\"}") }
    for number in 1...count { try client.result("accessory.plug", "{\"accessory\":\"a\(number)\"}") }
    try desk.advance(.seconds(3))
    return client
  }

  /// Two accessories with the same profile have the same serial number, so events must distinguish them in some other
  /// way.
  @Test func everyEventOfACableNamesItsAccessory() throws {
    let desk = ControlDesk()
    let watcher = desk.client()
    try watcher.result("events.subscribe")
    _ = try plugged(desk, count: 2)
    let events = try watcher.notices("event")
    #expect(events.count > 10)
    #expect(events.allSatisfy { $0["accessory"] != nil })
    for id in ["a1", "a2"] {
      let names = events.filter { $0["accessory"]?.word == id }.compactMap { $0["event"]?["event"]?.word }
      #expect(names.filter { $0 == "attach" }.count == 2, "\(id): \(names)")
      #expect(names.filter { $0 == "connect" }.count == 1, "\(id): \(names)")
    }
  }

  @Test func theListHasTheConnectionIDOfWhatIsConnected() throws {
    let desk = ControlDesk()
    let client = try plugged(desk, count: 1)
    let app = try client.result("app.launch")["app"]?.word ?? ""
    let seen = try client.result("app.accessories", "{\"app\":\"\(app)\"}")["accessories"].elements.first
    let number = try client.result("accessory.list")["accessories"].elements.first?["connectionID"]?.word
    #expect(number != nil && number == seen?["connectionID"]?.word)
    try client.result("accessory.unplug", "{\"accessory\":\"a1\"}")
    try desk.advance(.seconds(3))
    #expect(try client.result("accessory.list")["accessories"].elements.first?["connectionID"] == nil)
  }

  @Test func aSubscriptionChoosesEventsAndAccessories() throws {
    let desk = ControlDesk()
    let (some, one) = (desk.client(), desk.client())
    try some.result("events.subscribe", "{\"events\":[\"connect\",\"accessory.plug\"]}")
    let client = try plugged(desk, count: 2)
    try one.result(
      "events.subscribe", "{\"world\":\"main\",\"accessories\":[\"a2\"],\"events\":[\"connect\"],\"after\":0}")
    #expect(try some.notices("event").compactMap { $0["event"]?["event"]?.word } == ["connect", "connect"])
    #expect(try some.notices("change").compactMap { $0["request"]?.word } == ["accessory.plug", "accessory.plug"])
    #expect(try one.notices("event").compactMap { $0["accessory"]?.word } == ["a2"])
    #expect(try client.kind("events.subscribe", "{\"accessories\":[\"a9\"]}") == "unknown")
  }

  @Test func oneWorldCanBeUnsubscribed() throws {
    let desk = ControlDesk()
    let client = desk.client()
    let world = try client.result("world.create", "{\"time\":\"virtual\"}")["world"]?.word ?? ""
    let watcher = desk.client()
    try watcher.result("events.subscribe")
    try watcher.result("events.unsubscribe", "{\"world\":\"\(world)\"}")
    try client.result("accessory.add", "{\"profile\":\"echo\",\"world\":\"\(world)\"}")
    try client.result("accessory.add", "{\"profile\":\"echo\"}")
    #expect(try watcher.notices("change").compactMap { $0["world"]?.word } == ["main"])
    try watcher.result("events.unsubscribe")
    try client.result("accessory.add", "{\"profile\":\"echo\"}")
    #expect(try watcher.notices("change").count == 1)
  }

  @Test func aWaitIsCancelled() throws {
    let desk = ControlDesk()
    let client = desk.client()
    let wait = client.ask("time.runUntil", "{\"event\":\"never\",\"limit\":\"1h\"}")
    #expect(try client.answer(wait) == nil)
    #expect(try client.result("client.cancel", "{\"request\":\(wait)}")["cancelled"]?.content == .boolean(true))
    #expect(try client.answer(wait)?["result"]?["stopped"]?.word == "cancelled")
    #expect(try client.result("client.cancel", "{\"request\":\(wait)}")["cancelled"]?.content == .boolean(false))
    // A client can cancel its own waits, but not another client's.
    let other = client.ask("time.runUntil", "{\"event\":\"never\",\"limit\":\"1h\"}")
    #expect(
      try desk.client().result("client.cancel", "{\"request\":\(other)}")["cancelled"]?.content == .boolean(false))
    #expect(try client.answer(other) == nil)
  }

  @Test func eachWorldHasAClock() throws {
    let desk = ControlDesk()
    let client = desk.client()
    let world = try client.result("world.create", "{\"time\":\"virtual\"}")["world"]?.word ?? ""
    try client.result("time.advance", "{\"world\":\"\(world)\",\"by\":\"90s\"}")
    #expect(try client.result("time.now", "{\"world\":\"\(world)\"}")["t"]?.word == "90")
    #expect(try client.kind("time.now", "{\"world\":\"w9\"}") == "unknown")
    #expect(try client.kind("time.advance", "{\"by\":\"1s\"}") == "time")
    #expect(
      try client.result("time.runUntil", "{\"world\":\"\(world)\",\"limit\":\"1s\"}")["stopped"]?.word == "limit")
  }

  @Test func noticesThatAreNoLongerKeptAreCounted() throws {
    let client = ControlDesk().client()
    try client.result("accessory.add", "{\"profile\":\"echo\"}")
    let change = "{\"jsonrpc\":\"2.0\",\"method\":\"accessory.behavior\",\"params\":{\"accessory\":\"a1\"}}\n"
    client.receive(String(repeating: change, count: 4_200))
    func dropped(after number: Int) throws -> String? {
      try client.result("events.list", "{\"after\":\(number),\"limit\":1}")["dropped"]?.word
    }
    #expect(try dropped(after: 0) == "\(4_201 - 4_096)")
    #expect(try dropped(after: 100) == "\(4_201 - 4_096 - 100)")
    #expect(try dropped(after: 2_000) == "0")
  }

  @Test func takingTwiceTakesBoth() throws {
    let desk = ControlDesk()
    let client = desk.client()
    try client.result(
      "accessory.add",
      "{\"profile\":{\"version\":1,\"extends\":\"echo\","
        + "\"accessory\":{\"protocols\":[\"com.example.a\",\"com.example.b\"]}}}")
    for name in ["com.example.a", "com.example.b"] {
      try client.result("accessory.take", "{\"accessory\":\"a1\",\"protocols\":[\"\(name)\"]}")
    }
    try client.plug(for: .seconds(3))
    try client.result("app.launch")
    for name in ["com.example.a", "com.example.b"] {
      try client.result("app.open", "{\"app\":\"p1\",\"protocol\":\"\(name)\"}")
    }
    try desk.advance(.seconds(3))
    #expect(try client.notices("session").filter { $0["event"]?.word == "opened" }.count == 2)
  }

  /// An accessory that is about to come back can be removed, and then does not come back.
  @Test func aRemovedAccessoryStaysAway() throws {
    let desk = ControlDesk()
    let client = try plugged(desk, count: 1)
    try client.result("accessory.flicker", "{\"accessory\":\"a1\"}")
    try client.result("accessory.remove", "{\"accessory\":\"a1\"}")
    let after = try client.result("events.subscribe")["number"]?.word ?? ""
    try desk.advance(.seconds(10))
    let events = try client.result("events.list", "{\"after\":\(after)}")["notices"].elements
    #expect(!events.contains { $0["params"]?["event"]?["event"]?.word == "attach" }, "\(events)")
  }

  @Test func anAccessoryThatRestartsIsCounted() throws {
    let desk = ControlDesk()
    let client = try plugged(desk, count: 1)
    let app = try client.result("app.launch")["app"]?.word ?? ""
    try client.result("app.open", "{\"app\":\"\(app)\",\"protocol\":\"com.example.echo\"}")
    try client.result("session.write", "{\"session\":\"s1\",\"text\":\"hello\"}")
    try desk.advance(.seconds(1))
    func counters() throws -> JSON5Value { try client.result("accessory.counters", "{\"accessory\":\"a1\"}") }
    let before = try counters()
    #expect(before["attachments"]?.word == "1" && before["sessions"]?.word == "0")
    try client.result("accessory.restart", "{\"accessory\":\"a1\"}")
    #expect(try client.kind("accessory.restart", "{\"accessory\":\"a1\"}") == "state")
    try desk.advance(.seconds(3))
    let text = JSON5Writer.write(try counters(), as: .jsonLine)
    #expect(text == "{\"attachments\":2,\"sessions\":1,\"errors\":0,\"bytesRead\":5,\"bytesWritten\":5}\n")
    #expect(try client.kind("accessory.counters", "{\"accessory\":\"a9\"}") == "unknown")
  }
}
