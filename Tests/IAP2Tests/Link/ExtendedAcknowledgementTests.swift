import IAP2
import Testing

/// Sources disagree about whether an EAK lists received or missing packets. easim allows for both interpretations of a
/// received EAK, because duplicate packets are harmless.
@Suite struct ExtendedAcknowledgementTests {
  private func waiting() -> OneEnd<AccessoryRole> {
    var end = OneEnd.accessory()
    for _ in 0..<4 { end.peer.core.send(ControlMessage(MessageID(rawValue: 0x4E01))) }
    end.says()
    return end
  }

  private func message(_ sequence: UInt8) -> String {
    Sheet.packet(0x40, sequence, 0x40, session: 1, "404000064e01")
  }

  @Test(arguments: [UInt8(0x60), 0x20])
  func everythingUpToTheHighestNumberNamedIsSentAgain(_ control: UInt8) {
    // This EAK can mean that packet 3 was received out of order and packets 1 and 2 are missing, or that only packet 3
    // is missing.
    var end = waiting()
    #expect(end.receives(Sheet.packet(control, 0x40, 0, "03")) == [message(1), message(2), message(3)])
    #expect(end.peer.core.counters.hastened == 3)
  }

  @Test func theAckInItCountsFirst() {
    var end = waiting()
    #expect(end.receives(Sheet.packet(0x60, 0x40, 1, "03")) == [message(2), message(3)])
    // If the ACK bit is not set, the acknowledgement number in the packet has no meaning.
    var other = waiting()
    #expect(other.receives(Sheet.packet(0x20, 0x40, 1, "02")) == [message(1), message(2)])
  }

  @Test func numbersThatAreNotInFlightMeanNothing() {
    var end = waiting()
    #expect(end.receives(Sheet.packet(0x60, 0x40, 0, "0005ff80")) == [])
    #expect(end.receives(Sheet.packet(0x60, 0x40, 0)) == [])
  }

  @Test func aBurstOfListsRepeatsEachPacketOncePerTimeout() {
    var end = waiting()
    #expect(end.receives(Sheet.packet(0x60, 0x40, 0, "02")).count == 2)
    #expect(end.receives(Sheet.packet(0x60, 0x40, 0, "02"), Sheet.packet(0x60, 0x40, 0, "0102")) == [])
    #expect(end.receives(Sheet.packet(0x60, 0x40, 0, "03")) == [message(3)])
    #expect(end.passes(2_000).count == 4)
    #expect(end.receives(Sheet.packet(0x60, 0x40, 0, "02")).count == 2)
  }

  @Test func whatWasSentAgainAndThenAcknowledgedIsNotSentAThirdTime() {
    var end = waiting()
    let bytes = Sheet.unhex(Sheet.packet(0x60, 0x40, 0, "03") + Sheet.packet(0x40, 0x40, 4))
    #expect(end.receives(bytes: bytes) == [])
    #expect(end.peer.core.deadline == nil)
    #expect(end.passes(100_000) == [])
  }

  /// The shortest packets allowed have room for 14 sequence numbers.
  @Test(arguments: [LinkSettings.ExtendedAcknowledgement.received, .missing])
  func theListIsNoLongerThanThePacketsThatTheOtherEndTakes(_ meaning: LinkSettings.ExtendedAcknowledgement) {
    var end = OneEnd.device(offer: Sheet.parameters(length: 24)) { $0.link.extendedAcknowledgement = meaning }
    var lists: [[UInt8]] = []
    // Packets 1 to 29 never arrive.
    for number: UInt8 in 30...60 {
      lists += end.receives(Sheet.packet(0x40, number, 1, session: 1, "404000064e01")).map(Sheet.unhex)
    }
    #expect(lists.count == 31)
    #expect(lists.allSatisfy { $0[4] == 0x60 && $0.count <= 24 })
    #expect(lists.last.map { Array($0[9..<23]) } == Array(meaning == .received ? 30...43 : 1...14))
  }
}
