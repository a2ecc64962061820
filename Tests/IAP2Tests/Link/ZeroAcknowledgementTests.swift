import IAP2
import Testing

@Suite struct ZeroAcknowledgementTests {
  private static let zero = Sheet.parameters(window: 127, timeout: 0, hold: 0, repeats: 0, acks: 0)

  private static var offer: LinkSettings {
    var settings = LinkSettings(parameters: LinkParameters(maximumOutstandingPackets: 127).withoutAcknowledgements)
    settings.fallbackParameters = LinkParameters()
    return settings
  }

  @Test func theAccessoryOffersZerosAndAcknowledgesTheAgreementOnce() {
    var end = OneEnd(AccessoryPeer(identification: .example, settings: Self.offer))
    end.start()
    #expect(end.receives(Sheet.detection) == [Sheet.packet(0x80, 0, 0, Self.zero)])
    #expect(end.receives(Sheet.packet(0xC0, 0x40, 0, Self.zero)) == [Sheet.packet(0x40, 0, 0x40)])
    #expect(end.peer.core.deadline == nil)
  }

  @Test func nothingIsEverAcknowledgedByAPacketOfItsOwn() {
    var end = OneEnd.accessory { $0 = Self.offer }
    for sequence: UInt8 in 0x41...0xF0 {
      #expect(end.receives(Sheet.packet(0x40, sequence, 0, session: 1, Sheet.message(0x4E09))) == [])
    }
    #expect(end.peer.core.deadline == nil)
    #expect(end.passes(1_000_000) == [])
    #expect(end.told().count == 0xF0 - 0x40)
  }

  @Test func neitherAWindowNorARepetitionHoldsAnythingUp() {
    var end = OneEnd.device(offer: Self.zero)
    _ = end.told()
    for _ in 0..<300 { end.peer.core.send(ControlMessage(.deviceLanguageUpdate) { $0.text(0, "en") }) }
    let sent = end.says()
    #expect(sent.count == 300)
    #expect(sent.first == Sheet.packet(0x40, 2, 0, session: 1, "4040000d4e0a00070000656e00"))
    // AA00 had sequence number 1, and the first of these packets has number 2, so the 255th has number 0.
    #expect(sent[254] == Sheet.packet(0x40, 0, 0, session: 1, "4040000d4e0a00070000656e00"))
    #expect(end.peer.core.isLinkUp == true)
    #expect(end.passes(20_000) == [])
  }

  @Test func aBareAckOnSuchALinkIsNoMatter() {
    var end = OneEnd.device(offer: Self.zero)
    _ = end.told()
    #expect(end.receives(Sheet.packet(0x40, 0, 1), Sheet.packet(0x60, 0, 1, "0102")) == [])
    #expect(end.told() == [])
    #expect(end.peer.core.isLinkUp == true)
  }

  @Test func aDeviceThatDeclinesGetsASecondOfferWithNormalValues() {
    var end = OneEnd(AccessoryPeer(identification: .example, settings: Self.offer))
    end.start()
    end.receives(Sheet.detection)
    #expect(
      end.receives(Sheet.packet(0xC0, 0x40, 0, Sheet.parameters(window: 127, timeout: 1500, hold: 73)))
        == [Sheet.packet(0x80, 1, 0, Sheet.parameters())])
    #expect(end.peer.core.isLinkUp == false)
    #expect(
      end.receives(Sheet.packet(0xC0, 0x41, 1, Sheet.parameters(window: 127))) == [Sheet.packet(0x40, 1, 0x41)])
    #expect(end.peer.core.isLinkUp == true)
  }

  @Test func aFallbackThatAlsoAsksForZerosIsNotOfferedForEver() {
    var end = OneEnd.detected {
      $0 = Self.offer
      $0.fallbackParameters = $0.parameters
    }
    #expect(end.receives(Sheet.packet(0xC0, 0x40, 0, Sheet.parameters(window: 127))) == [Sheet.packet(0x40, 0, 0x40)])
  }

  @Test func withoutAFallbackTheDevicesValuesAreTaken() {
    var end = OneEnd.detected {
      $0 = Self.offer
      $0.fallbackParameters = nil
    }
    #expect(end.receives(Sheet.packet(0xC0, 0x40, 0, Sheet.parameters(window: 127))) == [Sheet.packet(0x40, 0, 0x40)])
    // An acknowledgement is sent after every three packets, so this is an ordinary link.
    let data = (0x41...0x43).map { Sheet.packet(0x40, $0, 0, session: 2, "000161") }
    #expect(end.receives(data[0], data[1], data[2]) == [Sheet.packet(0x40, 0, 0x43)])
  }

  @Test func aSpoiledPacketIsToldBecauseItWillNotComeAgain() {
    var end = OneEnd.accessory { $0 = Self.offer }
    var packet = Sheet.bytes(0x40, 0x41, 0, session: 2, [0, 1, 0x61])
    packet[11] ^= 1
    end.receives(bytes: packet)
    guard case .malformed(let text)? = end.told().first else {
      Issue.record("the loss is told")
      return
    }
    #expect(
      text
        == "a packet of 3 bytes for link session 2 has a wrong checksum, and this link does not retransmit packets: 00 "
        + "01 60"
    )
  }

  @Test func aWriterThatFoundNoRoomIsToldOnceItsBytesHaveGone() {
    var end = OneEnd.readyDevice(offer: Self.zero) { $0.link.sessionSendBound = 100 }
    #expect(end.peer.openSession(protocolNamed: "com.example.echo", now: end.now) == .link(1))
    #expect(end.writes([UInt8](repeating: 7, count: 250), to: 1) == 100)
    #expect(end.says().count == 2)
    #expect(end.peer.core.unacknowledged(1) == 0)
    // The peer sets an immediate deadline, because no packet will arrive that could trigger the notification that there
    // is room.
    #expect(end.peer.core.deadline == end.now)
    end.passes(0)
    #expect(end.told() == [.sessionWritable(1)])
    #expect(end.peer.core.deadline == nil)
  }
}
