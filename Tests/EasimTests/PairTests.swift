import TestSupport
import Testing

/// Tests `easim pair` and `easim unpair` on a machine without Bluetooth. The kernel lane tests the pairing itself.
@Suite(.waits) struct PairTests {
  private func easim(_ words: [String]) throws -> Program.Remains {
    try Program(
      path: BuiltProducts.easim, words, environment: ["DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nonexistent/bus"]
    ).wait()
  }

  @Test(arguments: [
    ["pair"], ["pair", "bt:hci1"], ["pair", "bt:00:AA:01:00:00:42"], ["unpair", "bt:00:AA:01:00:00:42"],
  ])
  func withoutABusItSaysSoAtOnceWithTheCommandThatHelps(words: [String]) throws {
    let remains = try easim(words)
    #expect(remains.ending == .exit(3))
    #expect(remains.err.contains("there is no D-Bus system bus") && remains.err.contains("start D-Bus: sudo "))
  }

  @Test func withoutItsLibraryItSaysWhatToInstall() throws {
    let place = TemporaryFolder()
    _ = place.write("", to: "libsystemd.so.0")
    let end = try Program(path: BuiltProducts.easim, ["pair"], environment: ["LD_LIBRARY_PATH": place.path]).wait()
    #expect(end.ending == .exit(3))
    #expect(end.err.contains("libsystemd, which cannot be loaded"))
    #expect(end.err.contains("apt-get install --reinstall libsystemd0"))
  }

  @Test(arguments: [
    (["pair", "usb:"], "usb: is not on Bluetooth"),
    (["pair", "bt:hci1,dial=00:AA:01:00:00:42"], "'dial=' is for 'easim run'"),
    (["pair", "bt:00:AA:01:00:00:42", "--pin", ""], "a PIN has 1 to 16 characters"),
    (["pair", "bt:00:AA"], "not a Bluetooth address"), (["unpair", "bt:"], "which device?"),
    (["unpair"], "bt:DEVICE"),
  ])
  func whatIsMeantMustBeADeviceOnBluetooth(words: [String], text: String) throws {
    let remains = try easim(words)
    #expect(remains.ending == .exit(2))
    #expect(remains.err.contains(text), "\(remains.err)")
  }
}
