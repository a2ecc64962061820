import AccessoryFormats
import Glibc
import TestSupport
import Testing

@testable import AccessoryLoad

@Suite(.waits) struct BurstTests {
  let place = TemporaryFolder()

  func report(_ name: String = "r.json") throws -> StrictJSON {
    try StrictJSON(reading: place.text(name))
  }

  @Test(arguments: Accessory.Medium.allCases) func burstsAreVerifiedOnEveryMedium(medium: Accessory.Medium) throws {
    let accessory = try Accessory(on: medium, in: place)
    let burst = try Program.run(
      "burst", accessory.address, "--count", "30", "--in-flight", "3", "--report", place.file("r.json"))
    #expect(burst.ending == .exit(0), "\(burst.out)\(burst.err)")
    #expect(burst.out.contains("30 bursts of 10,000 bytes, echo verified byte for byte, in "))
    let report = try report()
    #expect(report["completed"] == .number(30))
    #expect(report["bytes"] == .number(300_000))
    #expect(report["errors"] == .list([]))
    #expect(report["latency"]?["total"] == .number(30))
    #expect(try Program.run("report", "show", place.file("r.json")).out == burst.out)
    let run = try accessory.interrupt()
    #expect(run.err.contains("600000 bytes in all"))
  }

  @Test func allAccessoriesOfTheLocalDirectoryAreUsed() throws {
    let local = LocalPlace()
    let run = try local.plugIn("echo", "--count", "2", count: 2)
    let all = try local.run("burst", "--all", "--count", "20", "--sessions", "2")
    #expect(all.ending == .exit(0), "\(all.out)\(all.err)")
    #expect(all.out.contains("2 sessions to each of 2 accessories"))
    #expect(all.out.contains("(EW1-0001-1)") && all.out.contains("(EW1-0001-2)"))
    try run.interrupt()
  }

  @Test func onlyReportsInJSONAreRead() throws {
    let page = place.write("<!doctype html>", to: "r.html")
    let show = try Program.run("report", "show", page)
    #expect(show.ending == .exit(2) && show.err.contains("r.html is not a JSON report"), "\(show.err)")
  }

  @Test func aSumOfRunsAtDifferentTimesSaysSo() throws {
    let golden = try Repository.text("Tests/Golden/burst.json")
    for (name, date) in [("a.json", "2026-01-02T00:00:00Z"), ("early.json", "2026-01-01T00:00:00Z")] {
      place.write(golden.replacing("\"date\":\"\"", with: "\"date\":\"\(date)\""), to: name)
    }
    let apart = try Program.run("report", "merge", place.file("a.json"), place.file("early.json"))
    #expect(apart.err.contains("early.json is of a run at another time"), "\(apart.err)")
    for (name, day) in [("planned-a.json", 2), ("planned-b.json", 1)] {
      let first = 1_767_225_600_000_000 + day * 86_400_000_000
      place.write(
        golden.replacing("\"date\":\"\"", with: "\"date\":\"2026-01-0\(day)T00:00:00Z\"").replacing(
          "\"made\":",
          with: "\"start\":{\"plannedMicroseconds\":\(first),\"firstMicroseconds\":\(first),"
            + "\"lastMicroseconds\":\(first),\"unsynchronized\":1},\"made\":"), to: name)
    }
    let planned = try Program.run("report", "merge", place.file("planned-a.json"), place.file("planned-b.json"))
    #expect(planned.err.contains("planned-b.json is of a run at another time"), "\(planned.err)")
    let same = try Program.run("report", "merge", place.file("a.json"), place.file("a.json"))
    #expect(!same.err.contains("at another time"))
  }

