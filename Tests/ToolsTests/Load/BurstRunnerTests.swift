import AccessoryCore
import AccessoryHost
import AccessoryProfiles
import AccessorySessions
import AccessorySimulator
import AccessoryWorlds
import IAP2
import LinuxIO
import Testing

@testable import AccessoryLoad

@Suite struct BurstRunnerTests {
  static func plan(_ change: (inout BurstPlan) -> Void = { _ in }) -> BurstPlan {
    var plan = BurstPlan()
    plan.extent = .bursts(20)
    change(&plan)
    return plan
  }

  @Test(arguments: zip([1, 3], [1, 4])) func everyByteOfEveryBurstIsEchoedAndCounted(
    sessions: Int, inFlight: Int
  ) throws {
    let rig = try LoadRig(
      Self.plan {
        $0.sessions = sessions
        $0.inFlight = inFlight
      })
    let report = try rig.finish()
    #expect(rig.runner.outcome == .done)
    #expect(report.passed)
    #expect(report.completed == 20)
    #expect(report.begun == 20)
    #expect(report.bytes == 200_000)
    #expect(report.errors.isEmpty)
    #expect(report.latency.total == 20)
    #expect(report.service.total == 0)
    // The latency is at least one millisecond for each direction.
    #expect(report.latency.minimum.map { $0 >= 2_000_000 } == true)
    #expect(report.series.slices.reduce(0) { $0 + $1.bursts } == 20)
    let site = try #require(report.sites.first)
    #expect(site.attachments.map(\.completed) == [20])
    #expect(site.serial == "EW1-0001")
    #expect(site.link.packetsSent > 20)
    #expect(site.link.establishments == 1)
    try rig.tearDown()
  }

  @Test func aRunForATimeTakesThatTimeAndWaitsForWhatIsUnderWay() throws {
    let rig = try LoadRig(
      Self.plan {
        $0.extent = .time(.seconds(3))
        $0.pace = .rate(burstsPerSecond: 10)
        $0.warmUp = .seconds(1)
      })
    let report = try rig.finish()
    #expect(rig.runner.outcome == .done)
    #expect(report.warmUp == 10)
    #expect(report.completed == 30)
    #expect(report.overdue == 0)
    #expect((3...3.2).contains(report.measured.inSeconds))
    #expect(abs(report.burstsPerSecond - 10) < 0.7)
  }

  /// Shows why each burst is measured from its scheduled start: if an accessory hangs for two seconds, it delays twenty
  /// bursts rather than one.
  @Test func aStallIsSeenByEveryBurstThatItHeldUp() throws {
    let rig = try LoadRig(
      Self.plan {
        $0.extent = .time(.seconds(10))
        $0.pace = .rate(burstsPerSecond: 10)
        $0.payload = .unique(size: 3)
      }, faults: ["stall,after=3s,for=2s,in"])
    let report = try rig.finish()
    #expect(report.completed == 100)
    // Measured from their scheduled starts, twenty bursts took up to two seconds each, although only one of them was
    // itself slow.
    let long = report.latency.steps.filter { $0.highest > 150_000_000 }.reduce(0) { $0 + $1.count }
    #expect((16...21).contains(long))
    #expect(report.service.steps.filter { $0.highest > 150_000_000 }.reduce(0) { $0 + $1.count } == 1)
  }

  @Test(arguments: [7_500, 100_000]) func aPacedLoadKeepsItsRateToAPercent(rate: Int) throws {
    let rig = try LoadRig(
      Self.plan {
        $0.payload = .unique(size: 500)
        $0.pace = .rate(burstsPerSecond: Double(rate) / 500)
        $0.extent = .time(.seconds(60))
        $0.inFlight = 8
      })
    let report = try rig.finish()
    #expect(rig.runner.outcome == .done)
    #expect(abs(report.bytesPerSecond - Double(rate)) <= Double(rate) / 100)
    // The rate is maintained in each second, not only on average.
    let perSecond = Int(Duration.seconds(1) / report.series.length)
    for start in stride(from: 0, to: 59 * perSecond, by: perSecond) {
      let bytes = report.series.slices[start..<start + perSecond].reduce(0) { $0 + $1.bytes }
      #expect(abs(bytes - rate) <= max(rate / 100, 500))
    }
  }

  @Test func aClosedLoopGoesAsFastAsASlowLine() throws {
    // The bytes go to a sink, because an echo's bytes would delay the acknowledgements.
    let rig = try LoadRig(
      Self.plan {
        $0.inFlight = 2
        $0.verification = .nothing
      }, behavior: "sink", bytesPerSecond: 75_000)
    let report = try rig.finish()
    #expect(report.completed == 20)
    #expect((69_000...75_000).contains(report.bytesPerSecond))
  }

