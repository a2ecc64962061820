import AccessoryCheck
import AccessoryCore
import AccessoryFormats
import AccessoryProfiles
import IAP2
import Testing

/// Correct accessories must cause no failures, and quirks must be detected.
@Suite struct CleanTests {
  @Test(arguments: [
    "echo", "lawk-view", "sensor", "sink", "camera", "older-auth", "multi", "scripted", "car", "charger", "dock",
    "location",
  ])
  func aCleanProfileHasNoFailure(_ profile: String) throws {
    let rig = try CheckRig(profile, echo: .tried)
    rig.settings.isHostile = true
    let report = try rig.run()
    #expect(report.numbers == [], "\(report.text)")
    #expect(report.ending == .complete)
    #expect(report.results.count == CheckCase.all.count)
  }

  @Test func aCleanProfileHasNoFailureWhereEachWriteIsATransfer() throws {
    let report = try CheckRig("echo", keepsTransfersApart: true).run()
    #expect(report.numbers == [], "\(report.text)")
  }

  @Test func aLinkWithoutAcknowledgementsHasNoFailure() throws {
    let report = try CheckRig("echo") { $0.link.zeroAcknowledgement = true }.run()
    #expect(report.numbers == [], "\(report.text)")
    #expect(report.results.contains { $0.rule.number == 311 && $0.outcome == .passed })
  }

  @Test func anAccessoryThatGivesUpSoonIsWaitedFor() throws {
    let rig = try CheckRig("echo") {
      $0.link.maximumRetransmissions = 3
      $0.link.retransmissionTimeout = .milliseconds(500)
    }
    let report = try rig.run()
    #expect(report.numbers == [], "\(report.text)")
    #expect(report.results.contains { $0.rule.number == 405 && $0.outcome == .passed })
  }

  @Test func anEchoLeavesFewCasesUnjudged() throws {
    let rig = try CheckRig("echo")
    rig.settings.isHostile = true
    let report = try rig.run()
    let skipped = report.results.compactMap { result in
      if case .skipped = result.outcome { result.rule.number } else { nil }
    }
    // The skipped cases need a link without acknowledgements, a long wait, a second protocol, or components that an
    // echo accessory does not have.
    #expect(skipped == [311, 405, 416, 708, 709, 1001, 1002, 1003, 1004, 1005, 1006])
  }

  static let quirks: [(quirk: String, numbers: [Int])] = [
    ("flicker", [607]), ("flicker,cycles=3,gap=1s", [607]), ("flicker,auth=never", [607]),
    ("flicker,maker=device", []),
    // With this quirk, it is the device that refuses the authentication, so the accessory has made no mistake.
    ("authentication,refuse", []), ("authentication,never", [501]), ("authentication,wrong", [506]),
    ("authentication,slow", [503, 508]),
    ("identification,never", [601]),
    ("identification,slow", [602]),
    ("session,refuse", [701, 711]), ("session,ignore", [702, 711]), ("session,silent", [711]),
    ("session,close", [714]), ("session,detach", [714, 909]), ("no-status", [702]), ("stale-bytes", [713]),
    ("ends-sessions,min=130ms,max=300ms,episode=0ms", [714]), ("wedges-after,opens=1", [702, 711]),
    ("goes-silent,after=0ms,restart=0ms,later=0ms", [711]), ("busy-after-cancel", [711]),
    ("phantom-session", [714]), ("drops-beyond,bytes=1", [711]), ("reply-chunking,split,size=500,gap=0ms", []),
    ("obeys-first-settings-only", [809]), ("fails-after-first-transaction", [711]),
  ]

  @Test(arguments: quirks)
  func aQuirkIsFoundByTheCasesThatNameIt(_ quirk: String, _ numbers: [Int]) throws {
    let report = try CheckRig("echo", quirks: [quirk]).run()
    #expect(report.numbers == numbers, "\(report.text)")
  }

  /// The check detects that the accessory needs identification before authentication, and uses this order in the other
  /// cases.
  @Test(arguments: ["ignore-first", "hangup"]) func identificationFirstIsNamedAndUsed(_ answer: String) throws {
    let report = try CheckRig("echo", quirks: ["authentication,\(answer)"]).run()
    #expect(report.order == .identificationFirst)
    #expect(report.endOfList.contains("order: identification first, then authentication"))
    #expect(report.numbers == [516] && report.counts.failed == 0 && report.outcome.isPassed)
    let rig = try CheckRig("echo", quirks: ["authentication,\(answer)"])
    rig.settings.order = .identification
    let asked = try rig.run()
    #expect(asked.numbers == [], "\(asked.text)")
  }

  /// The finding names the case after which the accessory did not come back.
  @Test func anAccessoryThatNeverComesBackIsAFinding() throws {
    let rig = try CheckRig("echo")
    rig.settings.stepLimit = .seconds(2)
    rig.attachmentsLeft = 9
    let report = try rig.run()
    #expect(report.numbers.contains(909), "\(report.text)")
    let found = try #require(report.failures.first { $0.rule.number == 909 })
    #expect(found.failure.text.hasPrefix("The accessory did not come back after case "))
    #expect(!found.failure.proof.isEmpty)
    #expect(report.counts.failed > 0 && !report.outcome.isPassed)
    #expect(report.ending == .gone("no accessory in memory") && report.results.count == CheckCase.all.count)
  }

  @Test func anAccessoryThatIsNotThereIsNoReport() throws {
    let rig = try CheckRig("echo")
    rig.attachmentsLeft = 0
    #expect(throws: AccessoryAbsent.self) { try rig.run() }
  }

  @Test(arguments: CheckCase.all.map(\.number)) func aCaseAloneFindsNothingInACleanAccessory(_ number: Int) throws {
    let report = try CheckRig("echo").run(CheckCase.all.filter { $0.number == number })
    #expect(report.numbers == [], "\(report.text)")
  }

  /// Case 103 is a warning, case 107 a note, and case 502 an error.
  @Test func onlyErrorsFailUnlessTheCheckIsStrict() throws {
    let noisy = Mutant(receivesBytes: { bytes, _ in bytes.count > 1 && bytes[0] == 0 ? [] : [bytes] })
    let rig = try CheckRig("echo", sends: noisy)
    let report = try rig.run()
    #expect(report.counts.failed == 0 && report.counts.warnings == 1 && report.counts.notes == 1)
    #expect(report.outcome.isPassed)
    #expect(report.summary.contains("0 failed, 1 warning, 1 note"))
    let strict = try CheckRig("echo", sends: noisy)
    strict.settings.isStrict = true
    let other = try strict.run()
    #expect(other.counts.failed == 2 && !other.outcome.isPassed)
    for one in [report, other] {
      let read = try CheckReport(tree: JSON5.read(one.json.text, file: "r.json"))
      #expect(read.results == one.results && read.order == one.order)
    }
  }

  @Test func theMisbehavingProfileIsFound() throws {
    let report = try CheckRig("misbehaving").run()
    #expect(report.numbers == [607, 701, 702, 713], "\(report.text)")
  }
}
