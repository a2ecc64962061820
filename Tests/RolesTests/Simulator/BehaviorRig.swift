import AccessoryCore
import AccessoryHost
import AccessoryProfiles
import AccessorySessions
import AccessorySimulator
import AccessoryWorlds
import IAP2
import LinuxIO

/// One accessory with one protocol, plugged into a device in the same process, and an app that opens sessions with it.
/// The rig shows what a behavior looks like from the other end of the cable.
final class BehaviorRig: AppHandler {
  let loop: any EventLoop
  private(set) var world: World
  let accessory: SimulatedAccessory
  private(set) var shown: PublishedAccessory?
  private var app: AppView?

  convenience init(
    _ behavior: Behavior, quirks: [String] = [], on loop: any EventLoop,
    playing: ((Behavior) -> any AccessoryBehavior)? = nil
  ) throws {
    var profile = Profile(
      name: "rig", identity: .init(name: "Rig", manufacturer: "Example Works", modelNumber: "B", serialNumber: "1"),
      protocols: [.init("com.example.rig", id: 1)])
    profile.behavior = behavior
    for quirk in quirks { profile.apply(try Quirk(quirk)) }
    try self.init(profile, on: loop, playing: playing)
  }

  init(_ profile: Profile, on loop: any EventLoop, playing: ((Behavior) -> any AccessoryBehavior)? = nil) throws {
    self.loop = loop
    world = World(on: loop)
    accessory = world.add(profile, behavior: playing)
    var settings = AppSettings()
    // A real app could not open this many sessions at once. The tests check how an accessory handles many sessions at
    // once.
    settings.rules.secondSession = .sideBySide
    app = world.device.makeApp(self, settings: settings)
    try accessory.plugIn()
    try pass(.seconds(1))
  }

  /// Lets virtual time pass; has no effect in real time.
  func pass(_ time: Duration) throws { try (loop as? VirtualLoop)?.advance(by: time) }

  func replug(after rest: Duration) throws {
    accessory.unplug()
    try pass(rest)
    try accessory.plugIn()
    try pass(.seconds(1))
  }

  func accessoryDidConnect(_ accessory: PublishedAccessory, _ app: AppView) { shown = accessory }
  func accessoryDidDisconnect(_ accessory: PublishedAccessory, _ app: AppView) { shown = nil }

  /// Releases the device, which otherwise retains every app that uses it.
  func close() {
    app?.close()
    app = nil
  }

  func open(_ protocolName: String = "com.example.rig") throws -> SessionEar {
    guard let shown, let app else { throw NotShown() }
    return SessionEar(try app.openSession(with: shown, protocolName: protocolName), on: loop)
  }

  struct NotShown: Error {}

  var said: [TimelineEvent.Kind] {
    world.events.filter { $0.side == .accessory }.map(\.kind).filter { kind in
      switch kind {
      case .warning: true
      case .note(let text): text.hasPrefix("session ")
      default: false
      }
    }
  }

  var endings: [String] {
    world.events.compactMap { event in
      if event.side == .accessory, case .sessionClose(_, _, let reason, _, _) = event.kind { reason } else { nil }
    }
  }
}

/// The app's end of a session. The handler records events and their times, writes the bytes that the test gives it, and
/// can stop reading.
final class SessionEar: SessionHandler {
  let session: Session
  private(set) var heard: [UInt8] = []
  private(set) var arrivals: [(time: Instant, count: Int)] = []
  private(set) var end: SessionEnd?
  var isDeaf = false { didSet { if !isDeaf { sessionIsReadable(session) } } }
  private let loop: any EventLoop
  private var unsent: [UInt8] = []

  init(_ session: Session, on loop: any EventLoop) {
    self.session = session
    self.loop = loop
    session.handler = self
  }

  var text: String { String(decoding: heard, as: UTF8.self) }

  func send(_ bytes: [UInt8]) {
    unsent += bytes
    sessionIsWritable(session)
  }

  func send(_ text: String) { send(Array(text.utf8)) }

  /// Sends bytes, lets virtual time pass, and returns what arrives meanwhile.
  func answer(to bytes: [UInt8], within time: Duration = .seconds(1)) throws -> [UInt8] {
    let before = heard.count
    send(bytes)
    try (loop as? VirtualLoop)?.advance(by: time)
    return Array(heard[before...])
  }

  func answer(to text: String, within time: Duration = .seconds(1)) throws -> String {
    String(decoding: try answer(to: Array(text.utf8), within: time), as: UTF8.self)
  }

  func sessionIsReadable(_ session: Session) {
    guard !isDeaf else { return }
    session.read { bytes in
      bytes.withUnsafeBytes { heard.append(contentsOf: $0) }
      arrivals.append((loop.now, bytes.byteCount))
      return bytes.byteCount
    }
  }

  func sessionIsWritable(_ session: Session) {
    let bytes = unsent
    unsent.removeFirst(session.write(bytes.span.bytes))
  }

  func session(_ session: Session, endedWith end: SessionEnd) { self.end = end }
}
