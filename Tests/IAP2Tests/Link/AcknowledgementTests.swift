import IAP2
import Testing

/// Tests when received packets are acknowledged.
@Suite struct AcknowledgementTests {
  private func accessory(
    acks: Int = 3, hold: Int = 100, timer: LinkSettings.AcknowledgementTimer = .fromFirst
  ) -> OneEnd<AccessoryRole> {
    return OneEnd.accessory {
      $0.parameters.maximumCumulativeAcknowledgements = UInt8(acks)
      $0.parameters.cumulativeAcknowledgementTimeout = UInt16(hold)
      $0.acknowledgementTimer = timer
    }
  }

  /// Returns a packet of stray External Accessory data, which needs no answer, so that only the link itself sends
  /// packets.
  private func data(_ sequence: UInt8, ack: UInt8 = 0) -> String {
    Sheet.packet(0x40, sequence, ack, session: 2, "000161")
  }

  private func bare(_ ack: UInt8, sequence: UInt8 = 0) -> String { Sheet.packet(0x40, sequence, ack) }

  @Test func theAgreedNumberOfPacketsIsAcknowledgedTogether() {
    var end = accessory(acks: 3)
    #expect(end.receives(data(0x41)) == [])
    #expect(end.receives(data(0x42)) == [])
    #expect(end.receives(data(0x43)) == [bare(0x43)])
    #expect(end.receives(data(0x44)) == [])
  }

  @Test(arguments: [0, 1])
  func zeroAndOneBothMeanEachPacket(_ acks: Int) {
    var end = accessory(acks: acks)
    #expect(end.receives(data(0x41)) == [bare(0x41)])
    #expect(end.receives(data(0x42)) == [bare(0x42)])
    #expect(end.peer.core.deadline == nil)
  }

  @Test func theTimerAcknowledgesWhatTheCountDoesNot() {
    var end = accessory(hold: 100)
    end.receives(data(0x41))
    end.passes(60)
    end.receives(data(0x42))
    #expect(end.peer.core.deadline == .milliseconds(100))
    #expect(end.passes(1_000) == ["100 \(bare(0x42))"])
    #expect(end.peer.core.deadline == nil)
  }

  @Test func byTheOtherSettingEachPacketPutsTheTimerOff() {
    var end = accessory(hold: 100, timer: .fromEach)
    end.receives(data(0x41))
    end.passes(60)
    end.receives(data(0x42))
    #expect(end.peer.core.deadline == .milliseconds(160))
    #expect(end.passes(1_000) == ["160 \(bare(0x42))"])
  }

  @Test func dataOnTheWayBackAcknowledgesAndStopsBoth() {
    var end = accessory(acks: 3)
    end.receives(data(0x41), data(0x42))
    end.peer.core.send(ControlMessage(MessageID(rawValue: 0x4E01)))
    #expect(end.says() == [Sheet.packet(0x40, 1, 0x42, session: 1, "404000064e01")])
    // The packet that was sent has not been acknowledged yet, but all received packets have been acknowledged.
    end.receives(Sheet.packet(0x40, 0x42, 1))
    #expect(end.peer.core.deadline == nil)
    // The count of unacknowledged received packets has also been reset.
    #expect(end.receives(data(0x43), data(0x44)) == [])
    #expect(end.receives(data(0x45)) == [bare(0x45, sequence: 1)])
  }

  @Test func aBareAckRepeatsTheLastNumberSent() {
    var end = accessory(acks: 1)
    for _ in 0..<3 { end.peer.core.send(ControlMessage(MessageID(rawValue: 0x4E01))) }
    #expect(end.says().count == 3)
    #expect(end.receives(data(0x41, ack: 3)) == [bare(0x41, sequence: 3)])
  }

  @Test func aPacketStillWaitingForTheWindowIsNotTheLastSent() {
    var end = OneEnd.accessory(answer: Sheet.parameters(window: 1, acks: 1))
    for _ in 0..<3 { end.peer.core.send(ControlMessage(MessageID(rawValue: 0x4E01))) }
    #expect(end.says().count == 1)
    #expect(end.receives(data(0x41)) == [bare(0x41, sequence: 1)])
  }

  @Test func theNumberOfABareAckIsNotJudged() {
    var end = accessory(acks: 1)
    // The three sequence numbers are the last one sent, the next unsent one, and a meaningless one.
    #expect(end.receives(bare(0, sequence: 0x40), bare(0, sequence: 0x41), bare(0, sequence: 0x99)) == [])
    #expect(end.receives(data(0x41)) == [bare(0x41)])
  }

  @Test func anAckBeyondWhatWasSentIsIgnored() {
    var end = accessory()
    for _ in 0..<2 { end.peer.core.send(ControlMessage(MessageID(rawValue: 0x4E01))) }
    let sent = end.says()
    end.receives(
      bare(3, sequence: 0x40), bare(0x90, sequence: 0x40), bare(0, sequence: 0x40), bare(255, sequence: 0x40))
    #expect(end.passes(2_000) == sent.map { "2000 \($0)" })
  }

  @Test func anAckWithoutItsBitIsNone() {
    var end = accessory()
    end.peer.core.send(ControlMessage(MessageID(rawValue: 0x4E01)))
    end.says()
    end.receives(Sheet.packet(0x00, 0x41, 1, session: 2, "000161"))
    #expect(end.passes(2_000).count == 2)
  }

  @Test func lengthTenWithAnEmptyPayloadCountsAsAHeaderAlone() {
    var end = accessory(acks: 1)
    end.peer.core.send(ControlMessage(MessageID(rawValue: 0x4E01)))
    end.says()
    // The packet acknowledges number 1. The packet's own sequence number is meaningless and must be ignored.
    #expect(end.receives("ff5a000a 40 99 01 02 c1 00") == [])
    #expect(end.peer.core.deadline == nil)
    #expect(end.receives(data(0x41)) == [bare(0x41, sequence: 1)])
  }
}
