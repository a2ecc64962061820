import IAP2
import Testing

/// Tests lines that lose the last bytes of a packet, and what happens to the bytes after that packet.
@Suite struct CutPacketTests {
  private func device() -> OneEnd<DeviceRole> {
    var end = OneEnd.device { $0.link.interByteTimeout = 200 }
    _ = end.told()
    return end
  }

  private static let certificate = Sheet.packet(
    0x40, 1, 1, session: 1, Sheet.message(0xAA01, Sheet.parameter(0, "cece")))

  @Test func aPacketThatIsCutOffDoesNotSwallowTheNext() {
    var end = device()
    end.receives(String(Self.certificate.prefix(24)))
    end.passes(200)
    end.receives(Self.certificate)
    #expect(end.told().contains(.certificateReceived([0xCE, 0xCE])))
  }

  /// The next packet has already arrived, and was mistaken for the rest of the truncated packet.
  @Test func whatFollowedTheCutIsReadAgain() {
    var end = device()
    let long = Sheet.packet(
      0x40, 1, 1, session: 1, Sheet.message(0xAA01, Sheet.parameter(0, String(repeating: "00", count: 200))))
    end.receives(String(long.prefix(40)))
    end.receives(Self.certificate)
    #expect(end.told() == [])
    end.passes(200)
    #expect(end.told().contains(.certificateReceived([0xCE, 0xCE])))
  }

  @Test func bytesThatComeOneAtATimeAreNotCutOff() {
    var end = device()
    for byte in Sheet.unhex(Self.certificate) {
      end.receives(bytes: [byte])
      end.passes(150)
    }
    #expect(end.told() == [.certificateReceived([0xCE, 0xCE])])
  }

  @Test func withoutTheSettingAPacketMayPauseForEver() {
    var end = OneEnd.device()
    _ = end.told()
    end.receives(String(Self.certificate.prefix(24)))
    end.passes(20_000)
    end.receives(String(Self.certificate.dropFirst(24)))
    #expect(end.told() == [.certificateReceived([0xCE, 0xCE])])
  }
}
