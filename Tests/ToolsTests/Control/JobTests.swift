import AccessoryControl
import AccessoryFormats
import Testing

@Suite struct JobTests {
  private func desk(time: String) throws -> (DeskClient, String) {
    let client = ControlDesk().client()
    let world = try client.result("world.create", "{\"time\":\"\(time)\"}")["world"]?.word ?? ""
    try client.result("accessory.add", "{\"profile\":\"echo\",\"world\":\"\(world)\"}")
    try client.result("accessory.plug", "{\"accessory\":\"a1\"}")
    return (client, world)
  }

  private func report(of job: String, as form: String, _ client: DeskClient) throws -> String {
    try client.result("job.report", "{\"job\":\"\(job)\",\"form\":\"\(form)\"}")["report"]?.word ?? ""
  }

  @Test(arguments: ["real", "virtual"]) func burstsAreCountedAndReported(time: String) throws {
    let (client, world) = try desk(time: time)
    try client.result("burst.run", "{\"world\":\"\(world)\",\"accessory\":\"a1\",\"bursts\":20,\"size\":1000}")
    #expect(try client.kind("job.report", "{\"job\":\"j1\"}") == "state")
    #expect(try client.result("job.wait", "{\"job\":\"j1\",\"limit\":\"20s\"}")["state"]?.word == "passed")
    #expect(try report(of: "j1", as: "json", client).contains("\"passed\":true"))
    #expect(try report(of: "j1", as: "text", client).contains("20 bursts"))
    #expect(try client.notices("job").last?["event"]?.word == "ended")
    let metrics = client.desk.server.metrics
    #expect(metrics.contains("easim_bursts_total{serial=\"EW1-0001\"} 20\n"))
    #expect(metrics.contains("easim_burst_latency_seconds_count{serial=\"EW1-0001\"} 20\n"))
    #expect(metrics.contains("le=\"+Inf\"} 20\n"))
  }

  @Test func aLoadTestHasATimeAndAGoal() throws {
    let (client, world) = try desk(time: "virtual")
    let asked = "\"world\":\"\(world)\",\"accessory\":\"a1\",\"duration\":\"2s\",\"rate\":20"
    try client.result("burst.run", "{\(asked),\"failIf\":[\"p99>10s\"]}")
    try client.result("burst.run", "{\(asked),\"failIf\":[\"p99>10s\",\"rate<1000/s\"]}")
    #expect(try client.kind("burst.run", "{\(asked),\"failIf\":[\"p99<10s\"]}") == "params")
    let good = try client.result("job.wait", "{\"job\":\"j1\"}")
    #expect(good["state"]?.word == "passed" && good["title"]?.word == "bursts for 2s of 10000 bytes")
    let bad = try client.result("job.wait", "{\"job\":\"j2\"}")
    #expect(bad["state"]?.word == "failed" && bad["text"]?.word.contains("rate ≥ 1000 bursts/s: ") == true)
    #expect(try report(of: "j2", as: "html", client).contains("<h1>Failed: rate ≥ 1000 bursts/s"))
  }

  /// The scenario's accessories appear in the app's world. The app passes if it sees and does what the scenario
  /// expects.
  @Test func aScenarioIsPlayedForAnAppOfAWorld() throws {
    let client = ControlDesk().client()
    let world = try client.result("world.create", "{\"time\":\"virtual\"}")["world"]?.word ?? ""
    let asked = "{\"scenario\":\"flicker\",\"world\":\"\(world)\"}"
    #expect(try client.kind("scenario.play", asked) == "state")
    try client.result("app.launch", "{\"world\":\"\(world)\",\"name\":\"Passive\"}")
    try client.result("scenario.play", asked)
    let idle = try client.result("job.wait", "{\"job\":\"j1\"}")
    #expect(idle["state"]?.word == "failed" && idle["title"]?.word == "flicker with Passive")
    #expect(idle["text"]?.word.contains("expected 'session.open'") == true, "\(idle)")
    try client.result("scenario.play", asked)
    try client.result("time.advance", "{\"world\":\"\(world)\",\"by\":\"600ms\"}")
    try client.result("app.open", "{\"app\":\"p1\",\"protocol\":\"com.lawaken.iap2\"}")
    let served = try client.result("job.wait", "{\"job\":\"j2\"}")
    #expect(served["state"]?.word == "passed", "\(served["text"]?.word ?? "")")
    let left = try client.result("accessory.list", "{\"world\":\"\(world)\"}")["accessories"]
    #expect(left?.content == .array([]))
    try client.result("scenario.play", asked)
    #expect(try client.result("job.cancel", "{\"job\":\"j3\"}")["state"]?.word == "cancelled")
  }

