import AccessoryControl
import AccessoryCore
import Testing

@Suite struct RemoteAppTests {
  private func desk(_ params: String = "{\"profile\":\"lawk-view\",\"quirks\":[\"flicker\"]}") throws -> DeskClient {
    let client = ControlDesk().client()
    try client.result("accessory.add", params)
    try client.result("app.launch", "{\"protocols\":[\"com.lawaken.iap2\",\"com.example.echo\"]}")
    return client
  }

  private func events(_ client: DeskClient) throws -> [String] {
    try client.notices("app").compactMap { $0["event"]?.word }.filter { $0 != "delegateDisconnect" }
  }

  @Test func anAppIsToldOfAFlickerInApplesOrder() throws {
    let client = try desk()
    try client.plug(for: .seconds(5))
    #expect(try events(client) == ["connect", "disconnect", "connect"])
    let first = try client.notices("app").first?["accessory"]?["protocols"]
    #expect(first?.content == .array([]))
  }

  @Test func aWaitTakesTheFirstNoticeAfterANumber() throws {
    let client = try desk()
    try client.plug(for: .seconds(5))
    var after = 0
    var numbers: [Int] = []
    for event in ["connect", "disconnect", "connect"] {
      let waited = try client.result("time.runUntil", "{\"app\":\"p1\",\"event\":\"\(event)\",\"after\":\(after)}")
      guard case .number(let number)? = waited["notice"]?["params"]?["number"]?.content else { break }
      after = Int(number.value)
      numbers.append(after)
    }
    #expect(numbers.count == 3 && numbers == numbers.sorted())
    let late = try client.result("time.runUntil", "{\"app\":\"p1\",\"after\":\(Int.max),\"limit\":\"1s\"}")
    #expect(late["stopped"]?.word == "limit")
  }

  @Test func aSessionEchoesInBothClocks() throws {
    for world in ["{}", "{\"time\":\"virtual\"}"] {
      let client = ControlDesk().client()
      let id = try client.result("world.create", world)["world"]?.word ?? ""
      try client.result("accessory.add", "{\"profile\":\"echo\",\"world\":\"\(id)\"}")
      try client.result("app.launch", "{\"world\":\"\(id)\"}")
      try client.result("accessory.plug", "{\"accessory\":\"a1\"}")
      let waited = try client.result(
        "time.runUntil", "{\"world\":\"\(id)\",\"event\":\"connect\",\"app\":\"p1\",\"after\":0}")
      #expect(waited["reached"]?.content == .boolean(true))
      try client.open()
      #expect(try client.result("session.write", "{\"session\":\"s1\",\"text\":\"hello\"}")["written"]?.word == "5")
      #expect(try client.result("session.read", "{\"session\":\"s1\",\"wait\":\"5s\"}")["data"]?.word == "aGVsbG8=")
      try client.result("session.close", "{\"session\":\"s1\"}")
      #expect(try client.kind("session.write", "{\"session\":\"s1\",\"text\":\"more\"}") == "gone")
    }
  }

  @Test func aWriteOfMoreThanThereIsRoomForWaitsForIt() throws {
    let client = try desk("{\"profile\":\"echo\"}")
    try client.plug()
    try client.open()
    let text = String(repeating: "0123456789", count: 20_000)
    let id = client.ask("session.write", "{\"session\":\"s1\",\"text\":\"\(text)\"}")
    var read = 0
    while read < text.utf8.count {
      let got = try client.result("session.read", "{\"session\":\"s1\",\"wait\":\"5s\"}")
      guard case .number(let count)? = got["bytes"]?.content, count.value > 0 else { break }
      read += Int(count.value)
    }
    #expect(read == text.utf8.count)
    #expect(try client.answer(id)?["result"]?["written"]?.word == "200000")
  }

