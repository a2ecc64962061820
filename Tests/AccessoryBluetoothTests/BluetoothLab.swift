import AccessoryCables
import AccessoryCore
import AccessoryHost
import AccessoryProfiles
import AccessorySessions
import AccessorySimulator
import AccessoryTransports
import CSystemd
import Certificates
import Glibc
import TestSupport
import Testing

@testable import AccessoryBluetooth
@testable import AccessoryHardware

/// How long a test waits before it calls a thing hung.
let hangLimit = Duration.seconds(60)

/// A D-Bus of its own, with a BlueZ that this test plays: two adapters, whatever devices a test adds, and sockets that are
/// pairs of this process. Everything runs on one loop.
final class BluetoothLab {
  let loop: EpollLoop
  let address: String
  private let folder = TemporaryFolder()
  private var daemon: Spawn?
  private(set) var blueZ: MockBlueZ
  let sockets: MockSockets

  init() throws {
    loop = try EpollLoop(seed: 7)
    let path = "\(folder.path)/bus"
    address = "unix:path=\(path)"
    let configuration = """
      <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
       "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
      <busconfig><listen>\(address)</listen><auth>EXTERNAL</auth>
      <policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/>
      <allow own="*"/></policy></busconfig>
      """
    try configuration.write(toFile: "\(folder.path)/bus.conf", atomically: true, encoding: .utf8)
    let null = open("/dev/null", O_RDWR)
    defer { close(null) }
    daemon = try Spawn(
      "/usr/bin/dbus-daemon", ["--config-file=\(folder.path)/bus.conf", "--nofork", "--nopidfile"], environment: [:],
      out: null, err: null)
    let sockets = MockSockets(on: loop)
    self.sockets = sockets
    blueZ = try Self.play(.address(address), on: loop)
    sockets.blueZ = blueZ
  }

  deinit { killBus() }

  /// Plays BlueZ as soon as the daemon, which was just started, lets clients in.
  private static func play(_ place: MessageBus.Place, on loop: EpollLoop) throws -> MockBlueZ {
    for _ in 0..<3_000 {
      if let blueZ = try? MockBlueZ(place, on: loop) { return blueZ }
      _ = loop.run(until: { false }, limit: .milliseconds(10))
    }
    return try MockBlueZ(place, on: loop)
  }

  /// What is known when a test waits in vain.
  var state: String {
    "calls \(blueZ.calls), services \(blueZ.services.map(\.uuid)), dialled \(sockets.dialled)"
  }

  /// Ends the bus, as a system does that shuts down.
  func killBus() {
    guard let pid = daemon?.pid else { return }
    kill(pid, SIGKILL)
    waitpid(pid, nil, 0)
    daemon = nil
  }

  /// Ends BlueZ and starts it again: everything that was registered is gone, bonds stay.
  func restartService() throws {
    let (adapters, devices) = (blueZ.adapters, blueZ.devices)
    stopService()
    try startService()
    (blueZ.adapters, blueZ.devices) = (adapters, devices)
  }

  /// Another BlueZ takes the name over: the bus tells it in one signal.
  func replaceService() throws {
    let old = blueZ
    blueZ = try MockBlueZ(.address(address), on: loop, replaces: true)
    (blueZ.adapters, blueZ.devices) = (old.adapters, old.devices)
    sockets.blueZ = blueZ
    old.leave()
  }

  func stopService() { blueZ.leave() }

  func startService() throws {
    blueZ = try MockBlueZ(.address(address), on: loop)
    sockets.blueZ = blueZ
  }

  /// A medium on this bus. The roles are two processes in life, so each has one of its own.
  func medium() -> BluetoothMedium { BluetoothMedium(.address(address), sockets: sockets) }

  func run(
    until condition: () -> Bool, _ note: @autoclosure () -> String = "", _ place: SourceLocation = #_sourceLocation
  ) {
    let came = loop.run(until: condition, limit: hangLimit)
    #expect(came, "\(note()) \(state)", sourceLocation: place)
  }

  /// Lets what has already happened be told.
  func settle() { loop.run(limit: .milliseconds(20)) }
}

/// The device role on a lab, with what its apps see as words.
final class LabHost {
  let device: Device
  let dialer: Dialer
  let log = Log()

  final class Log {
    var appearances: [String] = []
    var warnings: [String] = []
  }

  init(_ lab: BluetoothLab, at selector: Address.BluetoothSelector = .init()) throws {
    let log = log
    device = Device(settings: DeviceSettings(authenticator: StubAuthenticator(seed: 1)), on: lab.loop) { event in
      switch event.kind {
      case .connect, .disconnect: log.appearances.append("\(event.kind.name) \(event.subject?.protocols ?? [])")
      case .warning(let text): log.warnings.append(text)
      default: break
      }
    }
    dialer = try MediumTable([lab.medium()]).makeDialer(to: .bluetooth(selector), for: device, on: lab.loop)
    try dialer.start()
  }

  func stop() {
    dialer.stop()
    device.unplugAll()
  }
}

/// A simulated accessory on a lab.
final class LabAccessory {
  let accessory: SimulatedAccessory
  let log = Log()

  final class Log {
    var warnings: [String] = []
  }

  init(_ lab: BluetoothLab, at selector: Address.BluetoothSelector, quirks: String...) throws {
    var profile = try ProfileLibrary().profile("echo")
    for quirk in quirks { profile.apply(try Quirk(quirk)) }
    let log = log
    let maker = PortMaker(MediumTable([lab.medium()]), PortContext(on: lab.loop) { log.warnings.append($0) })
    accessory = SimulatedAccessory(
      profile, at: try maker.makePort(at: .bluetooth(selector), for: profile),
      authenticator: StubAuthenticator(seed: 1, generation: .current), on: lab.loop
    ) { event in
      if case .warning(let text) = event.kind { log.warnings.append(text) }
    }
    try accessory.plugIn()
  }
}
