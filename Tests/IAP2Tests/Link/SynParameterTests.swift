import IAP2
import Testing

@Suite struct SynParameterTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let payload: String
    let problem: String
    var testDescription: String { problem.isEmpty ? payload : problem }
  }

  static let accepted = [
    Sheet.parameters(window: 1, acks: 1), Sheet.parameters(window: 127, acks: 127), Sheet.parameters(acks: 0),
    Sheet.parameters(length: 24), Sheet.parameters(length: 65_535), Sheet.parameters(timeout: 20),
    Sheet.parameters(timeout: 65_535), Sheet.parameters(hold: 10), Sheet.parameters(hold: 32_767),
    Sheet.parameters(repeats: 1), Sheet.parameters(repeats: 30), Sheet.parameters(sessions: "ff0001"),
    Sheet.parameters(sessions: "010002 020102 030201 040901"),
    // As in the Canon Ivy's SYN, the acknowledgement delay exceeds half the retransmission timeout. Devices accept
    // this, although one source says otherwise.
    Sheet.parameters(timeout: 1_500, hold: 4_169),
    Sheet.parameters(window: 0, timeout: 0, hold: 0, repeats: 0, acks: 0),
  ]

  static let unreadable = [
    Case(payload: "", problem: "the payload has 0 bytes but needs at least 13"),
    Case(payload: "01 20 ffff 07d0 0016 1e", problem: "the payload has 9 bytes but needs at least 13"),
    Case(
      payload: Sheet.parameters(sessions: "010001 02"),
      problem: "the session table has 4 bytes, which is not a multiple of 3"),
    Case(payload: Sheet.parameters(sessions: ""), problem: "the session table is empty"),
    Case(
      payload: Sheet.parameters(sessions: "000001"),
      problem: "a session has the number 0, which belongs to the link itself"),
    Case(payload: Sheet.parameters(sessions: "010001 010201"), problem: "two sessions have the number 1"),
    Case(payload: Sheet.parameters(sessions: "010201"), problem: "there must be exactly one control session"),
    Case(payload: Sheet.parameters(sessions: "010001 020001"), problem: "there must be exactly one control session"),
  ]

  private func text(_ one: Case) -> String {
    let shown = Sheet.unhex(one.payload).map { Sheet.hex([$0]) }.joined(separator: " ")
    return "the SYN cannot be used: \(one.problem) (payload: \(shown))"
  }

  @Test(arguments: accepted)
  func theDeviceTakes(_ payload: String) {
    var end = OneEnd.device(offer: payload)
    #expect(end.peer.core.isLinkUp == true)
    #expect(end.told().count == 1)
  }

  @Test(arguments: unreadable)
  func bothEndsRefuseAndShowTheBytes(_ one: Case) throws {
    var device = OneEnd.listening()
    #expect(device.receives(Sheet.packet(0x80, 0, 0, one.payload)) == [])
    #expect(try #require(device.told().first?.linkEnd).description == text(one))
    // The link keeps listening and answers a valid SYN.
    #expect(device.receives(Sheet.packet(0x80, 1, 0, Sheet.parameters())).count == 1)
    var accessory = OneEnd.detected()
    accessory.receives(Sheet.packet(0xC0, 0x40, 0, one.payload))
    #expect(try #require(accessory.told().first?.linkEnd).description == text(one))
    #expect(accessory.peer.core.isLinkUp == false)
  }

  /// In an answer, the window is the device's own, and the other values are those that the accessory offered. The
  /// values in an answer need not be consistent with each other.
  @Test func anAnswerMayHaveASmallerWindowThanCumulativeAcknowledgements() {
    let end = OneEnd.accessory(answer: Sheet.parameters(window: 1, acks: 3))
    #expect(end.peer.core.isLinkUp == true)
  }

  /// Seed 253 of the lossy world found this bug. A strict accessory with a small window offers the device's own values
  /// back, and the device must not refuse them.
  @Test func theDevicesOwnValuesOfferedBackAreNotJudged() {
    var end = OneEnd.listening { $0.link.deviceAnswer = .ownRecovery }
    end.receives(Sheet.packet(0x80, 0, 0, Sheet.parameters(window: 2, acks: 0)))
    #expect(end.receives(Sheet.packet(0xC0, 1, 0, Sheet.parameters(window: 2, acks: 3))).count == 1)
    #expect(end.told() == [])
    end.receives(Sheet.packet(0x40, 1, 1))
    #expect(end.peer.core.isLinkUp == true)
  }

  /// If only one packet may be outstanding, waiting for a third packet would delay every acknowledgement until the
  /// timer fires.
  @Test func noMorePacketsAreWaitedForThanMayBeOutstanding() {
    var end = OneEnd.accessory(answer: Sheet.parameters(window: 127, acks: 3)) {
      $0.parameters.maximumOutstandingPackets = 1
      $0.parameters.maximumCumulativeAcknowledgements = 1
    }
    #expect(end.receives(Sheet.packet(0x40, 0x41, 0, session: 2, "000161")) == [Sheet.packet(0x40, 0, 0x41)])
  }

  /// If both sides restarted immediately, they would repeat the exchange as fast as the wire allows.
  @Test func anAccessoryWaitsAPeriodBeforeItTriesSuchADeviceAgain() {
    var end = OneEnd.detected()
    #expect(end.receives(Sheet.packet(0xC0, 0x40, 0, Sheet.parameters(sessions: ""))) == [])
    #expect(end.passes(2_500) == ["1000 \(Sheet.detection)", "2000 \(Sheet.detection)"])
  }

  /// If an accessory restarts with an unusable SYN, the device does not answer, but it reports the reason.
  @Test func aSynThatCannotBeUsedEndsALiveLinkOfTheDeviceToo() {
    var end = OneEnd.device()
    _ = end.told()
    end.receives(Sheet.packet(0x80, 0x30, 0, Sheet.parameters(sessions: "")))
    #expect(end.told().first?.linkEnd?.unusable != nil)
    #expect(end.peer.core.isLinkUp == false)
  }

  @Test func anErrorShowsAtMostSixtyFourBytes() throws {
    let long = Sheet.parameters(version: 9, sessions: String(repeating: "010001", count: 100))
    var end = OneEnd.listening()
    end.receives(Sheet.packet(0x80, 0, 0, long))
    let error = try #require(end.told().first?.linkEnd?.unusable)
    #expect(error.bytes.count == 310)
    #expect(error.description.count < 300)
  }

  // MARK: Values out of range

  struct Clamped: Sendable {
    let offered: String
    let answered: String
    let warning: String

    init(_ offered: String, _ answered: String, _ warning: String) {
      (self.offered, self.answered, self.warning) = (offered, answered, warning)
    }
  }

  static let clamped = [
    // One device did not answer link versions 3 and 2. The device answered only version 1, which every peer understands.
    Clamped(
      Sheet.parameters(version: 2), Sheet.parameters(window: 127), "link version is 2; it must be 1: using 1"),
    Clamped(
      Sheet.parameters(version: 0), Sheet.parameters(window: 127), "link version is 0; it must be 1: using 1"),
    Clamped(
      Sheet.parameters(window: 0), Sheet.parameters(window: 127, acks: 1),
      "maximum outstanding packets is 0; it must be 1 to 127: using 1"),
    Clamped(
      Sheet.parameters(window: 128), Sheet.parameters(window: 127),
      "maximum outstanding packets is 128; it must be 1 to 127: using 127"),
    Clamped(
      Sheet.parameters(window: 128, timeout: 0, hold: 0, repeats: 0, acks: 0),
      Sheet.parameters(window: 127, timeout: 0, hold: 0, repeats: 0, acks: 0),
      "maximum outstanding packets is 128; it must be 0 to 127: using 127"),
    Clamped(
      Sheet.parameters(length: 23), Sheet.parameters(window: 127),
      "maximum packet length is 23; it must be 24 to 65535: using 24"),
    Clamped(
      Sheet.parameters(timeout: 19), Sheet.parameters(window: 127, timeout: 20),
      "retransmission timeout is 19; it must be 20 to 65535: using 20"),
    Clamped(
      Sheet.parameters(hold: 9), Sheet.parameters(window: 127, hold: 10),
      "cumulative acknowledgement timeout is 9; it must be 10 to 32767: using 10"),
    Clamped(
      Sheet.parameters(hold: 32_768), Sheet.parameters(window: 127, hold: 32_767),
      "cumulative acknowledgement timeout is 32768; it must be 10 to 32767: using 32767"),
    Clamped(
      Sheet.parameters(repeats: 0), Sheet.parameters(window: 127, repeats: 1),
      "maximum retransmissions is 0; it must be 1 to 30: using 1"),
    Clamped(
      Sheet.parameters(repeats: 31), Sheet.parameters(window: 127, repeats: 30),
      "maximum retransmissions is 31; it must be 1 to 30: using 30"),
    Clamped(
      Sheet.parameters(window: 5, acks: 6), Sheet.parameters(window: 127, acks: 5),
      "maximum cumulative acknowledgements is 6; it must be 0 to 5: using 5"),
  ]

  @Test(arguments: clamped) func valuesOutOfRangeAreReplacedByTheNearest(_ one: Clamped) {
    var end = OneEnd.listening()
    #expect(end.receives(Sheet.packet(0x80, 0, 0, one.offered)) == [Sheet.packet(0xC0, 0, 0, one.answered)])
    #expect(end.told().first?.adjustments?.first?.description == one.warning)
    end.receives(Sheet.packet(0x40, 0, 0))
    #expect(end.peer.core.isLinkUp == true)
  }

  @Test func theAccessoryTakesADevicesOddValuesToo() {
    var end = OneEnd.detected()
    end.receives(Sheet.packet(0xC0, 0x40, 0, Sheet.parameters(version: 2, window: 128)))
    #expect(end.peer.core.isLinkUp == true)
  }

  @Test func aSynThatCannotBeUsedIsReportedOnce() {
    var end = OneEnd.listening()
    for _ in 0..<3 { end.receives(Sheet.packet(0x80, 0, 0, Sheet.parameters(sessions: ""))) }
    #expect(end.told().count == 1)
    end.receives(Sheet.packet(0x80, 0, 0, Sheet.parameters(sessions: "010201")))
    #expect(end.told().count == 1)
  }
}
