import IAP2
import Testing

/// Compares the messages that a device sends, unsolicited and as answers, with bytes written by hand.
@Suite struct DeviceUpdateTests {
  func message(_ hex: String) -> ControlMessage {
    let bytes = (try? Hex.parse(hex)) ?? []
    return ControlMessage(MessageID(rawValue: UInt16(bytes[4]) << 8 | UInt16(bytes[5])), body: Array(bytes[6...]))
  }

  @Test func languageIsTheCapturedMessageM04() throws {
    let captured = message("4040000d4e0a00070000656e00")
    #expect(try DeviceUpdate(captured) == .language("en"))
    #expect(DeviceUpdate.language("en").message == captured)
  }

  @Test func timeIsTheCapturedMessageM06() throws {
    let captured = message("4040001d4e0b000c00000000000069f6bc7100060001fe98000500023c")
    let news = DeviceUpdate.time(seconds: 0x69F6_BC71, zoneMinutes: -360, daylightMinutes: 60)
    #expect(try DeviceUpdate(captured) == news)
    #expect(news.message == captured)
  }

  @Test func powerAnswersOnlyWhatWasAskedFor() throws {
    let subscription = try #require(try PowerSubscription(message("4040000eae000004000000040006")))
    #expect(subscription == PowerSubscription([0, 6]))
    var power = PowerUpdate()
    power.maximumCurrentDrawn = 500
    power.charging = .full
    power.batteryPercent = 80
    #expect(
      power.selecting(subscription.parameters).message == message("40400012ae0100060000" + "01f4" + "00060006" + "0050")
    )
  }

  @Test func aPowerSourceAndAnAppLaunchReadBackAsWritten() throws {
    #expect(
      try PowerSource(message("40400011ae030006000005dc0005000101"))
        == PowerSource(availableCurrent: 1500, shouldCharge: true))
    #expect(
      try AppLaunchRequest(message("40400015ea02000a0000" + "636f6d2e6100" + "0005000101"))
        == AppLaunchRequest(bundleID: "com.a", withAlert: false))
  }

  @Test func aDeviceTellsWhatTheAccessoryListed() {
    var identification = Identification.example
    identification.messagesReceived += [.deviceLanguageUpdate, .deviceUUIDUpdate]
    var wire = Wire(identification: identification)
    wire.start()
    let told = wire.accessoryEvents.compactMap { event -> DeviceUpdate? in
      if case .deviceUpdate(let news) = event { news } else { nil }
    }
    #expect(told == [.uuid("00000000-0000-4000-8000-00000000EA51"), .language("en")])
  }

  @Test func textWithoutItsZeroByteIsToldAsMalformed() throws {
    #expect(throws: ParameterError.self) { try DeviceUpdate(message("4040000c4e0a00060000656e")) }
  }
}
