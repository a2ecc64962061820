import AccessoryCables
import AccessoryCore
import AccessoryHost
import AccessoryProfiles
import AccessorySessions
import AccessorySimulator
import CSystemd
import Certificates
import Glibc
import LinuxIO
import TestSupport
import Testing

@testable import AccessoryBluetooth
@testable import AccessoryHardware

/// The time limit for each wait, after which the test fails. The limit is generous, because the machine may be heavily
/// loaded.
let hangLimit = Duration.seconds(60)

/// A private D-Bus with a mock of BlueZ. The mock has two adapters and the devices that a test adds, and uses socket
/// pairs in place of RFCOMM. Everything runs on one loop.
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

  /// The mock can start as soon as the new daemon accepts clients.
  private static func play(_ place: MessageBus.Place, on loop: EpollLoop) throws -> MockBlueZ {
    for _ in 0..<3_000 {
      if let blueZ = try? MockBlueZ(place, on: loop) { return blueZ }
      _ = loop.run(until: { false }, limit: .milliseconds(10))
    }
    return try MockBlueZ(place, on: loop)
  }

  var state: String {
    "calls \(blueZ.calls), services \(blueZ.services.map(\.uuid)), dialled \(sockets.dialled)"
  }

  var busProcess: pid_t? { daemon?.pid }

  func killBus() {
    guard let pid = daemon?.pid else { return }
    kill(pid, SIGKILL)
    waitpid(pid, nil, 0)
    daemon = nil
  }

  /// Restarts BlueZ. Registrations are lost, but pairings remain.
  func restartService() throws {
    let (adapters, devices) = (blueZ.adapters, blueZ.devices)
    stopService()
    try startService()
    (blueZ.adapters, blueZ.devices) = (adapters, devices)
  }

  /// Lets another BlueZ take over the name. The bus reports the takeover in a single signal.
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

  /// Creates a medium on this bus. Each role needs its own medium, as if the two roles were separate processes.
  func medium() -> BluetoothMedium { BluetoothMedium(.address(address), sockets: sockets) }

  func run(
    until condition: () -> Bool, _ note: @autoclosure () -> String = "", _ place: SourceLocation = #_sourceLocation
  ) {
    let came = loop.run(until: condition, limit: hangLimit)
    #expect(came, "\(note()) \(state)", sourceLocation: place)
  }

  func settle() { loop.run(limit: .milliseconds(20)) }
}

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

  deinit {
    dialer.stop()
    device.unplugAll()
  }
}

final class LabAccessory {
  let accessory: SimulatedAccessory
  let log = Log()

  final class Log {
    var warnings: [String] = []
  }

  init(_ lab: BluetoothLab, at selector: Address.BluetoothSelector, quirks: [String] = []) throws {
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

/// A host on hci0, paired with an accessory on hci1.
final class LabPair {
  static let whole = ["connect [\"com.example.echo\"]"]

  let host: LabHost
  let accessory: LabAccessory
  let lab: BluetoothLab

  init(quirks: String..., prepare: (BluetoothLab) throws -> Void = { _ in }) throws {
    lab = try BluetoothLab()
    try lab.blueZ.pairAdapters()
    accessory = try LabAccessory(lab, at: .init(adapter: "hci1"), quirks: quirks)
    try prepare(lab)
    host = try LabHost(lab)
  }

  func connect(_ place: SourceLocation = #_sourceLocation) { wait(for: Self.whole, place) }

  func wait(for appearances: [String], _ place: SourceLocation = #_sourceLocation) {
    lab.run(
      until: { host.log.appearances == appearances },
      "\(host.log.appearances) \(host.log.warnings) \(accessory.log.warnings)", place)
  }

  /// Unplugs the accessory and plugs it in again.
  func replug(_ place: SourceLocation = #_sourceLocation) throws {
    accessory.accessory.unplug()
    lab.run(until: { host.log.appearances.count == 2 }, "\(host.log.appearances)", place)
    try accessory.accessory.plugIn()
    lab.run(until: { host.log.appearances.count == 3 }, "\(host.log.appearances)", place)
  }
}

final class RawHost {
  let near: BusDescriptor
  private let far: Int32
  private var read: [UInt8] = []
  private var isOver = false

  init() throws {
    var ends: [Int32] = [0, 0]
    let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    try #require(socketpair(AF_UNIX, kind, 0, &ends) == 0)
    (near, far) = (BusDescriptor(taking: ends[0]), ends[1])
  }

  deinit { close(far) }

  func connect(
    _ lab: BluetoothLab, from address: String, to uuid: String = AccessoryService.accessory, on adapter: String = "hci1"
  ) throws {
    lab.run(until: { lab.blueZ.services.contains { $0.uuid == uuid } })
    let service = try #require(lab.blueZ.services.first { $0.uuid == uuid })
    lab.blueZ.connect(service, from: lab.blueZ.path(adapter, address), near.take())
  }

  var hasDetection: Bool {
    receive()
    return read.starts(with: [0xFF, 0x55, 0x02, 0x00, 0xEE, 0x10])
  }

  var isClosed: Bool {
    receive()
    return isOver
  }

  private func receive() {
    var bytes = [UInt8](repeating: 0, count: 4_096)
    let count = recv(far, &bytes, bytes.count, 0)
    if count == 0 { isOver = true }
    if count > 0 { read += bytes.prefix(count) }
  }
}