  @Test func aClientThatTakesTheSessionsIsTheAccessory() throws {
    let client = ControlDesk().client()
    try client.result("world.create", "{\"time\":\"virtual\"}")
    try client.result("accessory.add", "{\"profile\":\"echo\",\"world\":\"w1\"}")
    try client.result("accessory.take", "{\"accessory\":\"a1\"}")
    try client.result("app.launch", "{\"world\":\"w1\"}")
    try client.result("accessory.plug", "{\"accessory\":\"a1\"}")
    try client.result("time.runUntil", "{\"world\":\"w1\",\"event\":\"connect\",\"app\":\"p1\",\"after\":0}")
    try client.open()
    try client.result("session.write", "{\"session\":\"s1\",\"text\":\"ping\"}")
    // While the app is waiting to read, virtual time advances. The wait stops when the client must act for the
    // accessory.
    let stopped = try client.result("session.read", "{\"session\":\"s1\",\"wait\":\"5s\"}")
    let taken = try client.notices("session").filter { $0["accessory"] != nil }
    #expect(
      taken.compactMap { $0["event"]?.word }.prefix(2) == ["opened", "readable"]
        || stopped["stopped"]?.word == "attention")
    let end = try #require(taken.first?["session"]?.word)
    #expect(try client.result("session.read", "{\"session\":\"\(end)\",\"wait\":\"1s\"}")["data"]?.word == "cGluZw==")
    try client.result("session.write", "{\"session\":\"\(end)\",\"text\":\"pong\"}")
    #expect(try client.result("session.read", "{\"session\":\"s1\",\"wait\":\"5s\"}")["data"]?.word == "cG9uZw==")
  }

  @Test func aSuspendedAppCanDoNothingUntilItRuns() throws {
    let client = try desk("{\"profile\":\"echo\"}")
    try client.result("app.suspend", "{\"app\":\"p1\"}")
    #expect(try client.kind("app.accessories", "{\"app\":\"p1\"}") == "state")
    #expect(try client.kind("app.open", "{\"app\":\"p1\",\"protocol\":\"com.example.echo\"}") == "state")
    try client.result("app.foreground", "{\"app\":\"p1\"}")
    #expect(try client.result("app.accessories", "{\"app\":\"p1\"}")["accessories"]?.content == .array([]))
  }

  @Test func theAppsOfAClientThatIsGoneWereKilled() throws {
    let desk = ControlDesk()
    let (one, other) = (desk.client(), desk.client())
    try one.result("accessory.add", "{\"profile\":\"echo\"}")
    try one.plug()
    try one.result("app.launch")
    try other.result("app.launch")
    try one.open()
    one.client.close("the connection was closed")
    try desk.advance(.seconds(1))
    #expect(try other.kind("app.foreground", "{\"app\":\"p1\"}") == "gone")
    #expect(try other.result("session.state", "{\"session\":\"s1\"}")["open"]?.content == .boolean(false))
    // The other app keeps running.
    try other.result("app.open", "{\"app\":\"p2\",\"protocol\":\"com.example.echo\"}")
  }

  @Test func anAccessoryThatIsPulledAndPluggedInAtOnceIsPluggedIn() throws {
    let client = try desk("{\"profile\":\"echo\"}")
    try client.plug()
    for method in ["pull", "unplug", "plug"] { client.ask("accessory.\(method)", "{\"accessory\":\"a1\"}") }
    try client.desk.advance(.seconds(2))
    let all = try client.result("accessory.list")["accessories"].elements
    #expect(all.first?["whole"]?.content == .boolean(true))
  }

  @Test func anAppIsKilledAndItsSessionsAreLeft() throws {
    let client = try desk("{\"profile\":\"echo\"}")
    try client.plug()
    try client.open()
    try client.result("app.launch", "{\"rules\":{\"otherApps\":\"refused\"}}")
    try client.result("app.kill", "{\"app\":\"p1\",\"sessions\":\"left\"}")
    try client.desk.advance(.seconds(1))
    #expect(try client.result("session.state", "{\"session\":\"s1\"}")["open"]?.content == .boolean(true))
    #expect(try client.kind("session.write", "{\"session\":\"s1\",\"text\":\"x\"}") == "gone")
    #expect(try client.kind("app.foreground", "{\"app\":\"p1\"}") == "gone")
    // The next app sees the killed app's session as one that belongs to another app.
    #expect(try client.kind("app.open", "{\"app\":\"p2\",\"protocol\":\"com.example.echo\"}") == "refused")
    let told = try events(client).count
    try client.result("accessory.unplug", "{\"accessory\":\"a1\"}")
    try client.plug()
    #expect(try client.result("session.state", "{\"session\":\"s1\"}")["open"]?.content == .boolean(false))
    #expect(try client.notices("app").suffix(3).allSatisfy { $0["app"]?.word == "p2" })
    #expect(try events(client).count == told + 2)
    try client.result("app.open", "{\"app\":\"p2\",\"protocol\":\"com.example.echo\"}")
  }

  @Test func twoClientsThatDoOppositeThingsGetTheirTurns() throws {
    let desk = ControlDesk()
    let (one, other) = (desk.client(), desk.client())
    try one.result("accessory.add", "{\"profile\":\"echo\"}")
    try one.result("accessory.plug", "{\"accessory\":\"a1\"}")
    #expect(try other.kind("accessory.plug", "{\"accessory\":\"a1\"}") == "state")
    try other.result("accessory.unplug", "{\"accessory\":\"a1\"}")
    #expect(try one.kind("accessory.unplug", "{\"accessory\":\"a1\"}") == "state")
    try one.result("accessory.take", "{\"accessory\":\"a1\"}")
    #expect(try other.kind("accessory.take", "{\"accessory\":\"a1\"}") == "state")
  }

  @Test func aFaultChangesWhileTheCableIsPlugged() throws {
    let client = try desk("{\"profile\":\"echo\"}")
    try client.plug()
    try client.open()
    func roundTrip() throws -> Duration {
      let begin = client.desk.loop.now
      try client.result("session.write", "{\"session\":\"s1\",\"text\":\"x\"}")
      #expect(try client.result("session.read", "{\"session\":\"s1\",\"wait\":\"30s\"}")["data"]?.word == "eA==")
      return client.desk.loop.now - begin
    }
    let before = try roundTrip()
    try client.result("fault.add", "{\"accessory\":\"a1\",\"fault\":\"latency,delay=200ms\"}")
    #expect(try roundTrip() >= before + .milliseconds(400))
    try client.result("fault.change", "{\"fault\":\"f1\",\"to\":\"latency,delay=20ms\"}")
    let late = try roundTrip()
    #expect(late >= .milliseconds(40) && late < .milliseconds(400))
    try client.result("fault.remove", "{\"fault\":\"f1\"}")
    #expect(try roundTrip() < .milliseconds(40) + before)
    #expect(try client.kind("fault.remove", "{\"fault\":\"f1\"}") == "gone")
  }

  @Test func aChoiceInThePickerConnectsAndIsAnsweredAfterTheNotification() throws {
    let client = try desk("{\"profile\":\"echo\"}")
    let picker = client.ask("app.showPicker", "{\"app\":\"p1\"}")
    #expect(try client.kind("app.showPicker", "{\"app\":\"p1\"}") == "state")
    #expect(try client.kind("app.choose", "{\"app\":\"p1\",\"accessory\":\"a9\"}") == "unknown")
    #expect(try client.answer(picker) == nil)
    try client.result("app.choose", "{\"app\":\"p1\",\"accessory\":\"a1\"}")
    try client.desk.advance(.seconds(5))
    #expect(try client.answer(picker)?["result"]?["outcome"]?.word == "chosen")
    let selected = client.lines.firstIndex { $0["params"]?["selected"]?.content == .boolean(true) }
    let answered = client.lines.firstIndex { $0["result"]?["outcome"] != nil }
    #expect(try #require(selected) < #require(answered))
  }

  /// As in Swift tests, the user's choice is set before the picker is shown.
  @Test(arguments: [
    ("\"accessory\":\"a1\"", "alreadyConnected"), ("\"accessory\":\"a2\"", "notFound"),
    ("\"accessory\":\"a3\"", "notFound"), ("\"outcome\":\"notFound\"", "notFound"),
    ("\"outcome\":\"failed\"", "failed"),
    ("\"outcome\":\"cancelled\"", "cancelled"),
  ]) func aPickerEndsWithout(choice: String, outcome: String) throws {
    let client = try desk("{\"profile\":\"echo\"}")
    try client.result("accessory.plug", "{\"accessory\":\"a1\"}")
    // Covers an accessory that the app's filter rejects and an accessory in another world.
    try client.result("accessory.add", "{\"profile\":\"echo\",\"serial\":\"2\"}")
    try client.result("world.create", "{\"time\":\"virtual\"}")
    try client.result("accessory.add", "{\"profile\":\"echo\",\"world\":\"w1\"}")
    try client.result("app.choose", "{\"app\":\"p1\",\(choice)}")
    let result = try client.result("app.showPicker", "{\"app\":\"p1\",\"accessories\":[\"a1\",\"a3\"]}")
    #expect(result["outcome"]?.word == outcome)
  }

  @Test func eventsAreTheLinesOfJSON() throws {
    let client = try desk("{\"profile\":\"echo\"}")
    try client.result("events.subscribe")
    try client.plug()
    let events = try client.notices("event")
    #expect(events.contains { $0["event"]?["event"]?.word == "connect" && $0["event"]?["v"]?.word == "1" })
    try client.result("events.unsubscribe")
    // The number given in `after` may be larger than the number of the last notice.
    try client.result("events.subscribe", "{\"after\":\(Int.max)}")
    try client.result("events.subscribe", "{\"after\":1}")
    #expect(try client.result("events.list", "{\"after\":\(Int.max)}")["notices"]?.content == .array([]))
    #expect(try client.result("events.list", "{\"limit\":2}")["notices"].elements.count == 2)
  }
}
