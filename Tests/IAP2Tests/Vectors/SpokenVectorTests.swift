import IAP2
import Testing

/// Puts easim's peers into the same situations as in captures, and checks that they send exactly the captured bytes.
@Suite struct SpokenVectorTests {
  @Test(arguments: LinkVector.synchronizations.filter { $0.header.control == .syn && $0.header.acknowledgement == 0 })
  func anAccessoryWithTheseParametersOffersThem(_ vector: LinkVector) throws {
    let payload = Array(vector.bytes[9..<vector.bytes.count - 1])
    var settings = LinkSettings(parameters: try LinkParameters(reading: payload.span.bytes))
    settings.initialSequence = vector.header.sequence
    var end = OneEnd(AccessoryPeer(identification: .example, settings: settings))
    end.start()
    #expect(end.receives(Sheet.detection) == [Sheet.hex(vector.bytes)])
  }

  /// V05 is BOYA's SYN, V07 is BOYA's acknowledgement, and V08 is a packet that the host sends to BOYA.
  @Test func v08IsWhatADeviceSaysToBoya() {
    var end = OneEnd.listening {
      $0.link.initialSequence = 0x40
      $0.order = .identificationFirst
    }
    let answer = end.receives("ff5a001a80011000fc01050400138800ff1e0301000102020134")
    // The SYN equals V06 except for the window and the length. For the window and the length, a device announces its
    // own values, 7F and FFFF.
    #expect(
      answer == [Sheet.packet(0xC0, 0x40, 0x01, "01 7f ffff 1388 00ff 1e 03 010001 020201")])
    #expect(end.receives("ff5a0009400140001d") == ["ff5a00104041010114404000061d005d"])
  }

  @Test func v07IsHowBoyaAcknowledges() throws {
    let offer = try LinkParameters(reading: Sheet.unhex("01050400138800ff1e03010001020201").span.bytes)
    var end = OneEnd.detected {
      $0 = LinkSettings(parameters: offer)
      $0.initialSequence = 1
    }
    // In V06, the host repeats the accessory's own values.
    #expect(end.receives("ff5a001ac04001008c01050400138800ff1e0301000102020134") == ["ff5a0009400140001d"])
    #expect(end.peer.core.isLinkUp == true)
  }

  @Test func v19IsHowADeviceBeginsAuthentication() {
    var end = OneEnd.listening { $0.link.initialSequence = 0x4C }
    end.receives(Sheet.packet(0x80, 0, 0, Sheet.parameters()))
    #expect(end.receives(Sheet.packet(0x40, 0, 0x4C)) == ["ff5a0010404d00010940400006aa00d0"])
  }

  @Test func d7IsHowADeviceAgreesToALinkWithoutAcknowledgements() {
    var end = OneEnd.listening {
      $0.link.initialSequence = 0x10
      $0.link.parameters.maximumOutstandingPackets = 32
    }
    let offer = Sheet.parameters(window: 127, timeout: 0, hold: 0, repeats: 0, acks: 0, sessions: "010001 020101")
    #expect(
      end.receives(Sheet.packet(0x80, 0x63, 0, offer)) == ["ff5a001ac01063005a0120ffff000000000000010001020101db"])
  }
}
