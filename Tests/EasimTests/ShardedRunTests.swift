import Glibc
import TestSupport
import Testing

/// Tests runs that are divided into shards, and how `easim report merge` combines their reports.
@Suite(.waits) struct ShardedRunTests {
  private static func soak(
    _ place: TemporaryFolder, _ shard: Int, of count: Int, _ words: String...
  ) throws -> Program.Remains {
    try Program.run(
      [
        "soak", "--seeds", "12", "--seed", "70", "--shard", "\(shard)/\(count)", "--report",
        place.file("\(shard).json"),
      ]
        + words)
  }

  @Test func theShardsOfWorldsMergeIntoTheBytesOfTheSingleRun() throws {
    let place = TemporaryFolder()
    let options = ["--forbid", "windowFull"]
    let whole = try Program.run(
      ["soak", "--seeds", "12", "--seed", "70", "--report", place.file("whole.json")] + options)
    #expect(whole.ending == .exit(1))
    for shard in 1...3 {
      let run = try Self.soak(place, shard, of: 3, "--forbid", "windowFull")
      #expect(run.outLines.last?.contains(", shard \(shard)/3: ") == true)
    }
    let merge = try Program.run(
      "report", "merge", place.file("3.json"), place.file("1.json"), place.file("2.json"), "--report",
      place.file("sum.json"), "--report", place.file("sum.xml"))
    #expect(merge.ending == .exit(1), "\(merge.err)")
    #expect(!place.text("whole.json").isEmpty)
    #expect(place.text("sum.json") == place.text("whole.json"))
    #expect(merge.outLines.last == whole.outLines.last)
    #expect(place.text("sum.xml").contains("rule: forbidden windowFull\" time=\"0.000\">"))
  }

  @Test func aMissingShardIsNamedAndCanBeAddedLater() throws {
    let place = TemporaryFolder()
    for shard in [1, 2, 4] { _ = try Self.soak(place, shard, of: 4) }
    let merge = try Program.run("report", "merge", place.file(""), "--report", place.file("most.txt.json"))
    #expect(merge.ending == .exit(1))
    #expect(merge.err.contains("1 shard of 4 missing: 3/4; run each of them again with --shard"))
    #expect(merge.outLines.last?.hasPrefix("9 worlds, seeds 70 to 81, shards 1-2 and 4 of 4: all passed") == true)
    let twice = try Program.run("report", "merge", place.file("most.txt.json"), place.file("2.json"))
    #expect(twice.ending == .exit(2))
    #expect(twice.err.contains("2.json: with this report, shard 2/4 is in two reports"))
    _ = try Self.soak(place, 3, of: 4)
    let whole = try Program.run(
      "report", "merge", place.file("most.txt.json"), place.file("3.json"), "--report", place.file("sum.json"))
    #expect(whole.ending == .exit(0), "\(whole.err)")
    _ = try Program.run("soak", "--seeds", "12", "--seed", "70", "--report", place.file("whole.json"))
    #expect(place.text("sum.json") == place.text("whole.json"))
  }

  @Test func aShardThatWasStoppedIsNotAdded() throws {
    let place = TemporaryFolder()
    let long = try Program("soak", "--seeds", "100000000", "--shard", "1/2", "--json", "--report", place.file("a.json"))
    try long.line("\"event\":\"progress\"")
    #expect(try long.interrupt().ending == .exit(1))
    let merge = try Program.run("report", "merge", place.file("a.json"))
    #expect(merge.ending == .exit(1))
    #expect(merge.err.contains("a.json: shard 1/2 was stopped by Ctrl-C after "))
    #expect(merge.err.contains("run it again"))
  }

