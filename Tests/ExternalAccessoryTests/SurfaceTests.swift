import ExternalAccessory
import ExternalAccessorySimulation
import Testing

@Suite struct SurfaceTests {
  @Test func literalValuesAreApples() {
    #expect(EAConnectionIDNone == 0)
    #expect(Notification.Name.EAAccessoryDidConnect.rawValue == "EAAccessoryDidConnectNotification")
    #expect(Notification.Name.EAAccessoryDidDisconnect.rawValue == "EAAccessoryDidDisconnectNotification")
    #expect(EAAccessoryKey == "EAAccessoryKey")
    #expect(EAAccessorySelectedKey == "EAAccessorySelectedKey")
    #expect(EABluetoothAccessoryPickerErrorDomain == "EABluetoothAccessoryPickerErrorDomain")
    #expect(EABluetoothAccessoryPickerError.Code.resultFailed.rawValue == 3)
    #expect(EAWiFiUnconfiguredAccessoryBrowserState.configuring.rawValue == 3)
    #expect(EAWiFiUnconfiguredAccessoryConfigurationStatus.failed.rawValue == 2)
    #expect(EAWiFiUnconfiguredAccessoryProperties.propertySupportsHomeKit.rawValue == 4)
  }

  @Test func objectsThatOnlyTheSystemMakesTrapAsApplesThrow() async {
    await #expect(processExitsWith: .failure) { _ = EAAccessory() }
    await #expect(processExitsWith: .failure) { _ = EAAccessoryManager() }
    await #expect(processExitsWith: .failure) { _ = EASession() }
  }

  @Test(arguments: SimulatedWorld.Settings.DescriptionLayout.allCases)
  func theDescriptionHasApplesLayoutOfEachGeneration(layout: SimulatedWorld.Settings.DescriptionLayout) async throws {
    try await withSimulatedWorld(.with { $0.layout = layout }) { world in
      let simulated = try await world.plugIn("lawk-view")
      let accessory = try #require(manager.connectedAccessories.first)
      let text = accessory.description
      #expect(text.hasPrefix("<EAAccessory: 0x"))
      #expect(
        text.contains("> { \n  connected:YES \n  connectionID:\(accessory.connectionID) \n  name: 李未可 View AI眼镜 \n"))
      #expect(
        text.contains("  certSerial: 16 bytes \n  certData: 607 bytes \n  protocols: (\n    \"com.lawaken.iap2\"\n) \n")
      )
      #expect(text.contains("  regioncode: (null) \n") == (layout != .a))
      #expect(text.contains("  delegate: (null) \n") == (layout != .c))
      #expect(text.hasSuffix("}"))
      final class Delegate: NSObject, EAAccessoryDelegate { override var description: String { "<Delegate: 0x1>" } }
      let delegate = Delegate()
      accessory.delegate = delegate
      #expect(accessory.description.contains("  delegate: <Delegate: 0x1> \n") == (layout != .c))
      #expect(accessory.debugDescription == accessory.description)
      await world.unplug(simulated)
      #expect(
        accessory.description.contains("> { \n  connected:NO \n  connectionID:\(accessory.connectionID) \n"))
    }
  }
}
