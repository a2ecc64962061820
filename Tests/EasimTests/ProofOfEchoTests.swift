import TestSupport
import Testing

/// Tests what "verified" proves. An accessory that answers without reading its input must be detected.
@Suite(.waits) struct ProofOfEchoTests {
  let place = TemporaryFolder()

  /// Starts an accessory that sends 10,000 bytes (0, 1, 2, …) regardless of what it receives.
  private func canned() throws -> Accessory {
    try Accessory(on: .unix, in: place, "--behavior", "source,rate=100000000,chunk=10000,total=10000")
  }

  @Test func aCannedAnswerPassesOnlyWhereThePatternIsAskedForAndIsCalledThat() throws {
    let accessory = try canned()
    let pattern = try Program.run("send", accessory.address, "--10k", "--expect", "echo")
    #expect(pattern.ending == .exit(0), "\(pattern.out)\(pattern.err)")
    #expect(pattern.out.contains("10000 bytes sent, EADemo's pattern came back"))
    // The first byte that this seed produces differs from the pattern's first byte.
    let unique = try Program.run("send", accessory.address, "--size", "10000", "--seed", "4", "--expect", "echo")
    #expect(unique.ending == .exit(1), "\(unique.out)")
    #expect(unique.out.contains("foreign: 10000 bytes from byte 0 on were never sent in this session"), "\(unique.out)")
    #expect(unique.out.contains("EADemo's pattern"), "\(unique.out)")
    let burst = try Program.run("burst", accessory.address, "--count", "1", "--report", place.file("r.json"))
    #expect(burst.ending == .exit(1), "\(burst.out)")
    #expect(burst.out.contains("mismatches  1 foreign"), "\(burst.out)")
    let report = try StrictJSON(reading: String(decoding: try #require(place.bytes("r.json")), as: UTF8.self))
    #expect(report["mismatches"]?["foreign"] == .number(1))
  }

  @Test func generatedBytesAreEchoedAndVerified() throws {
    let accessory = try Accessory(on: .unix, in: place)
    let send = try Program.run("send", accessory.address, "--size", "200001", "--seed", "4", "--expect", "echo")
    #expect(send.ending == .exit(0), "\(send.out)\(send.err)")
    #expect(send.out.contains("200001 bytes sent, echo verified byte for byte"))
    let pattern = try Program.run("send", accessory.address, "--pattern", "eademo", "--expect", "echo")
    #expect(pattern.out.contains("10000 bytes sent, EADemo's pattern came back"), "\(pattern.out)")
    let burst = try Program.run("burst", accessory.address, "--count", "5", "--pattern", "eademo", "--size", "777")
    #expect(burst.ending == .exit(0), "\(burst.out)\(burst.err)")
    #expect(burst.out.contains("5 bursts of 777 bytes, EADemo's pattern came back"))
  }

  /// Covers a bug that has been fixed: the second burst caused a false alarm, and the bytes after it were not checked.
  @Test(arguments: [[], ["--pattern", "eademo"], ["--size", "777"]]) func aSinkThatChecksIsContentWithManyBursts(
    words: [String]
  ) throws {
    let accessory = try Accessory(on: .unix, in: place, "--behavior", "sink,check")
    let burst = try Program.run(["burst", accessory.address, "--count", "5", "--verify", "none"] + words)
    #expect(burst.ending == .exit(0), "\(burst.out)\(burst.err)")
    let run = try accessory.interrupt()
    #expect(!(run.out + run.err).contains("byte "), "\(run.out)\(run.err)")
    #expect(!(run.out + run.err).contains("not checked"), "\(run.out)\(run.err)")
  }
}
