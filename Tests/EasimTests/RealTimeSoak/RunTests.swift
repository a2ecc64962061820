import Foundation
import TestSupport
import Testing

/// Runs the soak for a few seconds to check that the program works. To find bugs, run the soak for several hours.
@Suite(.waits) struct RunTests {
  private static let soak = BuiltProducts.program("RealTimeSoak")

  private func run(_ words: String...) throws -> Program.Remains {
    try Program(path: Self.soak, words + ["--easim", BuiltProducts.easim]).wait()
  }

  @Test func aFewSecondsOfItPassAndAreToldInATable() throws {
    let run = try run("0.1", "--media", "unix", "--seed", "3")
    #expect(run.ending == .exit(0), "\(run.out)")
    #expect(run.out.contains("unix (host, echo)"))
    #expect(run.out.contains("passed: nothing lost that was acknowledged"))
  }

  @Test func theSameForPrograms() throws {
    let run = try run("0.02", "--media", "pty", "--json")
    #expect(run.ending == .exit(0), "\(run.out)")
    let report = try StrictJSON(reading: run.out)
    #expect(report["passed"] == .truth(true))
    guard case .list(let couples)? = report["couples"] else { return #expect(Bool(false), "no couples") }
    #expect(couples.count == 3)
    #expect(couples.allSatisfy { $0["missing"] == .number(0) })
  }

  @Test func ctrlCPrintsTheTableSoFar() throws {
    let words = "600 --media local --easim \(BuiltProducts.easim)"
    let run = try Program(path: "/bin/sh", ["-c", "exec \(Self.soak) \(words) 2>&1"])
    // The program reports its progress.
    try run.line("soak: ")
    let said = try run.interrupt().out
    // If a run is too short to have a result, its output is shown.
    if let kept = said.firstMatch(of: #/said is in (\S+)/#) {
      try FileManager.default.removeItem(atPath: String(kept.1))
    }
    #expect(said.contains("stopped by Ctrl-C"))
    #expect(said.contains("How processes ended:"))
  }

  @Test(arguments: [[], ["many"], ["1", "--media", "air"], ["1", "--seed"]])
  func aWrongCommandLineIsAnsweredWithTheRightOne(words: [String]) throws {
    let run = try Program(path: Self.soak, words).wait()
    #expect(run.ending == .exit(2) && run.err.contains("usage: Scripts/soak MINUTES"), "\(run.err)")
  }
}
