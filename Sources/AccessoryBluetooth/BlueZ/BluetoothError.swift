import Glibc

/// The reason why Bluetooth or a device cannot be used, and how to fix the problem.
package enum BluetoothError: Error, Equatable, Sendable, CustomStringConvertible {
  case noLibrary(String)
  case noBus(String)
  case noService
  case notPermitted(String)
  case noAdapter(String?)
  case adapterOff(String)
  case serviceTaken
  case notPaired(String)
  case outOfRange
  case refused(String)
  case noSuchService
  case timedOut
  case busy
  case failed(String)

  package var description: String {
    let problem = detail
    return fix.map { "\(problem); \($0)" } ?? problem
  }

  package var detail: String {
    switch self {
    case .noLibrary(let why): "Bluetooth needs libsystemd, which cannot be loaded (\(why))"
    case .noBus(let why): "there is no D-Bus system bus (\(why))"
    case .noService: "the Bluetooth service is not running"
    case .notPermitted(let what): "this user is not permitted to \(what)"
    case .noAdapter(nil): "this machine has no Bluetooth adapter"
    case .noAdapter(let name?): "this machine has no Bluetooth adapter \(name)"
    case .adapterOff(let name): name.isEmpty ? "the Bluetooth adapter is off" : "the Bluetooth adapter \(name) is off"
    case .serviceTaken:
      "another process already acts as a Bluetooth accessory or host, and BlueZ lets only one process offer the service"
    case .notPaired: "the device is not paired with this machine"
    case .outOfRange: "the device does not answer: it is out of range, off, or connected to another device"
    case .refused(let why): "it refused: \(why)"
    case .noSuchService: "the device does not offer the accessory service"
    case .timedOut: "the device did not answer in time"
    case .busy: "BlueZ is still processing the same request from another program"
    case .failed(let what): what
    }
  }

  /// The command that fixes the problem, if any.
  package var remedy: String? {
    switch self {
    case .noLibrary: "sudo apt-get install --reinstall libsystemd0"
    case .noBus: SystemService.bus.start()
    case .noService: SystemService.bluetooth.start()
    case .notPermitted: #"sudo usermod -aG bluetooth "$USER""#
    case .adapterOff: "rfkill unblock bluetooth && bluetoothctl power on"
    case .noAdapter, .serviceTaken, .notPaired, .outOfRange, .refused, .noSuchService, .timedOut, .busy, .failed: nil
    }
  }

  /// The command or action that fixes the problem, if any.
  package var fix: String? {
    switch self {
    case .noLibrary: remedy.map { "install it: \($0)" }
    case .noBus: remedy.map { "start D-Bus: \($0)" }
    case .noService: remedy.map { "start it: \($0)" }
    case .notPermitted: "run as root, or add the user to the group bluetooth"
    case .noAdapter: "plug one in; see 'easim doctor'"
    case .adapterOff: "turn it on: bluetoothctl power on (if that fails: rfkill unblock bluetooth)"
    case .serviceTaken: "stop the other process, or use a different address here, such as unix:/tmp/a.sock"
    case .notPaired(let address): "pair it: easim pair bt:\(address)"
    case .outOfRange, .refused, .noSuchService, .timedOut, .busy, .failed: nil
    }
  }

  /// Converts an error returned by a call to BlueZ.
  package init(_ error: BusError, adapter: String? = nil) {
    switch error {
    case .timedOut: self = .timedOut
    case .closed(let why): self = .noBus(why)
    case .noLibrary(let why): self = .noLibrary(why)
    case .failed(let what, _): self = .noBus("cannot \(what)")
    case .remote(let name, let message): self = Self.meaning(of: name, message, adapter)
    }
  }

  init(connecting code: Int32) {
    switch code {
    case EHOSTDOWN, ETIMEDOUT: self = .outOfRange
    case EAFNOSUPPORT, EPROTONOSUPPORT, ESOCKTNOSUPPORT: self = .noAdapter(nil)
    case EHOSTUNREACH, ENETDOWN, EADDRNOTAVAIL, ENODEV: self = .adapterOff("")
    case EACCES, EPERM: self = .refused("the pairing is no longer valid")
    case ECONNREFUSED: self = .refused("the device's channel is closed, or the pairing is no longer valid")
    case EBUSY: self = .failed("the channel is in use by another connection")
    case ECONNRESET: self = .refused("it closed the connection")
    default: self = .failed(strerror(code).map { String(cString: $0) } ?? "error \(code)")
    }
  }

  private static func meaning(of name: String, _ message: String, _ adapter: String?) -> Self {
    switch name {
    case "org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner",
      "org.freedesktop.DBus.Error.Spawn.ExecFailed", "org.freedesktop.systemd1.NoSuchUnit":
      .noService
    case "org.freedesktop.DBus.Error.AccessDenied": .notPermitted("use BlueZ")
    case "org.freedesktop.DBus.Error.UnknownObject": .noAdapter(adapter)
    case "org.bluez.Error.NotReady": .adapterOff(adapter ?? "hci0")
    case "org.bluez.Error.NotPermitted" where message.contains("UUID already registered"),
      "org.bluez.Error.AlreadyExists" where message.contains("UUID"):
      .serviceTaken
    case "org.bluez.Error.Failed" where message.contains("adapter-not-powered"): .adapterOff(adapter ?? "hci0")
    case "org.bluez.Error.ConnectionAttemptFailed": .outOfRange
    case "org.bluez.Error.AuthenticationCanceled": .refused("pairing was cancelled")
    case "org.bluez.Error.AuthenticationFailed": .refused("pairing failed: the PIN or the confirmation was wrong")
    case "org.bluez.Error.AuthenticationRejected": .refused("it rejected the pairing")
    case "org.bluez.Error.AuthenticationTimeout": .timedOut
    case "org.bluez.Error.Busy": .busy
    case "org.bluez.Error.DoesNotExist": .failed("BlueZ does not know this device")
    default: .failed(message.isEmpty ? name : message)
    }
  }
}

/// How to install, start and restart a service that this machine needs for Bluetooth.
package struct SystemService: Sendable {
  let name: String
  let package: String
  let programs: [String]

  package static let bus = SystemService(
    name: "dbus", package: "dbus", programs: ["/usr/bin/dbus-daemon", "/usr/bin/dbus-broker-launch"])
  package static let bluetooth = SystemService(
    name: "bluetooth", package: "bluez",
    programs: ["/usr/libexec/bluetooth/bluetoothd", "/usr/lib/bluetooth/bluetoothd", "/usr/sbin/bluetoothd"])

  package var restart: String { command("restart", Self.isThere) }

  /// Returns the command that starts the service. If the service is not installed, the command installs it first.
  func start(isThere: (String) -> Bool = Self.isThere) -> String {
    let start = command("start", isThere)
    return programs.contains(where: isThere) ? start : "sudo apt-get install \(package) && \(start)"
  }

  private func command(_ verb: String, _ isThere: (String) -> Bool) -> String {
    isThere("/run/systemd/system") ? "sudo systemctl \(verb) \(name)" : "sudo service \(name) \(verb)"
  }

  private static func isThere(_ path: String) -> Bool { access(path, F_OK) == 0 }
}
