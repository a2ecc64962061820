import AccessoryCables
import AccessoryCore
import AccessoryFaults
import AccessoryHost
import AccessoryProfiles
import AccessorySessions
import AccessorySimulator
import AccessoryWorlds
import Certificates
import IAP2
import LinuxIO
import Testing

/// A world with an app and the camera accessory, whose frames use native transport.
final class NativeTransportRig: AppHandler {
  static let frames = "com.example.camera.frames"
  static let control = "com.example.camera.control"

  let loop: VirtualLoop
  let world: World
  let camera: SimulatedAccessory
  private var app: AppView?

  init(
    quirks: [String] = [], faults: [String] = [], seed: UInt64 = 7,
    behavior: ((Behavior) -> any AccessoryBehavior)? = nil
  ) throws {
    loop = VirtualLoop(seed: seed)
    var settings = World.Settings()
    settings.keepsTranscript = true
    settings.speed.latency = .milliseconds(1)
    settings.faults = try faults.map { CableFault(try Fault($0)) }
    world = World(settings, on: loop)
    var profile = try ProfileLibrary().profile("camera")
    for quirk in quirks { profile.apply(try Quirk(quirk)) }
    camera = world.add(profile, behavior: behavior)
    var rules = AppSettings()
    rules.rules.ignoreInfoPlist()
    app = world.device.makeApp(self, settings: rules)
    try camera.plugIn()
    try pass(.seconds(1))
  }

  func pass(_ time: Duration) throws {
    try loop.advance(by: time)
  }

  func open(_ name: String = frames) throws -> Stream {
    guard let app, let seen = app.accessories.first else { throw Missing() }
    return Stream(try app.openSession(with: seen, protocolName: name))
  }

  struct Missing: Error {}

  func sessions(_ side: TimelineEvent.Side) -> [String] {
    world.events.filter { $0.side == side }.compactMap { event in
      switch event.kind {
      case .sessionOpen(let id, let name): "open \(id) \(name)"
      case .sessionClose(let id, let name, let reason, let read, let written):
        "close \(id) \(name): \(reason) (\(read) read, \(written) written)"
      default: nil
      }
    }
  }

  func accessoryDidConnect(_ accessory: PublishedAccessory, _ app: AppView) {}
  func accessoryDidDisconnect(_ accessory: PublishedAccessory, _ app: AppView) {}
}

final class Stream: SessionHandler {
  let session: Session
  private(set) var received: [UInt8] = []
  private(set) var end: SessionEnd?
  private(set) var roomCalls = 0
  var reads = true

  init(_ session: Session) {
    self.session = session
    session.handler = self
  }

  @discardableResult
  func write(_ bytes: [UInt8]) -> Int { session.write(bytes.span.bytes) }

  func readAll() {
    session.read { bytes in
      bytes.withUnsafeBytes { received += $0 }
      return bytes.byteCount
    }
  }

  func sessionIsReadable(_ session: Session) { if reads { readAll() } }
  func sessionIsWritable(_ session: Session) { roomCalls += 1 }
  func session(_ session: Session, endedWith end: SessionEnd) { self.end = end }
}

/// A port whose cable has native channels on one side, on both sides, or on neither.
final class PairPort: Port, AppHandler {
  let place = "the test"
  private(set) var nativeChannels: LoopbackNativeChannels?
  private(set) var warnings: [String] = []
  let loop = VirtualLoop(seed: 1)
  private let (accessoryHasNativeChannels, deviceHasNativeChannels): (Bool, Bool)
  private let device: Device
  private var app: AppView?

  private var camera: SimulatedAccessory?

  init(accessoryHasNativeChannels: Bool, deviceHasNativeChannels: Bool) throws {
    (self.accessoryHasNativeChannels, self.deviceHasNativeChannels) = (
      accessoryHasNativeChannels, deviceHasNativeChannels
    )
    device = Device(settings: DeviceSettings(authenticator: StubAuthenticator(seed: 1)), on: loop) { _ in }
    var rules = AppSettings()
    rules.rules.ignoreInfoPlist()
    app = device.makeApp(self, settings: rules)
    camera = SimulatedAccessory(
      try ProfileLibrary().profile("camera"), at: self, authenticator: StubAuthenticator(seed: 1), on: loop
    ) { [unowned self] event in if case .warning(let text) = event.kind { warnings.append(text) } }
    try camera?.plugIn()
    try loop.advance(by: .seconds(1))
  }

  func unplug() {
    camera?.unplug()
    camera = nil
  }

  func open() throws -> Session {
    guard let app, let seen = app.accessories.first else { throw NativeTransportRig.Missing() }
    return try app.openSession(with: seen, protocolName: NativeTransportRig.frames)
  }

  func open(_ onEvent: @escaping (PortEvent) -> Void) throws {
    let pair = LoopbackChannel.makePair(on: loop)
    let nativeChannels = LoopbackNativeChannels(on: loop)
    self.nativeChannels = nativeChannels
    loop.schedule(after: .zero) { [self] in
      let accessory =
        accessoryHasNativeChannels ? Cable(main: pair.left) { nativeChannels.onEvent = $0 } : Cable(main: pair.left)
      let opener: Cable.Opener = { name throws(NativeChannelRefusal) in try nativeChannels.open(name) }
      let end = deviceHasNativeChannels ? Cable(main: pair.right, openNativeChannel: opener) : Cable(main: pair.right)
      onEvent(.cable(accessory, from: "the test"))
      device.plugIn(end, at: "the test")
    }
  }

  func close() {}

  func accessoryDidConnect(_ accessory: PublishedAccessory, _ app: AppView) {}
  func accessoryDidDisconnect(_ accessory: PublishedAccessory, _ app: AppView) {}
}
