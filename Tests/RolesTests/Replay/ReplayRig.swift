import AccessoryCables
import AccessoryCaptures
import AccessoryCore
import AccessoryHost
import AccessoryProfiles
import AccessoryReplay
import AccessorySessions
import AccessorySimulator
import AccessoryWorlds
import IAP2
import LinuxIO
import Testing

final class ReplayRig {
  let loop: VirtualLoop
  let world: World
  private let file: File

  private final class File { var bytes: [UInt8] = [] }

  init(seed: UInt64 = 7) {
    loop = VirtualLoop(seed: seed)
    let file = File()
    self.file = file
    var settings = World.Settings()
    settings.recorder = CaptureRecorder(program: "test") { file.bytes += $0 }
    settings.seed = seed
    world = World(settings, on: loop)
  }

  var bytes: [UInt8] { file.bytes }

  func recording() throws -> Recording { try Recording(DecodedCapture(file.bytes).entries) }

  @discardableResult
  func plug(_ profile: Profile) throws -> SimulatedAccessory {
    let accessory = world.add(profile)
    try accessory.plugIn()
    return accessory
  }

  func plug(_ recording: Recording, _ settings: ReplaySettings = ReplaySettings()) throws -> ReplayedAccessory {
    let profile = try #require(ReplayedAccessory.profile(of: recording))
    let accessory = ReplayedAccessory(
      recording, settings, at: world.makePort(), authenticator: world.authenticator(for: profile), on: loop
    ) { _ in }
    try accessory.plugIn()
    return accessory
  }

  func launch(_ recording: Recording, _ settings: ReplaySettings = ReplaySettings()) -> (ReplayedApp, AppView) {
    let app = ReplayedApp(recording, settings, on: loop)
    return (app, world.device.makeApp(app, settings: Self.everything))
  }

  static var everything: AppSettings {
    var settings = AppSettings()
    settings.rules.ignoreInfoPlist()
    return settings
  }

  /// Records an app that sends the requests to an accessory. The accessory is unplugged at the end.
  static func record(
    _ profile: Profile, _ requests: [String], of name: String? = nil
  ) throws -> (recording: Recording, app: AskingApp) {
    let rig = ReplayRig()
    let app = AskingApp(requests, of: name, in: rig)
    let accessory = try rig.plug(profile)
    try rig.run { app.isDone }
    accessory.unplug()
    try rig.loop.advance(by: .milliseconds(100))
    return (try rig.recording(), app)
  }

  /// Plays the accessory of a recording to an app that sends the requests, until the replay is over.
  static func ask(
    _ requests: [String], of name: String? = nil, _ recording: Recording,
    _ change: (inout ReplaySettings) -> Void = { _ in }
  ) throws -> (progress: ReplayProgress, app: AskingApp) {
    let rig = ReplayRig(seed: 8)
    var settings = ReplaySettings()
    change(&settings)
    let app = AskingApp(requests, of: name, in: rig)
    let accessory = try rig.plug(recording, settings)
    try rig.run { accessory.isOver }
    accessory.unplug()
    try rig.loop.advance(by: .milliseconds(100))
    return (accessory.progress, app)
  }

  /// Runs the loop until a condition holds, and then a little longer.
  func run(_ condition: () -> Bool) throws {
    #expect(try loop.run(until: condition))
    try loop.advance(by: .milliseconds(10))
  }
}

/// An app that sends each request after the previous answer has arrived, and then closes the session.
final class AskingApp: AppHandler, SessionHandler {
  private let requests: [String]
  private let protocolName: String?
  private(set) var answers = ""
  private(set) var events: [String] = []
  private(set) var isDone = false
  private var next = 0
  private let loop: any EventLoop
  private var view: AppView?

  init(_ requests: [String], of protocolName: String? = nil, in rig: ReplayRig) {
    (self.requests, self.protocolName, loop) = (requests, protocolName, rig.loop)
    view = rig.world.device.makeApp(self, settings: ReplayRig.everything)
  }

  func leave() {
    view?.close()
    view = nil
  }

  func accessoryDidConnect(_ accessory: PublishedAccessory, _ app: AppView) {
    events.append("connect \(accessory.protocols.joined(separator: " "))")
    guard let name = protocolName ?? accessory.protocols.first,
      let session = try? app.openSession(with: accessory, protocolName: name)
    else { return }
    session.handler = self
    ask(session)
  }

  func accessoryDidDisconnect(_ accessory: PublishedAccessory, _ app: AppView) { events.append("disconnect") }

  private func ask(_ session: Session) {
    guard next < requests.count else {
      isDone = true
      return session.close()
    }
    let request = Array(requests[next].utf8)
    next += 1
    loop.schedule(after: .milliseconds(20)) { session.write(request.span.bytes) }
  }

  func sessionIsReadable(_ session: Session) {
    session.read { bytes in
      answers += bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
      return bytes.byteCount
    }
    ask(session)
  }

  func sessionIsWritable(_ session: Session) {}
  func session(_ session: Session, endedWith end: SessionEnd) {
    events.append("end")
    isDone = true
  }
}
