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

  @Test func theOrderOfTheListDoesNotMatter() {
    var end = waiting()
    #expect(end.receives(Sheet.packet(0x60, 0x40, 0, "0201")) == [message(1), message(2)])
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

  @Test func theDeviceTakesThemToo() {
    var end = OneEnd.device()
    #expect(end.receives(Sheet.packet(0x60, 0, 0, "01")) == [Sheet.packet(0x40, 1, 0, session: 1, "40400006aa00")])
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

  /// The accessory fills the gap without waiting for a timeout, whichever form of EAK the device uses.
  @Test(arguments: [LinkSettings.ExtendedAcknowledgement.received, .missing])
  func aGapIsRepairedAtOnceInEitherMeaning(_ meaning: LinkSettings.ExtendedAcknowledgement) {
    var device = OneEnd.readyDevice { $0.link.extendedAcknowledgement = meaning }
    #expect(device.peer.openSession(protocolNamed: "com.example.echo", now: device.now) == .link(1))
    device.says()
    var accessory = OneEnd.accessory(device: 0x40)
    accessory.opens(1, sequence: 0x41)
    accessory.passes(100)
    var packets: [String] = []
    for byte: UInt8 in 1...3 {
      #expect(accessory.writes([byte], to: 1) == 1)
      packets += accessory.says()
    }
    // The device has received 3 packets from the accessory so far, so the next ones are packets 4, 5 and 6. Packet 4 is
    // lost.
    let renumbered = (0..<3).map { index in Sheet.packet(0x40, UInt8(4 + index), 5, session: 2, "00010\(index + 1)") }
    var lists: [String] = device.receives(renumbered[1])
    lists += device.receives(renumbered[2])
    #expect(lists.count == 2)
    #expect(lists.allSatisfy { $0.hasPrefix("ff5a000") && Sheet.unhex($0)[4] == 0x60 })
    let listed = Sheet.unhex(lists[1])
    #expect(Array(listed[9..<listed.count - 1]) == (meaning == .received ? [5, 6] : [4]))
    // When the list is converted to the accessory's sequence numbers, it makes the accessory retransmit the missing
    // packet.
    let own = listed[9..<listed.count - 1].map { $0 - 3 }
    let again = accessory.receives(Sheet.packet(0x60, 0x41, 0, Sheet.hex(own)))
    #expect(again.first == packets[0])
    device.receives(renumbered[0])
    #expect(device.reads(1) == [1, 2, 3])
  }
}
