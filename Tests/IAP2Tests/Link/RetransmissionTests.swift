import IAP2
import Testing

/// Tests which packets are retransmitted and when, and how a link ends if nothing is acknowledged.
@Suite struct RetransmissionTests {
  private func accessory(
    timeout: Int = 1_000, repeats: Int = 3, _ change: (inout LinkSettings) -> Void = { _ in }
  ) -> OneEnd<AccessoryRole> {
    OneEnd.accessory {
      $0.parameters.retransmissionTimeout = UInt16(timeout)
      $0.parameters.maximumRetransmissions = UInt8(repeats)
      change(&$0)
    }
  }

  private func message(_ sequence: UInt8, ack: UInt8 = 0x40) -> String {
    Sheet.packet(0x40, sequence, ack, session: 1, "404000064e01")
  }

  private func send(_ end: inout OneEnd<AccessoryRole>) -> [String] {
    end.peer.core.send(ControlMessage(MessageID(rawValue: 0x4E01)))
    return end.says()
  }

  @Test func anUnacknowledgedPacketIsSentAgainWithTheSameNumberAndAFreshAck() {
    var end = accessory()
    #expect(send(&end) == [message(1)])
    end.passes(500)
    end.receives(Sheet.packet(0x40, 0x41, 0, session: 2, "000161"))
    end.passes(100)
    #expect(end.passes(400) == ["1000 \(message(1, ack: 0x41))"])
    #expect(end.peer.core.counters.retransmissions == 1)
  }

  @Test func everyPacketWhoseTimeIsUpIsSentAgain() {
    var end = accessory()
    _ = send(&end)
    _ = send(&end)
    end.passes(300)
    _ = send(&end)
    #expect(end.passes(700) == ["1000 \(message(1))", "1000 \(message(2))"])
    #expect(end.passes(1_000) == ["1300 \(message(3))", "2000 \(message(1))", "2000 \(message(2))"])
  }

  @Test func byTheOtherSettingOnlyTheOldestIsSentAgain() {
    var end = accessory { $0.retransmission = .oldestOnly }
    for _ in 0..<3 { _ = send(&end) }
    #expect(end.passes(2_000) == ["1000 \(message(1))", "2000 \(message(1))"])
    // After the acknowledgement, the next packet may be retransmitted, because its timeout expired long ago.
    end.receives(Sheet.packet(0x40, 0x40, 1))
    #expect(end.passes(0) == ["2000 \(message(2))"])
  }

  @Test func onlyWhatIsMissingOfAWindowIsSentAgain() {
    var end = accessory()
    for _ in 0..<4 { _ = send(&end) }
    end.receives(Sheet.packet(0x40, 0x40, 2))
    #expect(end.passes(1_000) == ["1000 \(message(3))", "1000 \(message(4))"])
    end.receives(Sheet.packet(0x40, 0x40, 4))
    #expect(end.peer.core.deadline == nil)
    #expect(end.passes(100_000) == [])
  }

  @Test func afterTheAgreedRepetitionsTheLinkIsGivenUp() {
    var end = accessory(repeats: 3)
    _ = send(&end)
    let sent = end.passes(3_999)
    #expect(sent == ["1000 \(message(1))", "2000 \(message(1))", "3000 \(message(1))"])
    #expect(end.told() == [])
    #expect(end.passes(1) == ["4000 \(Sheet.detection)"])
    #expect(end.told() == [.linkDown(.unanswered(sequence: 1, retransmissions: 3))])
    #expect(
      LinkEnd.unanswered(sequence: 1, retransmissions: 3).description
        == "packet 1 was retransmitted 3 times and never acknowledged")
    // The link starts over with a new sequence number.
    #expect(end.receives(Sheet.detection).first?.hasPrefix("ff5a001a8002") == true)
  }

  /// Seed 681 of the lossy world found this bug. If a device silently gives up on the link, an accessory that has
  /// nothing to send keeps the link although it no longer exists on the device.
  @Test func theDeviceGivesUpWithAResetAndListens() {
    var end = OneEnd.device(offer: Sheet.parameters(timeout: 100, repeats: 2)) { $0.answerTimeout = 1_000_000 }
    let sent = end.passes(10_000)
    #expect(sent.dropLast().map { String($0.prefix(3)) } == ["100", "200"])
    #expect(sent.last == "300 \(Sheet.packet(0x10, 1, 0))")
    #expect(end.told().last == .linkDown(.unanswered(sequence: 1, retransmissions: 2)))
    #expect(end.peer.core.deadline == nil)
    #expect(end.receives(Sheet.detection) == [Sheet.detection])
  }

  @Test func anAckInTimeBeginsTheCountAnew() {
    var end = accessory(repeats: 1)
    for sequence: UInt8 in 1...20 {
      _ = send(&end)
      #expect(end.passes(1_000).count == 1)
      end.receives(Sheet.packet(0x40, 0x40, sequence))
    }
    #expect(end.told() == [])
    #expect(end.peer.core.isLinkUp == true)
  }

  @Test func extendedAcknowledgementsDoNotUseUpTheRepetitions() {
    var end = accessory(repeats: 2)
    _ = send(&end)
    // A packet that is received within the timeout shows that the peer is alive. Only timeouts without a received
    // packet count towards giving up.
    #expect(end.receives(Sheet.packet(0x60, 0x40, 0, "01")) == [message(1)])
    #expect(end.passes(1_000).count == 1)
    #expect(end.receives(Sheet.packet(0x60, 0x40, 0, "01")) == [message(1)])
    #expect(end.passes(1_000).count == 1)
    #expect(end.receives(Sheet.packet(0x60, 0x40, 0, "01")) == [message(1)])
    #expect(end.told() == [])
    end.passes(1_000)
    #expect(end.told() == [.linkDown(.unanswered(sequence: 1, retransmissions: 2))])
  }

  @Test func anIdleLinkHasNoDeadline() {
    var end = accessory()
    _ = send(&end)
    end.receives(Sheet.packet(0x40, 0x41, 1, session: 2, "000161"))
    end.passes(22)
    #expect(end.peer.core.deadline == nil)
    #expect(end.passes(86_400_000) == [])
    #expect(end.peer.core.isLinkUp == true)
  }
}