  @Test func countsThatWouldOverflowAreAnErrorWithTheFile() throws {
    let golden = try Repository.text("Tests/Golden/burst.json")
    let most = 1 << 56
    let large = golden.replacing("\"reconnections\":0", with: "\"reconnections\":\(most / 2)", maxReplacements: 1)
    place.write(large, to: "b.json")
    let merge = try Program.run("report", "merge", place.file("b.json"), place.file("b.json"))
    #expect(merge.ending == .exit(2))
    #expect(
      merge.err.contains("\(place.file("b.json")): with this report, the counts of the reports add up to more than"),
      "\(merge.err)")
    place.write(large.replacing("\(most / 2)", with: "\(most)"), to: "b.json")
    let show = try Program.run("report", "show", place.file("b.json"))
    #expect(show.ending == .exit(2))
    #expect(show.err.contains("b.json:1:1: the counts of the report add up to more than \(most)"), "\(show.err)")
  }

  @Test func aMissedBaselineEndsWithOneAndNamesTheFigure() throws {
    let accessory = try Accessory(on: .unix, in: place)
    let again = ["burst", accessory.address, "--count", "5", "--baseline", place.file("r.json")]
    let first = try Program.run("burst", accessory.address, "--count", "5", "--report", place.file("r.json"))
    #expect(first.ending == .exit(0))
    // Changes the report to claim that each of the five bursts was a million times its actual size.
    var large = try BurstReport(json: try #require(place.bytes("r.json")), file: "r.json")
    let more = large.bytes * 1_000_000
    large.bytes += more
    large.series.add(at: .zero) { $0.bytes += more }
    place.write(large.json.text, to: "r.json")
    let slow = try Program.run(again + ["--tolerance", "50%", "--report", place.file("slow.json")])
    #expect(slow.ending == .exit(1))
    #expect(slow.out.contains("worse   throughput: "))
    #expect(try report("slow.json")["baseline"]?["passed"] == .truth(false))
    let other = try Program.run(again + ["--size", "7"])
    #expect(other.ending == .exit(2))
    #expect(other.err.contains("the baseline has a different plan: this run has size 7, not 10,000"), "\(other.err)")
  }

  @Test func aBrokenLimitOnAChangeEndsWithOneInEachForm() throws {
    let runs = ["Tests/Golden/burst.json", "Tests/Golden/burst-slower.json"].map { "\(Repository.root)/\($0)" }
    let words = ["report", "compare"] + runs + ["--json"]
    for (limit, passes) in [("p50>+0.1%", false), ("p50>+1000000%", true)] {
      let files = ["t.json", "t.html"].flatMap { ["--report", place.file($0)] }
      let end = try Program.run(words + ["--fail-if", limit] + files)
      #expect(end.ending == .exit(passes ? 0 : 1), "\(end.out)\(end.err)")
      let trend = try report("t.json")
      #expect(try StrictJSON(reading: end.out) == trend)
      guard case .list(let checks)? = trend["checks"] else { throw OptionError("no checks") }
      #expect(checks.map { $0["passed"] } == [.truth(passes)])
      #expect(place.text("t.html").contains(passes ? " % ✓</li>" : " % ✗</li>"))
    }
  }

  @Test func aBrokenLimitAndARateThatIsNotKeptEndWithOne() throws {
    let accessory = try Accessory(on: .unix, in: place)
    let limited = try Program.run(
      "burst", accessory.address, "--count", "5", "--fail-if", "p99>1ns", "--fail-if", "errors>0.1%", "--report",
      place.file("r.xml"), "--report", place.file("r.csv"), "--report", place.file("r.om"))
    #expect(limited.ending == .exit(1), "\(limited.out)")
    #expect(limited.out.contains("p99 ≤ 1 ns: ") && limited.out.contains("errors ≤ 0.1 %: 0, 0.000 % ✓"))
    #expect(place.text("r.xml").contains("failures=\"1\""))
    #expect(place.text("r.csv").contains("summary,,passed,false,"))
    #expect(place.text("r.om").contains("easim_burst_passed 0\n"))
    let slow = [
      "burst", accessory.address, "--count", "20", "--rate", "200", "--size", "100", "--fault", "latency,delay=30ms",
    ]
    let late = try Program.run(slow)
    #expect(late.ending == .exit(1), "\(late.out)")
    #expect(late.out.contains("asked for 200 bursts/s, "))
    #expect(try Program.run(slow + ["--allow-overdue"]).ending == .exit(0))
  }

  @Test func sendWritesJUnit() throws {
    let accessory = try Accessory(on: .unix, in: place)
    let send = try Program.run(
      "send", accessory.address, "--text", "one", "--expect", "echo", "--text", "two", "--expect", "text:three",
      "--text", "four", "--report", place.file("send.xml"))
    #expect(send.ending == .exit(1), "\(send.err)")
    let xml = place.text("send.xml")
    #expect(xml.contains("tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\""), "\(xml)")
    #expect(xml.contains("name=\"request 1: one\" time=\"0.000\"/>"))
  }

  @Test func aSinkIsVerifiedByAcknowledgementsAndTheProbeSaysSo() throws {
    let accessory = try Accessory(on: .unix, in: place, "--behavior", "sink")
    let probe = try Program.run("burst", accessory.address, "--probe", "--size", "50")
    #expect(probe.ending == .exit(0), "\(probe.err)")
    #expect(probe.out.contains("--verify none"))
    let burst = try Program.run("burst", accessory.address, "--count", "10", "--verify", "none")
    #expect(burst.ending == .exit(0), "\(burst.out)\(burst.err)")
    #expect(burst.out.contains("delivery only (acknowledged by the link, or accepted by"))
    let echo = try Program.run("burst", accessory.address, "--count", "10", "--timeout", "2s")
    #expect(echo.ending == .exit(4))
    #expect(echo.out.contains("burst 0 took longer than 2s"))
    #expect(echo.out.contains("run --probe to find out"))
  }

  @Test(arguments: [("01 02 03 04", 0), ("4", 0), ("0x0102ee04", 1)])
  func repliesAreComparedInEveryForm(reply: String, ending: Int32) throws {
    place.write([1, 2, 3, 4], to: "payload")
    let accessory = try Accessory(on: .unix, in: place)
    let burst = try Program.run(
      "burst", accessory.address, "--payload", place.file("payload"), "--count", "4", "--verify", "reply",
      "--expect-reply", reply)
    #expect(burst.ending == .exit(ending), "\(burst.out)\(burst.err)")
    if ending == 1 {
      #expect(burst.out.contains("byte 2 is 03 instead of ee: expected … 01 02 ee 04 …, got … 01 02 03 04 …"))
    }
  }

  @Test func controlCEndsTheRunWithAReport() throws {
    let accessory = try Accessory(on: .unix, in: place)
    let burst = try Program("burst", accessory.address, "--for", "1h", "--json", "--report", place.file("r.json"))
    try burst.line("\"event\":\"progress\"")
    let end = try burst.interrupt()
    #expect(end.ending == .exit(1), "\(end.err)")
    let lines = try EventLines(end.out)
    let common: Set = ["v", "t", "side", "event"]
    for line in lines.events("progress") {
      let counted = ["bursts", "bytes", "errors", "fraction", "lost", "overdue", "bytesPerSecond", "p50", "p99"]
      #expect(line.keys == common.union(counted))
    }
    let result = try #require(lines.events("result").last)
    #expect(result.keys == common.union(["passed", "verdict", "text", "report"]))
    #expect(result["passed"] == .truth(false))
    #expect(result["report"]?["verdict"] == .text("stopped"))
    #expect(result["report"]?["ending"] == .text("stopped by Ctrl-C"))
    let report = try report()
    #expect(report["completed"]?.number.map { $0 > 0 } == true)
    #expect(report["completed"] == result["report"]?["completed"])
    for verb in ["show", "merge"] {
      #expect(try Program.run("report", verb, place.file("r.json")).ending == .exit(1))
    }
    place.write(place.text("r.json").replacing("\"passed\":false", with: "\"passed\":true"), to: "r.json")
    let forged = try Program.run("report", "show", place.file("r.json"))
    #expect(forged.ending == .exit(2))
    #expect(forged.err.contains("passed: is true, but the other figures give false"), "\(forged.err)")
  }

  /// Checks that the table in docs/load.md lists exactly the keys of a report.
  @Test func theReportHasTheMembersOfTheDocumentAndNoOthers() throws {
    let lines = try Repository.text("docs/load.md").split(separator: "\n")
    let start = try #require(lines.firstIndex { $0.hasPrefix("| member |") })
    var documented: Set<String> = []
    for line in lines[(start + 2)...].prefix(while: { $0.hasPrefix("| `") }) {
      let names = line.split(separator: "|")[0].split(separator: "`", omittingEmptySubsequences: false)
      documented.formUnion(names.enumerated().filter { $0.offset % 2 == 1 }.map { String($0.element) })
    }
    let accessory = try Accessory(on: .unix, in: place)
    let burst = try Program.run(
      "burst", accessory.address, "--rate", "100", "--count", "3", "--allow-overdue", "--report", place.file("r.json"))
    #expect(burst.ending == .exit(0))
    #expect(try report().keys == documented)
  }

  @Test func reconnectingGoesOnBehindAFlickerOfTheRunningAccessory() throws {
    let address = "unix:\(place.file("glasses.sock"))"
    let first = try Accessory(on: .unix, in: place)
    let burst = try Program(
      "burst", address, "--count", "200", "--rate", "200", "--reconnect", "--allow-lost", "--allow-overdue", "--json",
      "--report", place.file("r.json"))
    try burst.line("\"event\":\"session.open\"")
    try first.interrupt()
    try burst.line("\"event\":\"disconnect\"")
    let second = try Accessory(on: .unix, in: place, "--quirk", "flicker,empty=20ms,gap=20ms")
    let end = try burst.wait()
    #expect(end.ending == .exit(0), "\(end.out.suffix(2_000))\(end.err)")
    let report = try report()
    #expect(report["reconnections"] == .number(1))
    let counts = ["completed", "lost"].compactMap { report[$0]?.number }
    #expect(counts.reduce(0, +) == 200)
    guard case .list(let sites)? = report["sites"], case .list(let attachments)? = sites.first?["attachments"] else {
      return #expect(Bool(false))
    }
    #expect(attachments.compactMap { $0["offeredProtocols"] } == [.truth(true), .truth(false), .truth(true)])
    try second.interrupt()
  }

  @Test func anAccessoryThatGoesAwayEndsWithFive() throws {
    let accessory = try Accessory(on: .unix, in: place)
    let burst = try Program("burst", accessory.address, "--for", "1h", "--json")
    try burst.line("\"event\":\"progress\"")
    try accessory.interrupt()
    #expect(try burst.wait().ending == .exit(5))
  }

  @Test func faultsOfTheCommandLineActOnTheCable() throws {
    let accessory = try Accessory(on: .unix, in: place)
    let cut = try Program.run("burst", accessory.address, "--count", "1000", "--fault", "cut,packets=100", "--json")
    #expect(cut.ending == .exit(5), "\(cut.err)")
    #expect(try EventLines(cut.out).events("fault").isEmpty == false)
    let lossy = try Program.run(
      "burst", accessory.address, "--count", "5", "--fault", "loss,chance=2%", "--fault", "usb-high-speed", "--seed",
      "5", "--report", place.file("r.json"))
    #expect(lossy.ending == .exit(0), "\(lossy.out)\(lossy.err)")
    guard case .list(let faults)? = try report()["plan"]?["faults"] else { return #expect(Bool(false)) }
    #expect(faults.count == 3)
  }

  // The thread sanitizer keeps what it needs in a file of its own, which would be cut off as well.
  @Test(.enabled(if: Sanitizer.used != .thread)) func aReportThatCannotBeWrittenLeavesTheOldOne() throws {
    let accessory = try Accessory(on: .unix, in: place)
    place.write("the report before", to: "r.html")
    // The report is larger than the limit on file sizes, so writing it fails as it would on a full disk.
    let burst = try Program(
      path: "/bin/bash",
      [
        "-c",
        "ulimit -f 1; \(BuiltProducts.easim) burst \(accessory.address) --count 3 --report \(place.file("r.html"))",
      ]
    ).wait()
    #expect(burst.ending == .exit(2), "\(burst.err)")
    #expect(burst.err.contains("--report \(place.file("r.html")): File too large"), "\(burst.err)")
    #expect(place.text("r.html") == "the report before")
    #expect(place.names.filter { $0.hasPrefix(".") } == [])
  }

  @Test func metricsAreServedWhileTheRunLasts() throws {
    let accessory = try Accessory(on: .unix, in: place)
    // The address is printed on stderr.
    let words = "burst \(accessory.address) --for 1h --json --metrics tcp:127.0.0.1:0"
    let burst = try Program(path: "/bin/bash", ["-c", "exec \(BuiltProducts.easim) \(words) 2>&1"])
    let line = try burst.line("metrics at http://")
    let url = String(try #require(line.firstMatch(of: /http:\S+/)).output)
    try burst.line("\"event\":\"progress\"")
    let ask = { (path: String) in
      try Program(
        path: "/usr/bin/python3",
        [
          "-c", "import sys, urllib.request as u; print(u.urlopen(sys.argv[1]).read().decode())", path,
        ]
      ).wait()
    }
    let metrics = try ask(url)
    #expect(metrics.out.contains("easim_burst_running 1\n"), "\(metrics)")
    #expect(metrics.out.contains("easim_burst_latency_seconds_count "))
    #expect(try ask(url.replacing("/metrics", with: "/events")).err.contains("404"))
    #expect(try burst.interrupt().ending == .exit(1))
  }
}
