import Glibc
import TestSupport
import Testing

@testable import AccessoryBluetooth

@Suite(.waits) struct BluetoothNameTests {
  @Test(arguments: [["list", "bt:"], ["pair", "bt:hci0", "--timeout", "500ms"]])
  func theNameOfADeviceIsShownHarmlessly(_ words: [String]) throws {
    let lab = try BluetoothLab()
    let path = try lab.blueZ.addDevice(
      "hci0", "00:AA:01:00:00:05", paired: false, services: [AccessoryService.accessory])
    lab.blueZ.set(path, "Alias", .string("Glasses \u{202E}gnp\u{1B}[2J\u{200B}\nbt:hci0"))
    let folder = TemporaryFolder()
    let output = open("\(folder.path)/output", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    defer { close(output) }
    let program = try Spawn(
      BuiltProducts.easim, words, environment: ["DBUS_SYSTEM_BUS_ADDRESS": lab.address], out: output, err: output)
    var status: Int32 = 0
    // The mock that answers the program's calls runs on this loop.
    lab.run(until: {
      lab.loop.schedule(after: .milliseconds(20)) {}
      return waitpid(program.pid, &status, WNOHANG) == program.pid
    })
    var bytes = [UInt8](repeating: 0, count: 65_536)
    let count = pread(output, &bytes, bytes.count, 0)
    let text = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
    #expect(text.contains("Glasses \u{FFFD}gnp\u{FFFD}[2J\u{FFFD}\u{FFFD}bt:hci0"), "\(text)")
    for scalar in ["\u{202E}", "\u{1B}", "\u{200B}"] as [Unicode.Scalar] {
      #expect(!text.unicodeScalars.contains(scalar))
    }
  }
}