  @Test func theEnvironmentDividesAndIsTold() throws {
    let variables = ["CI_NODE_INDEX": "2", "CI_NODE_TOTAL": "5"]
    func run(_ words: String...) throws -> Program.Remains {
      try Program.run(words, environment: variables)
    }
    let shard = try run("soak", "--seeds", "50")
    #expect(shard.outLines.last?.hasPrefix("10 worlds, seeds 10 to 19, shard 2/5: ") == true)
    #expect(
      shard.err.contains(
        "easim: shard 2/5, because of CI_NODE_INDEX=2 and CI_NODE_TOTAL=5; --shard 1/1 runs everything"))
    let explicit = try run("soak", "--seeds", "50", "--shard", "5/5")
    #expect(explicit.outLines.last?.hasPrefix("10 worlds, seeds 40 to 49, shard 5/5: ") == true)
    #expect(!explicit.err.contains("CI_NODE_TOTAL"))
    let off = try run("soak", "--seeds", "50", "--shard", "1/1")
    #expect(off.outLines.last?.hasPrefix("50 worlds, seeds 0 to 49: ") == true)
    let single = try run("soak", "--seeds", "1")
    #expect(single.outLines.last?.hasPrefix("1 world, seed 0: ") == true)
    let timed = try run("soak", "--for", "1s")
    #expect(timed.ending == .exit(2))
    #expect(timed.err.contains("--for cannot be divided"))
  }

  @Test func aShardWithoutWorldsPassesOnlyWhereThatIsAllowed() throws {
    let place = TemporaryFolder()
    let words = ["soak", "--seeds", "2", "--shard", "1/8", "--report", place.file("empty.json")]
    let run = try Program.run(words)
    #expect(run.ending == .exit(1))
    #expect(run.outLines.last?.hasPrefix("no world is in shard 1/8; hash 0") == true)
    #expect(try Program.run("report", "show", place.file("empty.json")).ending == .exit(1))
    #expect(try Program.run("report", "show", place.file("empty.json"), "--allow-empty").ending == .exit(0))
    #expect(try Program.run(words + ["--allow-empty"]).ending == .exit(0))
    #expect(try Program.run("report", "show", place.file("empty.json")).ending == .exit(0))
  }

  @Test func aPartWithoutAScenarioPassesOnlyWhereThatIsAllowed() throws {
    let words = ["scenario", "run", "--all", "--shard", "1/1000", "--json"]
    let run = try Program.run(words)
    #expect(run.ending == .exit(1) && run.err.contains("no scenario is in shard 1/1000"), "\(run.err)")
    #expect(try EventLines(run.out).events("result").map { $0["passed"] } == [.truth(false)])
    #expect(try Program.run(words + ["--allow-empty"]).ending == .exit(0))
  }

  @Test func theShardsOfScenariosMergeIntoTheBytesOfTheSingleRun() throws {
    let place = TemporaryFolder()
    let words = ["scenario", "run", "--all", "--client", "naive", "--seed", "4"]
    let whole = try Program.run(words + ["--report", place.file("whole.json"), "--report", place.file("whole.html")])
    #expect(whole.ending == .exit(1))
    var lines: [String] = []
    for shard in 1...3 {
      let run = try Program.run(words + ["--shard", "\(shard)/3", "--report", place.file("\(shard).json")])
      lines += run.outLines
    }
    #expect(lines == whole.outLines)
    let merge = try Program.run(
      "report", "merge", place.file("2.json"), place.file("3.json"), place.file("1.json"), "--report",
      place.file("sum.json"), "--report", place.file("sum.html"))
    #expect(merge.ending == .exit(1))
    for form in ["json", "html"] {
      #expect(!place.text("whole.\(form)").isEmpty)
      #expect(place.text("sum.\(form)") == place.text("whole.\(form)"))
    }
    let some = try Program.run("report", "merge", place.file("2.json"), place.file("3.json"))
    #expect(some.err.contains("1 shard of 3 missing: 1/3;"))
  }

  @Test func theShardsOfALoadTestBeginTogetherAndMergeIntoOneRun() throws {
    let place = TemporaryFolder()
    let accessory = try Program(["run", "echo", "--on", "unix:\(place.file("e{index}"))", "--count", "3"])
    for _ in 0..<3 { try accessory.line("plugged in at ") }
    let addresses = (1...3).map { "unix:\(place.file("e\($0)"))" }
    let planned = time(nil) + 5
    let shards = try (1...2).map { shard in
      try Program(
        ["burst"] + addresses + [
          "--count", "10", "--shard", "\(shard)/2", "--start-at", "\(planned)", "--timeout", "60s", "--fail-if",
          "rate<1000000/s", "--report", place.file("\(shard).json"),
        ])
    }
    for shard in shards {
      let end = try shard.wait()
      #expect(end.ending == .exit(0), "\(end.out)\(end.err)")
      #expect(end.err.contains("easim: bursts begin at 20"))
    }
    let part = try Program.run(["report", "merge", place.file("1.json")])
    #expect(part.ending == .exit(1) && part.err.contains("1 shard of 2 missing: 2/2;"))
    let merge = try Program.run(["report", "merge", place.file("1.json"), place.file("2.json"), "--json"])
    // The limit applies to the whole run.
    #expect(merge.ending == .exit(1))
    let report = try StrictJSON(reading: merge.out)
    #expect(report["completed"] == .number(10) && report["runs"] == .number(1) && report["shards"] == nil)
    #expect(report["start"]?["plannedMicroseconds"]?.number == Double(planned * 1_000_000))
    let few = try Program.run(["burst"] + addresses + ["--shard", "1/7"])
    #expect(few.ending == .exit(1) && few.err.contains("shard 1/7 has nothing to do"))
    #expect(try Program.run(["burst"] + addresses + ["--shard", "1/7", "--allow-empty"]).ending == .exit(0))
    let late = try Program.run(["burst"] + addresses + ["--start-at", "2020-01-01T00:00:00Z"])
    #expect(late.ending == .exit(2) && late.err.contains("--start-at: 2020-01-01T00:00:00Z was "))
  }

  @Test func theShardsOfACheckMergeIntoAllCases() throws {
    let place = TemporaryFolder()
    let accessory = try Accessory("echo", on: .unix, in: place)
    for shard in 1...2 {
      let run = try Program.run([
        "check", accessory.address, "--only", "201-205", "--shard", "\(shard)/2", "--report",
        place.file("\(shard).json"),
      ])
      #expect(run.ending == .exit(0), "\(run.out)\(run.err)")
    }
    let merge = try Program.run([
      "report", "merge", place.file("2.json"), place.file("1.json"), "--report", place.file("sum.xml"),
    ])
    #expect(merge.ending == .exit(0), "\(merge.out)\(merge.err)")
    #expect(merge.outLines.last?.hasPrefix("5 passed, 0 failed, 0 skipped, in 2 attachments") == true)
    #expect(merge.outLines.prefix(5).map { $0.dropFirst(9).prefix(3) } == ["201", "202", "203", "204", "205"])
    let hostile = try Program.run(["check", accessory.address, "--hostile", "--shard", "1/2"])
    #expect(hostile.ending == .exit(2) && hostile.err.contains("need the same seed: add --seed N"))
  }

  @Test func reportsOfOtherKindsAndRunsAreNotAdded() throws {
    let place = TemporaryFolder()
    _ = try Self.soak(place, 1, of: 2)
    _ = try Program.run("soak", "--seeds", "12", "--shard", "2/2", "--report", place.file("other.json"))
    let other = try Program.run("report", "merge", place.file("1.json"), place.file("other.json"))
    #expect(other.ending == .exit(2))
    #expect(other.err.contains("these are shards of different runs: first seed 70, and 0"))
    place.write("{\"easim\":\"burst report\"}", to: "burst.json")
    let burst = try Program.run("report", "merge", place.file("1.json"), place.file("burst.json"))
    #expect(burst.ending == .exit(2))
    #expect(burst.err.contains("this is not an easim soak report"))
    let limit = try Program.run("report", "show", place.file("1.json"), "--fail-if", "errors>1")
    #expect(limit.err.contains("1.json is a soak report: --fail-if is for load tests and attach reports"))
    let compare = try Program.run("report", "compare", place.file("1.json"))
    #expect(compare.ending == .exit(0) && compare.out.contains("there is only one run"), "\(compare.err)")
    let kinds = try Program.run("report", "compare", place.file("1.json"), place.file("burst.json"))
    #expect(kinds.ending == .exit(2) && kinds.err.contains("this is not an easim soak report"))
    place.write("{\"easim\":\"soak report\",\"version\":1", to: "cut.json")
    let cut = try Program.run("report", "merge", place.file("1.json"), place.file("cut.json"))
    #expect(cut.ending == .exit(2))
    #expect(cut.err.contains("cut.json:1:"))
  }
}
