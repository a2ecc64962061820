import Glibc
import TestSupport
import Testing

/// Tests scenarios as a user plays them: in one process in virtual time, and in two processes in real time.
@Suite(.waits) struct ScenarioTests {
  static let names = all.map(\.name)

  /// The names of the scenarios, each with its duration in seconds of real time.
  static let all: [(name: String, seconds: Double)] = {
    guard let list = try? Program.run("scenario", "list", "--json"), list.ending == .exit(0) else {
      preconditionFailure("easim scenario list does not work")
    }
    return list.outLines.compactMap { line in
      guard let entry = try? StrictJSON(reading: line), let name = entry["scenario"]?.text else { return nil }
      return (name, entry["seconds"]?.number ?? 0)
    }
  }()

  @Test(arguments: ["flicker", "transport-switch", "two-apps-and-neither-connects"])
  func oneSeedWritesOneTranscriptInTwoProcesses(name: String) throws {
    let place = TemporaryFolder()
    let runs = try ["first", "second"].map { file in
      try Program("scenario", "run", name, "--seed", "11", "--json", "--transcript", place.file(file))
    }
    let ends = try runs.map { try $0.wait() }
    for end in ends { #expect(end.ending == .exit(0), "\(end.out)\(end.err)") }
    #expect(ends[0].out == ends[1].out)
    #expect(place.bytes("first") == place.bytes("second"))
    #expect(place.bytes("first")?.isEmpty == false)
  }

  // MARK: All scenarios

  @Test func controlCEndsAllScenariosWithTheResult() throws {
    let place = TemporaryFolder()
    // A trace makes the run take longer.
    let all = try Program(
      "scenario", "run", "--all", "--trace", place.file("t.html"), "--report", place.file("all.json"))
    try all.line("✓ ")
    let end = try all.interrupt()
    #expect(end.ending == .exit(1), "\(end.out)\(end.err)")
    #expect(end.err.contains("passed; stopped by Ctrl-C"), "\(end.err)")
    let json = try StrictJSON(reading: String(decoding: try #require(place.bytes("all.json")), as: UTF8.self))
    #expect(json["verdict"]?.text == "stopped" && json["ending"]?.text == "stopped by Ctrl-C")
  }

  /// A thousand flickers take many seconds of real time.
  @Test func controlCEndsOneScenarioInVirtualTime() throws {
    let place = TemporaryFolder()
    place.write(
      """
      {
        version: 1, description: "long",
        accessories: { glasses: { profile: "lawk-view", quirks: ["flicker,cycles=1000"] } },
        steps: [{ at: "0s", accessory: "plugIn" }], tail: "24h",
        expect: [{ event: "connect" }],
      }
      """, to: "long.json5")
    let run = try Program("scenario", "run", place.file("long.json5"), "--trace", place.file("t.html"))
    try run.line("● connect")
    let end = try run.interrupt()
    #expect(end.ending == .exit(1), "\(end.err)")
    #expect(end.err == "easim: stopped by Ctrl-C before the scenario ended\n")
    let page = String(decoding: try #require(place.bytes("t.html")), as: UTF8.self)
    #expect(page.contains("\"verdict\":\"stopped\",\"text\":\"stopped by Ctrl-C before the scenario ended\""))
  }

  @Test func aFailedScenarioIsACaseWithItsTimeline() throws {
    let place = TemporaryFolder()
    let run = try Program.run("scenario", "run", "--all", "--client", "naive", "--report", place.file("all.xml"))
    #expect(run.ending == .exit(1))
    #expect(run.outLines.contains { $0.hasPrefix("✗ flicker ") })
    let xml = String(decoding: try #require(place.bytes("all.xml")), as: UTF8.self)
    #expect(xml.contains("<failure message=") && xml.contains("disconnect"))
  }

  // MARK: Real time, with the accessory and the host each in a separate process

  struct Pair {
    let name: String
    let ending: Program.Ending
    let accessories: Program
    let device: Program

    init(
      _ name: String, on address: String, environment: [String: String] = [:], client: String = "RobustClient",
      file: String? = nil
    ) throws {
      self.name = name
      ending = client == "naive" ? .exit(1) : .exit(0)
      let reference = file ?? name
      let easim = BuiltProducts.easim
      accessories = try Program(
        path: easim, ["run", "--scenario", reference, "--on", address, "--json"], environment: environment)
      device = try Program(
        path: easim,
        ["scenario", "run", reference, "--at", address, "--client", client, "--json", "--timeout", "120s"],
        environment: environment)
    }

    func comesOut() throws -> Bool {
      let isAsExpected = try device.wait().ending == ending
      return try accessories.wait().ending == .exit(0) && isAsExpected
    }

    func expect(_ place: SourceLocation = #_sourceLocation) throws {
      let device = try device.wait()
      #expect(device.ending == ending, "\(name)\n\(device.out)\(device.err)", sourceLocation: place)
      let accessories = try accessories.wait()
      #expect(accessories.ending == .exit(0), "\(name)\n\(accessories.out)\(accessories.err)", sourceLocation: place)
      #expect(accessories.err.contains("\(name) was played completely"), sourceLocation: place)
      let told = try EventLines(accessories.out).names
      #expect(told.first == "attach" && told.last == "detach", sourceLocation: place)
    }
  }

  /// Plays all scenarios at the same time, because they spend most of their time waiting. A busy machine may be too
  /// slow for the timing of real accessories, so each scenario that fails is repeated on its own, up to five times.
  private func play(_ pairs: [() throws -> Pair]) throws {
    let first = try pairs.map { try $0() }
    for pair in try zip(first, pairs).filter({ try !$0.0.comesOut() }).map(\.1) {
      if try (1...4).contains(where: { _ in try pair().comesOut() }) { continue }
      try pair().expect()
    }
  }

  /// The scenarios that are played in real time: those of at most half a minute, or, if `EASIM_LONG_SCENARIOS` is set as
  /// in `.ci/nightly`, all except the one that lasts a day.
  private static let short = Set(
    all.filter { $0.seconds <= (getenv("EASIM_LONG_SCENARIOS") == nil ? 30 : 299) }.map(\.name))

  /// This test does not run under a sanitizer: a program that is ten times slower cannot keep up with the timing of real
  /// accessories, and other tests cover its behavior in virtual time.
  @Test(.waitsLong, .enabled(if: Sanitizer.used == nil)) func everyScenarioCanBePlayedByTwoProcesses() throws {
    let place = TemporaryFolder()
    #expect(Self.short.count >= 25)
    try play(Self.short.sorted().map { name in { try Pair(name, on: "unix:\(place.file("\(name)-{index}.sock"))") } })
  }

  /// Here, the scenario's day lasts only twenty seconds, and all other times in the scenario are scaled down in
  /// proportion.
  @Test(.waitsLong, .enabled(if: Sanitizer.used == nil)) func theDeadSessionOfADayIsFoundInRealTimeToo()
    throws
  {
    let place = TemporaryFolder()
    var text = try Repository.text("profiles/scenarios/dead-after-a-day.json5")
    for (long, short) in [("24h", "20s"), ("10m", "5s"), ("1452m", "45s"), ("30m", "25s")] {
      text = text.replacing("\"\(long)\"", with: "\"\(short)\"")
    }
    let file = place.write(text, to: "day.json5")
    try play(
      ["RobustClient", "naive"].map { client in
        { try Pair("day", on: "unix:\(place.file("\(client).sock"))", client: client, file: file) }
      })
  }

  /// A naive client that fails in virtual time must also fail in real time.
  @Test(.waitsLong, .enabled(if: Sanitizer.used == nil))
  func theNaiveClientsOfTheSecondCollectionBreakInRealTimeToo()
    throws
  {
    let place = TemporaryFolder()
    let names = [
      "the-other-accessory-leaves", "session-taken-by-another-sdk", "killed-with-a-session-open",
      "two-apps-and-neither-connects", "silent-after-the-background", "retry-with-the-old-accessory",
      "timer-aborts-the-connection", "second-session-crashes", "busy-after-a-cancelled-request",
      "sessions-end-in-episodes", "sessions-end-at-once", "wedged-by-fast-opening", "phantom-session", "silent-stall",
      "only-the-first-transaction", "small-buffer-drops-bytes", "replies-in-pieces", "only-the-first-settings",
      "radio-shared-with-audio",
    ]
    try play(
      names.filter(Self.short.contains).map { name in
        { try Pair(name, on: "unix:\(place.file("\(name)-{index}.sock"))", client: "naive") }
      })
  }

  @Test func inTheLocalDirectoryAndOnATerminalTheyComeOutTheSame() throws {
    let local = LocalPlace()
    let environment = ["EASIM_LOCAL": local.path]
    let place = TemporaryFolder()
    try play([
      { try Pair("flicker", on: "local:", environment: environment) },
      { try Pair("transport-switch", on: "local:\(place.file("local"))#") },
      { try Pair("pulled-in-the-open-delay", on: "pty:\(place.file("line"))") },
    ])
    #expect(local.files == [])
  }

  @Test func aFaultBesideTheScenarioIsDoneAsWell() throws {
    let run = try Program.run("scenario", "run", "flicker", "--fault", "half-dead")
    #expect(run.ending == .exit(1))
    #expect(run.out.contains("everything is lost from now on"))
    #expect(run.outLines.last?.contains("expectation 1: expected 'connect'") == true)
  }

  @Test func theFileOfAScenarioIsShownAsItWasWritten() throws {
    let shown = try Program.run("scenario", "show", "flicker", "--file")
    #expect(shown.out == (try Repository.text("profiles/scenarios/flicker.json5")))
  }

  @Test func theFirstDifferenceIsTheLastLine() throws {
    let run = try Program.run("scenario", "run", "never-announced", "--client", "naive")
    #expect(run.ending == .exit(1))
    let line = try #require(run.outLines.last)
    #expect(line.contains("expectation 1: expected 'session.open', not before 10s, but nothing more happened"))
  }

  @Test func anAccessoriesEndThatNobodyJoinsWaits() throws {
    let place = TemporaryFolder()
    let run = try Program.run("run", "--scenario", "flicker", "--on", "unix:\(place.file("s.sock"))", "--for", "50ms")
    #expect(run.ending == .exit(0))
    #expect(run.err.contains("flicker was stopped early"))
  }
}
