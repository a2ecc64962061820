import IAP2
import Testing

@Suite struct DetectionTests {
  private func accessory(_ change: (inout LinkSettings) -> Void = { _ in }) -> OneEnd<AccessoryRole> {
    var settings = LinkSettings()
    change(&settings)
    return OneEnd(AccessoryPeer(identification: .example, settings: settings))
  }

  // MARK: The accessory

  @Test func theAccessoryProbesOncePerSecondUntilItIsAnswered() {
    var end = accessory()
    #expect(end.start() == [Sheet.detection])
    #expect(end.passes(3_500) == ["1000 \(Sheet.detection)", "2000 \(Sheet.detection)", "3000 \(Sheet.detection)"])
    let answers = end.receives(Sheet.detection)
    #expect(answers == ["ff5a001a800000000d0120ffff07d000161e03010001020201cc"])
    #expect(end.peer.core.deadline == .milliseconds(4_500))
  }

  @Test func moreDetectionBeforeTheAnswerToSynIsIgnored() {
    var end = accessory()
    end.start()
    let first = end.receives(Sheet.detection)
    #expect(first.count == 1)
    #expect(end.receives(Sheet.detection, Sheet.detection) == [])
    #expect(end.peer.core.deadline == .milliseconds(1_000))
    #expect(end.told() == [])
  }

  @Test func detectionBytesInFrontOfTheFirstPacketAreAccepted() {
    var end = accessory()
    end.start()
    end.receives(Sheet.detection)
    let answers = end.receives(
      Sheet.detection, "00 00", Sheet.packet(Sheet.syn | Sheet.ack, 0x40, 0, Sheet.parameters(window: 127)))
    #expect(answers == [Sheet.packet(Sheet.ack, 0, 0x40)])
    #expect(end.peer.core.isLinkUp == true)
  }

  @Test(arguments: ["ff5504000204ee08", "ff5504000205ee07", "ff55020000fe"])
  func anAccessoryAnsweredInIAP1GivesUpAndSaysWithWhat(_ frame: String) {
    var end = accessory()
    end.start()
    #expect(end.receives(frame) == [])
    #expect(end.told() == [.linkDown(.legacyDevice(frame: Sheet.unhex(frame)))])
    #expect(end.peer.core.deadline == nil)
    let shown = Sheet.unhex(frame).map { Sheet.hex([$0]) }.joined(separator: " ")
    #expect(
      LinkEnd.legacyDevice(frame: Sheet.unhex(frame)).description
        == "the device speaks only iAP1 (it answered \(shown))")
  }

  /// Seed 305 of the lossy world found this bug. A flipped bit changes the length in an answer from 2 to 3, so the
  /// answer absorbs a byte of the next answer and forms a frame with a correct checksum. Only an answer from an
  /// iAP1-only device may end detection permanently.
  @Test(arguments: ["ff550300ee10ff", "ff55020013eb", "ff550400020415e1", "ff55020402f8"])
  func anyOtherFrameOfIAP1IsToldAndWaitedThrough(_ frame: String) {
    var end = accessory()
    end.start()
    #expect(end.receives(frame) == [])
    #expect(end.told() == [.legacyFrame(Sheet.unhex(frame))])
    #expect(end.peer.core.deadline == .milliseconds(1_000))
    #expect(end.receives(Sheet.detection).count == 1)
  }

  @Test func framesOfIAP1AreToldByEitherEndAtAnyTime() {
    var up = OneEnd.accessory()
    up.receives("ff55020000fe")
    #expect(up.told() == [.legacyFrame([0xFF, 0x55, 0x02, 0x00, 0x00, 0xFE])])
    #expect(up.peer.core.isLinkUp == true)
    var end = OneEnd.listening()
    end.receives("ff55020013eb")
    #expect(end.told() == [.legacyFrame([0xFF, 0x55, 0x02, 0x00, 0x13, 0xEB])])
  }

  @Test func detectionOnALiveLinkBringsTheAccessoryBackToTheBeginning() {
    var end = OneEnd.accessory()
    #expect(end.receives(Sheet.detection) == [Sheet.detection])
    #expect(end.told() == [.linkDown(.restarted)])
    #expect(end.peer.core.isLinkUp == false)
  }

  // MARK: The device

  @Test func theDeviceAnswersEachProbeOnceAndSaysNothingBefore() {
    var end = OneEnd(DevicePeer())
    #expect(end.start() == [])
    #expect(end.peer.core.deadline == nil)
    #expect(end.receives(Sheet.detection) == [Sheet.detection])
    #expect(end.passes(5_000) == [])
    #expect(end.receives(Sheet.detection) == [Sheet.detection])
  }

  @Test func aDeviceFromBeforeIAP2AnswersInIAP1() {
    var end = OneEnd.listening { $0.link.refusesDetection = true }
    #expect(end.receives(Sheet.detection) == ["ff5504000204ee08"])
    #expect(end.receives(Sheet.detection) == ["ff5504000204ee08"])
  }

  /// Users can specify any duration, so even the longest possible one must not cause an overflow.
  @Test func theLongestTimesThereAreAreTimes() {
    var end = OneEnd.device {
      $0.answerTimeout = Milliseconds(.max)
      $0.link.synchronizationPeriod = Milliseconds(.max)
      $0.link.detectionPeriod = Milliseconds(.max)
    }
    end.receives(Sheet.packet(0x40, 0, 1))
    #expect(end.peer.core.deadline == Instant(nanoseconds: .max))
    #expect(Instant(nanoseconds: -5) + Milliseconds(.min) == Instant(nanoseconds: .min))
    #expect(Instant(nanoseconds: 7) + 2 == Instant(nanoseconds: 2_000_007))
  }

  @Test func detectionOnALiveLinkResetsItAtTheDevice() {
    var end = OneEnd.device()
    _ = end.told()
    #expect(end.receives(Sheet.detection) == [Sheet.detection])
    #expect(end.told() == [.linkDown(.restarted)])
    // The link can start again with a sequence number that is new to the accessory.
    let answer = end.receives(Sheet.packet(Sheet.syn, 0x10, 0, Sheet.parameters()))
    #expect(answer == [Sheet.packet(Sheet.syn | Sheet.ack, 2, 0x10, Sheet.parameters(window: 127))])
  }

  @Test func zerosAndGarbageBeforeTheProbeDoNotHideIt() {
    var end = OneEnd.listening()
    #expect(end.receives("00 00 00 55 ff", Sheet.detection) == [Sheet.detection])
    #expect(end.told().map { "\($0)" }.count == 1)
  }

  /// A flipped bit in the length must not make the scanner wait for the rest of a long iAP1 frame while real probes
  /// arrive.
  @Test func aSpoiledProbeHidesAtMostAFewThatFollow() {
    var end = OneEnd.listening()
    var answers: [String] = end.receives("ff558200ee10")
    for _ in 0..<6 { answers += end.receives(Sheet.detection) }
    #expect(answers.count >= 6)
  }
}