  @Test func whatIsDeliveredToASinkIsWhatTheLinkAcknowledged() throws {
    let rig = try LoadRig(Self.plan { $0.verification = .nothing }, behavior: "sink")
    let report = try rig.finish()
    #expect(rig.runner.outcome == .done)
    #expect(report.completed == 20)
    #expect(report.plan.verification == "none" && report.headline.contains("delivery only (acknowledged by the link"))
    #expect(report.unaskedBytes == 0)
    #expect(report.latency.minimum.map { $0 >= 2_000_000 } == true)
  }

  @Test func nativeTransportIsMeasuredToo() throws {
    for (verification, behavior) in [(BurstPlan.Verification.echo, nil), (.nothing, "sink")] {
      let rig = try LoadRig(
        Self.plan {
          $0.verification = verification
          $0.protocolName = "com.example.camera.frames"
        }, profile: "camera", behavior: behavior)
      let report = try rig.finish()
      #expect(rig.runner.outcome == .done)
      #expect(report.completed == 20)
      // The cable delays bytes by a millisecond in each direction, and bytes are counted only after they have arrived.
      #expect(report.latency.minimum.map { $0 >= 1_000_000 } == true)
      #expect(!rig.world.events.contains { if case .sessionOpen(let id, _) = $0.kind { id != 0 } else { false } })
    }
  }

  @Test func aSinkThatAnswersAfterAllIsCountedAndNotJudged() throws {
    let rig = try LoadRig(Self.plan { $0.verification = .nothing })
    let report = try rig.finish()
    #expect(rig.runner.outcome == .done)
    #expect(report.unaskedBytes > 0)
  }

