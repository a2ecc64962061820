import AccessoryCore
import AccessoryHost
import AccessoryProfiles
import AccessorySessions
import AccessorySimulator
import AccessoryWorlds
import IAP2
import LinuxIO
import Testing

/// Tests apps in a world, where real sessions carry out what the state machines decide.
@Suite struct AppViewTests {
  final class App: AppHandler, SessionHandler {
    var view: AppView?
    var heard: [String] = []
    var bytes = 0
    private(set) var sessions: [Session] = []

    init(in world: World, manifest: AppManifest = .none, _ change: (inout AppSettings) -> Void = { _ in }) {
      var settings = AppSettings()
      settings.manifest = manifest
      change(&settings)
      view = world.device.makeApp(self, settings: settings)
    }

    func open(_ accessory: PublishedAccessory, _ app: AppView) {
      do {
        let session = try app.openSession(with: accessory, protocolName: accessory.protocols.first ?? "none")
        session.handler = self
        sessions.append(session)
      } catch {
        heard.append("nil")
      }
    }

    func accessoryDidConnect(_ accessory: PublishedAccessory, _ app: AppView) {
      heard.append("connect \(accessory.protocols)")
      if !accessory.protocols.isEmpty { open(accessory, app) }
    }

    func accessoryDidDisconnect(_ accessory: PublishedAccessory, _ app: AppView) {
      heard.append("disconnect \(accessory.protocols)")
    }

    func sessionIsReadable(_ session: Session) {
      session.read {
        bytes += $0.byteCount
        return $0.byteCount
      }
    }

    func sessionIsWritable(_ session: Session) {}
    func session(_ session: Session, endedWith end: SessionEnd) { heard.append("end") }
  }

  static let offer = "[\"com.example.echo\"]"
  static let keeping = AppManifest(
    origin: .file("/app/Info.plist"), declaredProtocols: ["com.example.echo"], backgroundModes: [AppManifest.mode])

  let loop = VirtualLoop(seed: 7)
  let world: World
  let accessory: SimulatedAccessory

  init() throws {
    world = World(on: loop)
    accessory = world.add(try ProfileLibrary().profile("echo"))
  }

  func settle() throws { try loop.advance(by: .seconds(1)) }

  func write(_ count: Int, to session: Session?) throws {
    let bytes = [UInt8](repeating: 7, count: count)
    #expect(session?.write(bytes.span.bytes) == count)
  }

  @Test func aSuspendedAppHearsOfBytesTheEndAndTheDisconnectWhenItRunsAgain() throws {
    let app = App(in: world, manifest: Self.keeping) { $0.rules.wakesForBytes = false }
    try accessory.plugIn()
    try settle()
    try write(100, to: app.sessions.first)
    app.view?.move(to: .suspended)
    try settle()
    #expect(app.bytes == 0, "the echo waits")
    accessory.unplug()
    try settle()
    #expect(app.heard == ["connect \(Self.offer)"])
    #expect(app.sessions.first?.isOpen == false, "and the session is over all the same")
    app.view?.move(to: .foreground)
    #expect(app.bytes == 100)
    #expect(app.heard == ["connect \(Self.offer)", "end", "disconnect \(Self.offer)"])
  }

  @Test(arguments: [
    (AppRules.SecondSession.closesFirst, [false, true]), (.refused, [true]), (.sideBySide, [true, true]),
  ])
  func theSecondSessionIsTreatedAsTheRuleSays(rule: AppRules.SecondSession, open: [Bool]) throws {
    let app = App(in: world) { $0.rules.secondSession = rule }
    try accessory.plugIn()
    try settle()
    if let view = app.view { app.open(view.accessories[0], view) }
    try settle()
    #expect(app.sessions.map(\.isOpen) == open)
    try write(10, to: app.sessions.last)
    try settle()
    #expect(app.bytes == 10)
    #expect(app.heard.contains("nil") == (rule == .refused))
    let warnings = world.events.filter { $0.kind.name == "warning" }.map(\.json)
    #expect(warnings.contains { $0.contains("opening session failed: the app already has") } == (rule == .refused))
  }

  @Test func thereIsNoAlertWhenOneAppOfSeveralWantsTheAccessory() throws {
    let other = App(in: world, manifest: AppManifest(declaredProtocols: ["com.example.other"]))
    let wanting = App(in: world, manifest: Self.keeping)
    try accessory.plugIn()
    try settle()
    #expect(!world.events.contains { $0.kind.name == "alert" })
    #expect(other.heard == [] && wanting.heard == ["connect \(Self.offer)"])
  }
}
