import IAP2
import Testing

/// Tests received packets that are next in sequence, duplicated, out of order, outside the window, damaged, or for an
/// undeclared session.
@Suite struct ReceivingTests {
  private func accessory(
    window: UInt8 = 8, _ change: (inout LinkSettings) -> Void = { _ in }
  ) -> OneEnd<AccessoryRole> {
    OneEnd.accessory {
      $0.parameters.maximumOutstandingPackets = window
      change(&$0)
    }
  }

  /// Returns a packet whose message no code handles, so its delivery is reported as an event.
  private func packet(_ sequence: UInt8) -> String {
    Sheet.packet(0x40, sequence, 0, session: 1, Sheet.message(UInt16(sequence)))
  }

  private func delivered(_ numbers: UInt8...) -> [PeerEvent] {
    numbers.map { .message(ControlMessage(MessageID(rawValue: UInt16($0)))) }
  }

  private func bare(_ ack: UInt8) -> String { Sheet.packet(0x40, 0, ack) }

  // MARK: Duplicates

  @Test func aDuplicateIsDroppedAndAcknowledgedAtOnce() {
    var end = accessory()
    end.receives(packet(0x41), packet(0x42))
    _ = end.told()
    #expect(end.receives(packet(0x42)) == [bare(0x42)])
    #expect(end.receives(packet(0x41)) == [bare(0x42)])
    #expect(end.told() == [])
    #expect(end.peer.core.counters.duplicates == 2)
  }

  @Test func whatLiesFurtherBehindIsADuplicateToo() {
    var end = accessory()
    #expect(end.receives(packet(0x40 &- 60)) == [bare(0x40)])
    #expect(end.receives(packet(0x40 &- 128)) == [bare(0x40)])
    #expect(end.peer.core.counters.duplicates == 2)
  }

  // MARK: Ahead

  @Test func aPacketAheadOfAGapIsKeptAndDeliveredInItsTurn() {
    var end = accessory()
    #expect(end.receives(packet(0x43)) == [])
    #expect(end.receives(packet(0x42)) == [])
    #expect(end.told() == [])
    #expect(end.receives(packet(0x41)) == [bare(0x43)])
    #expect(end.told() == delivered(0x41, 0x42, 0x43))
    #expect(end.receives(packet(0x44)) == [])
    #expect(end.told() == delivered(0x44))
  }

  @Test func byTheOtherSettingItIsDroppedAndWaitedFor() {
    var end = accessory { $0.keepsPacketsAheadOfGap = false }
    #expect(end.receives(packet(0x42)) == [])
    #expect(end.receives(packet(0x41)) == [])
    #expect(end.told() == delivered(0x41))
    #expect(end.receives(packet(0x42)) == [])
    #expect(end.told() == delivered(0x42))
    #expect(end.peer.core.counters.ahead == 1)
  }

  @Test func theLastOfTheWindowIsKeptAndTheOneBehindItIsNot() {
    var end = accessory(window: 8)
    #expect(end.receives(packet(0x48)) == [])
    #expect(end.peer.core.counters.ahead == 1)
    #expect(end.receives(packet(0x49)) == [bare(0x40)])
    #expect(end.peer.core.counters.outside == 1)
    #expect(end.receives(packet(0x40 &+ 127)) == [bare(0x40)])
    #expect(end.peer.core.counters.outside == 2)
    for sequence: UInt8 in 0x41...0x47 { end.receives(packet(sequence)) }
    #expect(end.told().count == 8)
  }

  @Test func whatWasKeptIsForgottenWithTheLink() {
    var end = accessory()
    end.receives(packet(0x42))
    end.receives(Sheet.packet(0x10, 0x40, 0))
    end.receives(Sheet.packet(0xC0, 0x40, 1, Sheet.parameters(window: 127)))
    _ = end.told()
    end.receives(packet(0x41))
    #expect(end.told() == delivered(0x41))
  }

  // MARK: Extended acknowledgements sent