  @Test func aWrongReplyEndsTheRunAndNamesTheByte() throws {
    let rig = try LoadRig(
      Self.plan {
        $0.payload = .bytes([1, 2, 3, 4])
        $0.verification = .reply([1, 2, 9, 4])
      })
    let report = try rig.finish()
    #expect(rig.runner.outcome == .failed)
    #expect(!report.passed)
    #expect(
      report.errors[.different]?.first
        == "this machine: burst 0: byte 2 is 03 instead of 09: expected … 01 02 09 04 …, got … 01 02 03 04 …")
    #expect(rig.warnings.count == 1)
  }

  @Test func anAccessoryThatNeverAnswersTimesOut() throws {
    let rig = try LoadRig(Self.plan { $0.timeout = .seconds(2) }, behavior: "sink")
    let report = try rig.finish()
    #expect(rig.runner.outcome == .timedOut)
    #expect(report.errors[.timedOut]?.first == "this machine: burst 0 took longer than 2s")
    #expect(report.lost == 1)
  }

  @Test func theRunBeginsBehindAFlicker() throws {
    let rig = try LoadRig(Self.plan(), quirks: ["flicker"])
    let report = try rig.finish()
    #expect(rig.runner.outcome == .done)
    #expect(report.reconnections == 0)
    #expect(report.sites.first?.attachments.map(\.offeredProtocols) == [false, true])
  }

  @Test func withoutReconnectingALostAccessoryEndsTheRun() throws {
    let rig = try LoadRig(Self.plan { $0.extent = .time(.seconds(60)) })
    _ = try rig.loop.run(until: { rig.runner.progress.bursts > 3 })
    rig.world.pull(rig.accessory)
    let report = try rig.finish()
    #expect(rig.runner.outcome == .gone)
    #expect(report.lost == 1)
    #expect(report.errors[.lost]?.count == 1)
    #expect(report.begun == report.completed + report.lost)
  }

  @Test func reconnectingGoesOnAndCountsWhatEachAttachmentLost() throws {
    let rig = try LoadRig(
      Self.plan {
        $0.extent = .bursts(200)
        ($0.reconnects, $0.allowsLost) = (true, true)
        $0.inFlight = 3
      })
    for round in 1...3 {
      _ = try rig.loop.run(until: { rig.runner.progress.bursts > 30 * round })
      rig.world.pull(rig.accessory)
      try rig.loop.advance(by: .milliseconds(200))
      try rig.accessory.plugIn()
    }
    let report = try rig.finish()
    #expect(rig.runner.outcome == .done)
    #expect(report.passed)
    #expect(report.reconnections == 3)
    let attachments = try #require(report.sites.first?.attachments)
    #expect(attachments.count == 4)
    #expect(attachments.map(\.lost).reduce(0, +) == report.lost)
    #expect(attachments.dropLast().allSatisfy { $0.lost == 3 })
    #expect(attachments.map(\.completed).reduce(0, +) == report.completed)
    #expect(report.completed + report.lost == 200)
    #expect(report.sites.first?.link.establishments == 4)
  }

  /// A run that verified nothing does not pass, as docs/load.md explains for `--reconnect`.
  @Test func reconnectingFailsWhenEveryBurstIsLost() throws {
    let closing = ClosureBehavior { _, session, _ in session.close() }
    let rig = try LoadRig(
      Self.plan {
        $0.extent = .bursts(5)
        $0.reconnects = true
      }, playing: closing)
    let report = try rig.finish()
    #expect(rig.runner.outcome == .done)
    #expect(report.completed == 0)
    #expect(report.lost == 5)
    #expect(!report.passed)
  }

  @Test func anAccessoryThatStaysAwayIsNotWaitedForForEver() throws {
    let rig = try LoadRig(
      Self.plan {
        $0.extent = .time(.seconds(600))
        $0.reconnects = true
        $0.timeout = .seconds(4)
      })
    _ = try rig.loop.run(until: { rig.runner.progress.bursts > 3 })
    rig.world.pull(rig.accessory)
    let report = try rig.finish(limit: .seconds(20))
    #expect(rig.runner.outcome == .gone)
    #expect(report.errors[.gone]?.first == "this machine: the accessory did not come back within 4s")
  }

  @Test func theTimeLeftFollowsFromWhatIsDone() {
    var progress = BurstProgress()
    #expect(progress.timeLeft == nil)
    progress.elapsed = .seconds(30)
    progress.fraction = 0.25
    #expect(progress.timeLeft.map { abs($0.inSeconds - 90) < 1e-6 } == true)
    progress.fraction = 1.5
    #expect(progress.timeLeft == .zero)
  }

  @Test func aSessionThatTheAccessoryClosesIsOpenedAgainWhileItStays() throws {
    let rig = try LoadRig(
      Self.plan {
        $0.extent = .bursts(60)
        $0.reconnects = true
      })
    _ = try rig.loop.run(until: { rig.runner.progress.bursts > 20 })
    rig.accessory.closeSessions()
    let report = try rig.finish()
    #expect(rig.runner.outcome == .done)
    #expect(report.completed + report.lost == 60)
    #expect(report.sites.first?.attachments.count == 1)
  }

  /// The run waits for the second accessory.
  @Test func twoAccessoriesAreOneRun() throws {
    let fleet = try LoadFleet(Self.plan { $0.sessions = 2 }, ["one", "two"], every: .seconds(2))
    let report = try fleet.finish()
    #expect(fleet.runner.outcome == .done)
    #expect(report.sites.map { $0.attachments.map(\.completed).reduce(0, +) } == [10, 10])
    try fleet.tearDown()
  }

  /// Accessories borrow memory while bytes are on their way, so many need little more than one.
  @Test func accessoriesShareTheirBuffers() throws {
    let plan = Self.plan {
      $0.extent = .bursts(200)
      $0.pace = .rate(burstsPerSecond: 100)
    }
    let fleet = try LoadFleet(plan, (0..<20).map { "number \($0)" })
    _ = try fleet.finish()
    #expect(fleet.runner.outcome == .done)
    // With buffers of their own, the accessories would hold 2 MB.
    #expect(10_000...200_000 ~= fleet.loop.spares.heldBytes)
    try fleet.tearDown()
  }

  @Test func stoppingKeepsWhatWasMeasured() throws {
    let rig = try LoadRig(Self.plan { $0.extent = .time(.seconds(600)) })
    _ = try rig.loop.run(until: { rig.runner.progress.bursts > 10 })
    rig.runner.stop("Ctrl-C")
    let report = rig.runner.report
    #expect(rig.runner.outcome == .stopped("Ctrl-C"))
    #expect(report.completed == 11)
    #expect(report.lost == 0)
    #expect(report.verdict.word == "stopped" && report.reasons.first?.hasSuffix(" of 10 min 0 s") == true)
    #expect(report.ending == "stopped by Ctrl-C")
    try rig.tearDown()
    #expect(rig.runner.report == report)
  }

  @Test func aProtocolThatIsNotOfferedIsRefusedWithTheNearestName() throws {
    let rig = try LoadRig(Self.plan { $0.protocolName = "com.example.ehco" })
    let report = try rig.finish()
    #expect(rig.runner.outcome != .done)
    #expect(report.errors[.refused]?.first.contains("does not offer com.example.ehco") == true)
  }

  /// The run cannot begin without this session, so the run ends instead of waiting for the other sessions.
  @Test func aSecondSessionThatIsRefusedEndsItAtOnce() throws {
    let rig = try LoadRig(
      Self.plan {
        $0.protocolName = "com.example.camera.frames"
        $0.sessions = 2
      }, profile: "camera")
    let report = try rig.finish()
    #expect(report.errors[.refused]?.first.contains("another session uses its native channel") == true)
    #expect(rig.loop.now < .origin + .seconds(5), "\(rig.loop.now)")
  }

  @Test func aLossyLineCostsTimeAndNoByte() throws {
    let rig = try LoadRig(Self.plan { $0.sessions = 2 }, faults: ["loss,chance=5%", "reorder,chance=5%"], seed: 11)
    let report = try rig.finish()
    #expect(rig.runner.outcome == .done)
    #expect(report.completed == 20)
    #expect(report.link.retransmissions + report.link.hastened > 0)
  }
}
