import IAP2
import Testing

/// Tests a line whose rate is known. To avoid retransmitting packets that are merely late, neither side announces or
/// sends more at a time than the line carries in half the retransmission timeout.
@Suite struct SlowLineTests {
  private func device(lineRate: Int) -> OneEnd<DeviceRole> {
    var end = OneEnd.listening { $0.link.lineRate = lineRate }
    end.receives(Sheet.detection)
    return end
  }

  /// In half of a timeout of 2,000 ms, a slow line carries 7,500 bytes, enough for three packets of 2,048 bytes; in half
  /// of 10,000 ms, four packets of 9,375 bytes. The other values in the answer are those that the accessory offered.
  @Test(arguments: [
    (7_500, 2_000, 3, 2_048), (7_500, 10_000, 4, 9_375), (53_248_000, 2_000, 127, 65_535),
    (Int.max, 2_000, 127, 65_535),
  ])
  func aDeviceAnnouncesWhatTheLineCarriesInHalfTheOfferedTimeout(
    _ rate: Int, _ timeout: Int, _ window: Int, _ length: Int
  ) {
    var end = device(lineRate: rate)
    #expect(
      end.receives(Sheet.packet(0x80, 0, 0, Sheet.parameters(timeout: timeout)))
        == [Sheet.packet(0xC0, 0, 0, Sheet.parameters(window: window, length: length, timeout: timeout))])
  }

  @Test func aLinkWithoutAcknowledgementsIsAnsweredAsEver() {
    let zero = Sheet.parameters(window: 127, timeout: 0, hold: 0, repeats: 0, acks: 0)
    var end = device(lineRate: 7_500)
    #expect(end.receives(Sheet.packet(0x80, 0, 0, zero)) == [Sheet.packet(0xC0, 0, 0, zero)])
  }

  @Test func anAccessoryOffersNoMoreAcknowledgementsHeldBackThanPackets() {
    var settings = LinkSettings()
    settings.lineRate = 4_875
    settings.parameters.maximumCumulativeAcknowledgements = 3
    var end = OneEnd(AccessoryPeer(identification: .example, settings: settings))
    end.start()
    // The limit of 4,875 bytes allows two packets of 2,048 bytes.
    #expect(
      end.receives(Sheet.detection) == [Sheet.packet(0x80, 0, 0, Sheet.parameters(window: 2, length: 2_048, acks: 2))])
  }

  @Test func noMoreIsSentThanTheLineCarriesWhateverTheOtherEndTakes() {
    var end = OneEnd.accessory(answer: Sheet.parameters(window: 127, length: 65_535)) { $0.lineRate = 7_500 }
    end.opens(1, sequence: 0x41)
    end.passes(22)
    #expect(end.writes([UInt8](repeating: 7, count: 40_000), to: 1) == 40_000)
    let packets = end.says().map { $0.count / 2 }
    #expect(packets == [2_048, 2_048, 2_048])
    #expect(end.receives(Sheet.packet(0x40, 0x41, 1)).map { $0.count / 2 } == [2_048])
  }

  @Test func shortPacketsOfTheOtherEndAreCountedAsSuch() {
    var end = OneEnd.accessory(answer: Sheet.parameters(window: 127, length: 512)) { $0.lineRate = 7_500 }
    end.opens(1, sequence: 0x41)
    end.passes(22)
    #expect(end.writes([UInt8](repeating: 7, count: 40_000), to: 1) == 40_000)
    #expect(end.says().count == 14)
  }

  /// A certificate of 900 bytes, like any control message, is one packet.
  @Test func controlMessagesMayBeAsLongAsTheOtherEndTakes() {
    var end = OneEnd.accessory(answer: Sheet.parameters(window: 127, length: 65_535)) { $0.lineRate = 20 }
    end.peer.provideCertificate([UInt8](repeating: 0xCE, count: 4_000))
    #expect(end.says().map { $0.count / 2 } == [4_020])
  }
}
