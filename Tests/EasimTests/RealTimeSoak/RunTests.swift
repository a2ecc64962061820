import Foundation
import TestSupport
import Testing

/// Runs the soak for a few seconds to check that the program works. To find bugs, run the soak for several hours.
@Suite(.waits) struct RunTests {
  private static let soak = URL(fileURLWithPath: BuiltProducts.program("RealTimeSoak"))

  private func start(_ words: String..., err: Pipe? = nil) throws -> (process: Process, out: Pipe) {
    let process = Process()
    process.executableURL = Self.soak
    process.arguments = words + ["--easim", BuiltProducts.easim]
    let out = Pipe()
    process.standardOutput = out
    if let err { process.standardError = err } else { process.standardError = FileHandle.nullDevice }
    try process.run()
    return (process, out)
  }

  private func end(_ run: (process: Process, out: Pipe)) -> (status: Int32, text: String) {
    let bytes = run.out.fileHandleForReading.readDataToEndOfFile()
    run.process.waitUntilExit()
    return (run.process.terminationStatus, String(decoding: bytes, as: UTF8.self))
  }

  @Test func aFewSecondsOfItPassAndAreToldInATable() throws {
    let run = end(try start("0.1", "--media", "unix", "--seed", "3"))
    #expect(run.status == 0, "\(run.text)")
    #expect(run.text.contains("unix (host, echo)"))
    #expect(run.text.contains("passed: nothing lost that was acknowledged"))
  }

  @Test func theSameForPrograms() throws {
    let run = end(try start("0.02", "--media", "pty", "--json"))
    #expect(run.status == 0, "\(run.text)")
    let report = try StrictJSON(reading: run.text)
    #expect(report["passed"] == .truth(true))
    guard case .list(let couples)? = report["couples"] else { return #expect(Bool(false), "no couples") }
    #expect(couples.count == 3)
    #expect(couples.allSatisfy { $0["missing"] == .number(0) })
  }

  @Test func ctrlCPrintsTheTableSoFar() throws {
    let err = Pipe()
    let run = try start("600", "--media", "local", err: err)
    // The program reports its progress.
    #expect(!err.fileHandleForReading.availableData.isEmpty)
    run.process.interrupt()
    let said = end(run)
    // If a run is too short to have a result, its output is shown.
    let rest = String(decoding: err.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    if let kept = rest.firstMatch(of: #/said is in (\S+)/#) {
      try FileManager.default.removeItem(atPath: String(kept.1))
    }
    #expect(said.text.contains("stopped by Ctrl-C"))
    #expect(said.text.contains("How processes ended:"))
  }

  @Test(arguments: [[], ["many"], ["1", "--media", "air"], ["1", "--seed"]])
  func aWrongCommandLineIsAnsweredWithTheRightOne(words: [String]) throws {
    let process = Process()
    process.executableURL = Self.soak
    process.arguments = words
    let err = Pipe()
    process.standardError = err
    try process.run()
    let text = String(decoding: err.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationStatus == 2)
    #expect(text.contains("usage: Scripts/soak MINUTES"))
  }
}
