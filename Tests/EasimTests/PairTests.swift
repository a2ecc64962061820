import TestSupport
import Testing

/// Tests `easim pair` and `easim unpair` on a machine without Bluetooth. The kernel lane tests the pairing itself.
@Suite(.waits) struct PairTests {
  @Test(arguments: [
    ["pair"], ["pair", "bt:hci1"], ["pair", "bt:00:AA:01:00:00:42"], ["unpair", "bt:00:AA:01:00:00:42"],
  ])
  func withoutABusItSaysSoAtOnceWithTheCommandThatHelps(words: [String]) throws {
    let remains = try Program.run(words, environment: ["DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nonexistent/bus"])
    #expect(remains.ending == .exit(3))
    #expect(remains.err.contains("there is no D-Bus system bus") && remains.err.contains("start D-Bus: sudo "))
  }

  @Test func withoutItsLibraryItSaysWhatToInstall() throws {
    let place = TemporaryFolder()
    _ = place.write("", to: "libsystemd.so.0")
    let end = try Program.run(["pair"], environment: ["LD_LIBRARY_PATH": place.path])
    #expect(end.ending == .exit(3))
    #expect(end.err.contains("libsystemd, which cannot be loaded"))
    #expect(end.err.contains("apt-get install --reinstall libsystemd0"))
  }
}
