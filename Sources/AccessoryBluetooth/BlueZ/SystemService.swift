import Glibc

/// A service that Bluetooth needs: how to install, start and restart it on this machine.
public struct SystemService: Sendable {
  let name: String
  let package: String
  let programs: [String]

  /// The system bus.
  public static let bus = SystemService(
    name: "dbus", package: "dbus", programs: ["/usr/bin/dbus-daemon", "/usr/bin/dbus-broker-launch"])
  /// BlueZ.
  public static let bluetooth = SystemService(
    name: "bluetooth", package: "bluez",
    programs: ["/usr/libexec/bluetooth/bluetoothd", "/usr/lib/bluetooth/bluetoothd", "/usr/sbin/bluetoothd"])

  /// The command that restarts it.
  public var restart: String { command("restart", Self.isThere) }

  /// The command that starts it, and before that installs it where it is missing.
  func start(isThere: (String) -> Bool = Self.isThere) -> String {
    let start = command("start", isThere)
    return programs.contains(where: isThere) ? start : "sudo apt-get install \(package) && \(start)"
  }

  private func command(_ verb: String, _ isThere: (String) -> Bool) -> String {
    isThere("/run/systemd/system") ? "sudo systemctl \(verb) \(name)" : "sudo service \(name) \(verb)"
  }

  private static func isThere(_ path: String) -> Bool { access(path, F_OK) == 0 }
}
