import AccessoryCore
import Testing

@testable import AccessoryBluetooth

@Suite struct BluetoothObjectsTests {
  private let path = "/org/bluez/hci0/dev_00_AA_01_00_00_01"

  private func objects(paired: Bool = false) -> [BusValue] {
    let device: BusValue = .properties([
      "Alias": .string("glasses"), "Paired": .bool(paired),
      "UUIDs": .array(of: "s", [.string("00000000-DECA-FADE-DECA-DEAFDECACAFF")]),
    ])
    let adapter: BusValue = .properties(["Address": .string("00:AA:01:00:00:00"), "Powered": .bool(true)])
    return [
      .array(
        of: "{oa{sa{sv}}}",
        [
          .entry(
            .objectPath("/org/bluez/hci0"),
            .array(of: "{sa{sv}}", [.entry(.string("org.bluez.Adapter1"), adapter)])),
          .entry(.objectPath(path), .array(of: "{sa{sv}}", [.entry(.string("org.bluez.Device1"), device)])),
        ])
    ]
  }

  private func changed(_ properties: [String: BusValue], dropped: [String] = []) -> BusSignal {
    BusSignal(
      path: path, member: "PropertiesChanged",
      values: [
        .string("org.bluez.Device1"), .properties(properties), .array(of: "s", dropped.map { .string($0) }),
      ])
  }

  @Test func whatIsThereIsReportedOnce() throws {
    var state = BluetoothObjects()
    let changes = state.replace(with: objects(paired: true))
    guard changes.count == 2, case .adapter(let adapter) = changes[0], case .deviceFound(let device) = changes[1] else {
      Issue.record("\(changes)")
      return
    }
    #expect(adapter.name == "hci0" && adapter.isPowered)
    #expect(device.isAccessory && device.isPaired && device.title == "glasses" && device.adapter == "hci0")
    #expect(device.address == BluetoothDeviceAddress("00:aa:01:00:00:01"))
  }

  @Test func aChangeBeforeTheDeviceIsAddedIsIgnored() {
    var state = BluetoothObjects()
    #expect(state.handle(changed(["Paired": .bool(true)])) == [])
  }

  @Test func aChangeThatChangesNothingIsNotReported() {
    var state = BluetoothObjects()
    _ = state.replace(with: objects())
    #expect(state.handle(changed(["Alias": .string("glasses")])) == [])
    #expect(state.handle(changed(["Icon": .string("audio")])) == [])
  }

  @Test func aSignalThatHasGoneIsForgotten() {
    var state = BluetoothObjects()
    _ = state.replace(with: objects())
    _ = state.handle(changed(["RSSI": .integer(-60, "n")]))
    #expect(state.devices[path]?.signal == -60)
    _ = state.handle(changed([:], dropped: ["RSSI"]))
    #expect(state.devices[path]?.signal == nil)
  }

  @Test func aRemovalOfSomethingUnknownIsIgnored() {
    var state = BluetoothObjects()
    let signal = BusSignal(
      path: "/", member: "InterfacesRemoved",
      values: [.objectPath(path), .array(of: "s", [.string("org.bluez.Device1")])])
    #expect(state.handle(signal) == [])
  }

  @Test func aRestartReportsWhatIsGone() {
    var state = BluetoothObjects()
    _ = state.replace(with: objects())
    let changes = state.replace(with: [])
    guard changes.count == 2, case .deviceGone = changes[0], case .adapterGone = changes[1] else {
      Issue.record("\(changes)")
      return
    }
  }

  @Test(arguments: [
    [], [BusValue.string("x")], [.objectPath("/"), .string("x")], [.uint32(1), .uint32(2), .uint32(3)],
  ]) func signalsOfAnotherShapeAreIgnored(_ values: [BusValue]) {
    var state = BluetoothObjects()
    for member in ["InterfacesAdded", "InterfacesRemoved", "PropertiesChanged", "Other"] {
      #expect(state.handle(BusSignal(path: path, member: member, values: values)) == [])
    }
  }
}

@Suite struct BluetoothErrorTests {
  @Test(arguments: [
    ("org.freedesktop.DBus.Error.ServiceUnknown", "", BluetoothError.noService),
    ("org.freedesktop.DBus.Error.AccessDenied", "", .notPermitted("use BlueZ")),
    ("org.bluez.Error.NotPermitted", "UUID already registered", .serviceTaken),
    ("org.bluez.Error.NotReady", "Resource Not Ready", .adapterOff("hci1")),
    ("org.bluez.Error.ConnectionAttemptFailed", "Page Timeout", .outOfRange),
    ("org.bluez.Error.AuthenticationRejected", "", .refused("it rejected the pairing")),
    ("org.bluez.Error.AuthenticationTimeout", "", .timedOut),
    ("org.bluez.Error.Failed", "Input/output error", .failed("Input/output error")),
    ("org.example.Odd", "", .failed("org.example.Odd")),
  ]) func errorsOfBlueZHaveAMeaning(_ name: String, _ message: String, _ meaning: BluetoothError) {
    #expect(BluetoothError(BusError.remote(name: name, message: message), adapter: "hci1") == meaning)
  }

  /// If the service is already installed, the user only needs to start it with the machine's service manager.
  @Test func aServiceIsInstalledOnlyWhereItIsMissing() {
    #expect(SystemService.bus.start { _ in false } == "sudo apt-get install dbus && sudo service dbus start")
    #expect(SystemService.bus.start { $0.hasSuffix("/dbus-daemon") } == "sudo service dbus start")
    #expect(
      SystemService.bluetooth.start { $0 == "/run/systemd/system" }
        == "sudo apt-get install bluez && sudo systemctl start bluetooth")
    #expect(SystemService.bluetooth.start { _ in true } == "sudo systemctl start bluetooth")
    for error in [BluetoothError.noBus("why"), .noService, .noLibrary("why")] {
      #expect(error.description.hasSuffix(error.remedy ?? "nothing"))
    }
  }

  @Test func whatCanBeFixedSaysHow() {
    #expect(
      "\(BluetoothError.adapterOff("hci0"))"
        == "the Bluetooth adapter hci0 is off; turn it on: bluetoothctl power on (if that fails: rfkill unblock "
        + "bluetooth)"
    )
    #expect(
      "\(BluetoothError.notPaired("00:AA:01:00:00:01"))"
        == "the device is not paired with this machine; pair it: easim pair bt:00:AA:01:00:00:01")
  }
}