  @Test func aScenariosTraceIsOfItsOwnWorld() throws {
    let client = ControlDesk().client()
    try client.result("scenario.run", "{\"scenario\":\"flicker\"}")
    try client.result("job.wait", "{\"job\":\"j1\"}")
    let page = try client.result("trace.get", "{\"job\":\"j1\"}")["html"]?.word ?? ""
    #expect(page.contains("\"verdict\":\"passed\"") && page.contains("easim scenario run flicker"))
    #expect(page.contains("com.lawaken.iap2"))
  }

  @Test func aScenarioPassesWithARobustClientAndFailsWithANaiveOne() throws {
    let client = ControlDesk().client()
    try client.result("scenario.run", "{\"scenario\":\"flicker\"}")
    try client.result("scenario.run", "{\"scenario\":\"flicker\",\"client\":\"naive\"}")
    #expect(try client.result("job.wait", "{\"job\":\"j1\"}")["state"]?.word == "passed")
    #expect(try client.result("job.wait", "{\"job\":\"j2\"}")["state"]?.word == "failed")
    #expect(try client.kind("scenario.run", "{\"scenario\":\"flickr\"}") == "params")
    for (job, word) in [("j1", "Passed"), ("j2", "Failed")] {
      #expect(try report(of: job, as: "html", client).contains("<h1>\(word)"))
      let suite = try report(of: job, as: "xml", client)
      #expect(suite.contains("name=\"flicker\""))
      #expect(suite.contains("<failure") == (job == "j2"))
    }
  }

  @Test(arguments: [
    ("burst.run", "{\"world\":\"w1\",\"bursts\":1000000,\"rate\":10}"), ("scenario.run", "{\"scenario\":\"flicker\"}"),
    ("soak.run", "{\"seed\":1,\"seeds\":1000000}"),
  ])
  func aJobThatWasCancelledHasNotPassedInAnyForm(method: String, params: String) throws {
    let (client, _) = try desk(time: "real")
    try client.result(method, params)
    if method == "burst.run" {
      try client.desk.advance(.seconds(3))
      #expect(try client.notices("job").contains { $0["event"]?.word == "progress" })
    }
    try client.result("job.cancel", "{\"job\":\"j1\"}")
    #expect(try client.result("job.wait", "{\"job\":\"j1\"}")["state"]?.word == "cancelled")
    #expect(try report(of: "j1", as: "html", client).contains("<h1>Stopped"))
    #expect(try report(of: "j1", as: "xml", client).contains("<failure message"))
    #expect(try report(of: "j1", as: "text", client).contains("cancel"))
    guard method != "scenario.run" else { return }
    #expect(try report(of: "j1", as: "json", client).contains("\"passed\":false,\"verdict\":\"stopped\""))
  }

  @Test func seededWorldsArePlayedBetweenOtherRequests() throws {
    let desk = ControlDesk()
    let (client, other) = (desk.client(), desk.client())
    try client.result("soak.run", "{\"seed\":1,\"seeds\":5}")
    #expect(try other.result("job.list")["jobs"] != nil)
    #expect(try client.result("job.wait", "{\"job\":\"j1\"}")["state"]?.word == "passed")
    #expect(try client.result("job.report", "{\"job\":\"j1\"}")["report"]?.word.contains("\"worlds\":5") == true)
    #expect(try report(of: "j1", as: "text", client).contains("5 worlds, seeds 1 to 5: all passed"))
    #expect(try report(of: "j1", as: "html", client).contains("<h1>Passed: "))
    #expect(try report(of: "j1", as: "xml", client).contains("name=\"rule: bytes\""))
  }
}
