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

  @Test func aDeviceAnnouncesWhatTheLineCarriesInHalfTheOfferedTimeout() {
    var end = device(lineRate: 7_500)
    // In half of the 2,000 ms timeout, the line carries 7,500 bytes, enough for three packets of 2,048 bytes. As usual,
    // the other values in the answer are those that the accessory offered.
    #expect(
      end.receives(Sheet.packet(0x80, 0, 0, Sheet.parameters(timeout: 2_000)))
        == [Sheet.packet(0xC0, 0, 0, Sheet.parameters(window: 3, length: 2_048, timeout: 2_000))])
  }

  @Test func aTimeoutThatIsLongLeavesRoomForMore() {
    var end = device(lineRate: 7_500)
    // The limit of 37,500 bytes allows four packets of 9,375 bytes.
    #expect(
      end.receives(Sheet.packet(0x80, 0, 0, Sheet.parameters(timeout: 10_000)))
        == [Sheet.packet(0xC0, 0, 0, Sheet.parameters(window: 4, length: 9_375, timeout: 10_000))])
  }

  @Test(arguments: [53_248_000, Int.max]) func aFastLineTakesWhatItAlwaysTook(rate: Int) {
    var end = device(lineRate: rate)
    #expect(
      end.receives(Sheet.packet(0x80, 0, 0, Sheet.parameters()))
        == [Sheet.packet(0xC0, 0, 0, Sheet.parameters(window: 127, length: 65_535))])
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
