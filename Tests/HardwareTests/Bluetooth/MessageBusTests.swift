import AccessoryCore
import Glibc
import TestSupport
import Testing

@testable import AccessoryBluetooth

@Suite(.waits) struct MessageBusTests {
  /// Without easim's limit, sd-bus would wait 90 s for a silent daemon.
  @Test(arguments: [false, true])
  func aDaemonThatStopsDoesNotHoldUpTheEnd(afterItWasReady: Bool) throws {
    let lab = try BluetoothLab()
    let daemon = try #require(lab.busProcess)
    defer { kill(daemon, SIGCONT) }
    if !afterItWasReady { kill(daemon, SIGSTOP) }
    let begin = ContinuousClock.now
    do {
      let bus = try MessageBus(.address(lab.address), on: lab.loop) { _ in }
      var isReady = false
      set("ready", by: bus) { isReady = true }
      if afterItWasReady {
        lab.run(until: { isReady })
        kill(daemon, SIGSTOP)
        set("stopped", by: bus) {}
      }
    }
    #expect(ContinuousClock.now - begin < hangLimit)
  }

  private func set(_ name: String, by bus: MessageBus, _ done: @escaping () -> Void) {
    bus.call(
      "org.bluez", "/org/bluez/hci1", "org.freedesktop.DBus.Properties", "Set",
      [.string("org.bluez.Adapter1"), .string("Alias"), .variant(.string(name))]
    ) { _ in done() }
  }
}
