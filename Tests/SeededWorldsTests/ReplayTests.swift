import AccessoryWorlds
import Foundation
import Testing

@testable import struct AccessoryWorlds.SoakOutcome

/// One seed is one world, in this process and in any other.
@Suite struct ReplayTests {
  @Test(arguments: [3, 17, 4_711]) func twoProcessesWriteOneTranscript(seed: UInt64) throws {
    let first = try SeededWorldsProgram.run("--seed", "\(seed)")
    let second = try SeededWorldsProgram.run("--seed", "\(seed)")
    #expect(first.status == 0)
    #expect(first.out.utf8.count > 2_000)
    #expect(first.out == second.out)
    #expect(first.out.hasSuffix("hash \(Soak.run(seed: seed).hash)\n"))
  }

  @Test func howManyThreadsPlayMakesNoDifference() async throws {
    let alone = try SeededWorldsProgram.run("40", "--from", "900", "--workers", "1")
    let together = try SeededWorldsProgram.run("40", "--from", "900", "--workers", "3")
    let here = await Soak.run(seeds: 900..<940, workers: 2)
    #expect(alone.out == together.out)
    #expect(alone.out.hasSuffix("40 worlds, 0 of which broke a rule; hash \(here.hash)\n"))
  }

  @Test func aBrokenRuleIsToldWithTheCommandThatShowsItAgain() throws {
    let broken = SoakOutcome(seed: 23, violations: ["1.5 a rule was broken"], coverage: SoakCoverage(), hash: 0)
    let lines = broken.description.split(separator: "\n")
    #expect(lines.first == "seed 23: 1.5 a rule was broken")
    let command = try #require(lines.last?.split(separator: ": ").last)
    let words = command.split(separator: " ").map(String.init)
    #expect(words.prefix(3) == ["swift", "run", "SeededWorlds"])
    let shown = try SeededWorldsProgram.run(words.dropFirst(3))
    #expect(shown.status == 0)
    #expect(shown.out.hasPrefix(SoakPlan(seed: 23).summary))
  }

  @Test(arguments: [[], ["many"], ["1", "2"], ["--seed"], ["--seed", "x"], ["--speed", "1"]])
  func aWrongCommandLineIsAnsweredWithTheRightOnes(words: [String]) throws {
    let program = try SeededWorldsProgram.run(words)
    #expect(program.status == 2)
    #expect(program.out.hasPrefix("usage: SeededWorlds COUNT"))
  }
}

/// The program beside the tests, run to its end.
enum SeededWorldsProgram {
  static func run(_ words: String...) throws -> (status: Int32, out: String) {
    try run(words)
  }

  static func run(_ words: some Sequence<String>) throws -> (status: Int32, out: String) {
    let process = Process()
    let here = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    process.executableURL = here.deletingLastPathComponent().appendingPathComponent("SeededWorlds")
    process.arguments = Array(words)
    let out = Pipe()
    process.standardOutput = out
    process.standardError = FileHandle.nullDevice
    try process.run()
    let bytes = out.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return (process.terminationStatus, String(decoding: bytes, as: UTF8.self))
  }
}
