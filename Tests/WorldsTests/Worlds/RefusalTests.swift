import AccessoryCore
import AccessoryHost
import AccessoryProfiles
import AccessorySessions
import AccessoryWorlds
import Certificates
import IAP2
import LinuxIO
import TestSupport
import Testing

/// Tests when and how a device reports that it cannot use an accessory, and how `--auth` changes this.
@Suite struct RefusalTests {
  private func refusals(_ events: [TimelineEvent]) -> [(seconds: Double, refusal: Refusal)] {
    events.compactMap { event in
      if case .refused(let refusal) = event.kind { (event.time.seconds, refusal) } else { nil }
    }
  }

  private func connects(_ events: [TimelineEvent]) -> Bool { events.contains { $0.kind == .connect } }

  @Test func aWrongSignatureIsRefusedWhenItComes() throws {
    let events = try World.events(of: "authentication,answer=wrong", for: .seconds(60))
    let found = refusals(events)
    #expect(found.count == 1)
    #expect(found.first.map { $0.seconds < 1 } == true)
    guard case .authentication? = found.first?.refusal else {
      Issue.record("\(found)")
      return
    }
    #expect(!connects(events))
  }

  @Test func acceptTurnsAWrongSignatureIntoAWarning() throws {
    let events = try World.events(of: "authentication,answer=wrong", for: .seconds(60)) {
      $0.authenticationMode = .accept
    }
    #expect(refusals(events).isEmpty)
    #expect(connects(events))
    #expect(
      events.contains { event in
        if case .warning(let text) = event.kind {
          text.contains("an Apple device would refuse this accessory")
        } else {
          false
        }
      })
  }

  @Test func anAccessoryThatNeverAuthenticatesIsNamedAfterTheTimeForItsAnswer() throws {
    let found = refusals(
      try World.events(of: "authentication,answer=never", for: .seconds(60)) { $0.peer.answerTimeout = 5_000 })
    #expect(found.map(\.refusal) == [.unanswered(.authentication)])
    #expect(found.first.map { (5.0..<6.0).contains($0.seconds) } == true)
  }

  /// At the wrong line speed, the accessory's bytes look like noise.
  @Test func noiseIsToldBeforeTheCableIsGivenUp() throws {
    let loop = VirtualLoop(seed: 1)
    var events: [TimelineEvent] = []
    let device = Device(settings: DeviceSettings(authenticator: StubAuthenticator(seed: 1)), on: loop) {
      events.append($0)
    }
    let pair = LoopbackChannel.makePair(on: loop, latency: .milliseconds(1))
    device.plugIn(Cable(main: pair.right), at: "memory")
    _ = pair.left.startRecording()
    #expect(pair.left.send([1, 2, 0xFF, 3]) == 4)
    _ = try loop.run(until: { false }, limit: .seconds(60))
    let kinds = events.map(\.kind)
    let told = kinds.firstIndex(of: .warning("4 bytes that belong to no packet: 01 02 ff 03"))
    let refused = kinds.firstIndex { if case .refused(.silent) = $0 { true } else { false } }
    #expect(try #require(told) < #require(refused))
  }

  @Test func everyRefusalSaysWhatToTry() {
    let refusals: [Refusal] = [
      .authentication("why"), .identification([]), .legacyAccessory(frame: [0xFF, 0x55]), .unanswered(.authentication),
      .unanswered(.identification),
    ]
    for refusal in refusals {
      #expect(!refusal.advice { _ in "this" }.isEmpty)
      #expect(!refusal.sentence.hasSuffix("."))
    }
    #expect(Refusal.authentication("why").sentence == "authentication failed (AA04): why")
    #expect(
      Refusal.legacyAccessory(frame: [0xFF, 0x55]).sentence == "the accessory speaks only iAP1: it sent ff 55")
  }
}