  @Test func whatCameOutOfOrderIsListedInOrder() {
    var end = accessory { $0.extendedAcknowledgement = .received }
    #expect(end.receives(packet(0x45)) == [Sheet.packet(0x60, 0, 0x40, "45")])
    #expect(end.receives(packet(0x43)) == [Sheet.packet(0x60, 0, 0x40, "4345")])
    // The packet contains nothing new, so there is no answer.
    #expect(end.receives(packet(0x43)) == [])
  }

  @Test func byTheOtherMeaningWhatIsMissingIsListed() {
    var end = accessory { $0.extendedAcknowledgement = .missing }
    #expect(end.receives(packet(0x43)) == [Sheet.packet(0x60, 0, 0x40, "4142")])
    #expect(end.receives(packet(0x45)) == [Sheet.packet(0x60, 0, 0x40, "414244")])
  }

  @Test func theListGoesRoundWithTheNumbers() {
    var end = OneEnd.accessory(device: 0xFD) { $0.extendedAcknowledgement = .missing }
    #expect(end.receives(packet(0x02)) == [Sheet.packet(0x60, 0, 0xFD, "feff0001")])
  }

  @Test func aGapThatFillsInTheSameReadNeedsNoList() {
    var end = accessory { $0.extendedAcknowledgement = .received }
    #expect(end.receives(packet(0x42), packet(0x41)) == [bare(0x42)])
  }

  // MARK: Packets that are damaged or for an undeclared session

  @Test func aSpoiledPacketIsNeitherDeliveredNorAcknowledged() {
    var end = accessory { $0.parameters.maximumCumulativeAcknowledgements = 1 }
    var bytes = Sheet.unhex(packet(0x41))
    bytes[bytes.count - 1] ^= 1
    #expect(end.receives(bytes: bytes) == [])
    #expect(end.told() == [])
    #expect(end.peer.core.counters.spoiled == 1)
    #expect(end.peer.core.deadline == nil)
    #expect(end.receives(packet(0x41)) == [bare(0x41)])
    #expect(end.told() == delivered(0x41))
  }

  /// Session 0 belongs to the link itself and carries no data.
  @Test(arguments: [UInt8(0), 9])
  func aPacketOfAnUnknownSessionIsDroppedAcknowledgedAndShown(_ session: UInt8) {
    var end = accessory { $0.parameters.maximumCumulativeAcknowledgements = 1 }
    #expect(end.receives(Sheet.packet(0x40, 0x41, 0, session: session, "c0ffee")) == [bare(0x41)])
    #expect(
      end.told() == [.malformed("3 bytes arrived for link session \(session), which was not declared: c0 ff ee")])
  }

  @Test func aPacketOfAFileTransferIsAcknowledgedAndSurfaced() {
    var end = accessory {
      $0.parameters.maximumCumulativeAcknowledgements = 1
      $0.parameters.sessions.append(LinkSession(id: 3, kind: .fileTransfer, version: 2))
    }
    #expect(end.receives(Sheet.packet(0x40, 0x41, 0, session: 3, "80c0010203")) == [bare(0x41)])
    #expect(end.told() == [.fileTransfer([0x80, 0xC0, 1, 2, 3])])
  }

  @Test func theLowThreeControlBitsAreNotJudged() {
    var end = accessory { $0.parameters.maximumCumulativeAcknowledgements = 1 }
    #expect(end.receives(Sheet.packet(0x47, 0x41, 0, session: 1, Sheet.message(0x41))) == [bare(0x41)])
    #expect(end.told() == delivered(0x41))
  }

  @Test func aPacketLongerThanAnnouncedIsSteppedOver() {
    var end = accessory { $0.parameters.maximumPacketLength = 200 }
    end.receives(Sheet.packet(0x40, 0x41, 0, session: 1, String(repeating: "00", count: 191)))
    end.receives(packet(0x41))
    let told = end.told()
    #expect(told.count == 2)
    #expect(told.last == delivered(0x41)[0])
    #expect(end.peer.core.counters.skippedBytes == 201)
  }
}
