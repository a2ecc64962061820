import AccessoryCables
import AccessoryCore
import AccessoryFormats
import AccessoryHost
import AccessoryProfiles
import AccessorySessions
import AccessorySimulator
import Certificates
import Glibc
import LinuxIO
import TestSupport
import Testing

@testable import AccessoryLoad

/// Runs load tests over real sockets. Hostile peers connect to the accessory before the host does and while the host is
/// connected. Time is not measured; the time limit only stops runs that hang.
@Suite(.waits, .serialized) struct HostilePeerTests {
  private static let hangLimit = Duration.seconds(120)

  @Test(arguments: [true, false]) func noByteIsLostAmongHostilePeers(isUnix: Bool) throws {
    let loop = try EpollLoop(seed: 7)
    let folder = TemporaryFolder()
    let profile = try ProfileLibrary().profile("echo")
    let maker = PortMaker(.standard, PortContext(on: loop))
    let place = isUnix ? Address.unix(path: folder.file("s")) : .tcp(host: "127.0.0.1", port: 0)
    let port = try maker.makePort(at: place, for: profile)
    let accessory = SimulatedAccessory(
      profile, at: port, authenticator: StubAuthenticator(seed: 7), on: loop,
      handshakeTimeouts: HandshakeTimeouts(.milliseconds(500))
    ) { _ in }
    try accessory.plugIn()
    let address = try Address(parsing: String(port.place.prefix { $0 != "," }))
    func attack() throws -> [HostilePeer] {
      try HostilePeer.Kind.allCases.map { try #require(HostilePeer($0, to: address, on: loop)) }
    }

    var plan = BurstPlan()
    (plan.extent, plan.sessions, plan.inFlight, plan.timeout) = (.bursts(40), 2, 2, Self.hangLimit)
    let runner = BurstRunner(plan, on: loop)
    let site = runner.addSite("\(address)")
    let device = Device(settings: DeviceSettings(authenticator: StubAuthenticator(seed: 7)), on: loop) { _ in }
    var app = AppSettings()
    app.rules.ignoreInfoPlist()
    let view = device.makeApp(site, settings: BurstRunner.appSettings(app))
    var peers = try attack()
    let dialer = try MediumTable.standard.makeDialer(to: address, for: device, on: loop) { $0 }
    try dialer.start()
    runner.start()
    _ = loop.run(until: { runner.progress.bursts > 10 || runner.outcome != nil }, limit: Self.hangLimit)
    peers += try attack()
    #expect(loop.run(until: { runner.outcome != nil }, limit: Self.hangLimit))
    #expect(runner.report.passed, "\(runner.report.text)")

    dialer.stop()
    view.close()
    device.unplugAll("the test is over")
    accessory.unplug("the test is over")
    #expect(loop.run(until: { device.cableCount == 0 && peers.allSatisfy(\.isOver) }, limit: Self.hangLimit))
  }
}

private final class HostilePeer {
  enum Kind: CaseIterable {
    case garbage
    /// A peer that sends the beginning of something valid and then shuts down its sending side.
    case halfClose
    case reset
    case silence
    case flood
  }

  private static let opening: [UInt8] = [0xFF, 0x55, 0x02, 0x00, 0xEE, 0x10, 0xFF, 0x5A, 0x00]

  private(set) var isOver = false
  private let kind: Kind
  private let loop: any EventLoop
  private var descriptor: Int32
  private var random = SeededRandom(seed: 7)
  private var timer: LoopTimer?
  private var toFlood = 512 << 10

  /// Connects immediately, or returns nil if nothing is listening at `address`.
  init?(_ kind: Kind, to address: Address, on loop: any EventLoop) {
    guard let connected = Self.connect(to: address) else { return nil }
    (self.kind, self.loop, descriptor) = (kind, loop, connected)
    timer = loop.makeTimer { [unowned self] in goOn() }
    begin()
    if !isOver { timer?.arm(at: loop.now) }
  }

  deinit { end() }

  private func begin() {
    switch kind {
    case .garbage: put(bytes(Int.random(in: 1...3_000, using: &random)))
    case .halfClose:
      put(Self.opening)
      shutdown(descriptor, Int32(SHUT_WR))
    case .reset:
      put(Self.opening + bytes(Int.random(in: 0...200, using: &random)))
      var lingers = linger(l_onoff: 1, l_linger: 0)
      setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &lingers, socklen_t(MemoryLayout<linger>.size))
      end()
    case .silence: break
    case .flood: put(Self.opening)
    }
  }

  private func goOn() {
    if kind == .flood, toFlood > 0 {
      toFlood -= max(1, put(bytes(64 << 10)))
    } else {
      var piece = [UInt8](repeating: 0, count: 4_096)
      let count = recv(descriptor, &piece, piece.count, Int32(MSG_DONTWAIT))
      if count == 0 || count < 0 && errno != EAGAIN && errno != EINTR { return end() }
    }
    timer?.arm(at: loop.now + .milliseconds(2))
  }

  private func end() {
    if !isOver { close(descriptor) }
    isOver = true
    timer?.cancel()
  }

  @discardableResult
  private func put(_ bytes: [UInt8]) -> Int {
    let count = send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
    if count < 0, errno != EAGAIN, errno != EINTR { toFlood = 0 }
    return count
  }

  private func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) } }

  private static func connect(to address: Address) -> Int32? {
    switch address {
    case .unix(let path): return UnixSocket.make(Glibc.connect, path)
    case .tcp(_, let port):
      let made = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
      guard made >= 0 else { return nil }
      var name = sockaddr_in()
      name.sin_family = sa_family_t(AF_INET)
      name.sin_port = port.bigEndian
      name.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      let result = withUnsafePointer(to: &name) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          Glibc.connect(made, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
      if result == 0 { return made }
      close(made)
      return nil
    default: return nil
    }
  }
}
