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
    var opens = true
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
      if opens, !accessory.protocols.isEmpty { open(accessory, app) }
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
  static let losing = AppManifest(origin: .file("/app/Info.plist"), declaredProtocols: ["com.example.echo"])

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

  @Test func bytesWakeASuspendedAppForTenSeconds() throws {
    let app = App(in: world, manifest: Self.keeping)
    try accessory.plugIn()
    try settle()
    app.view?.move(to: .suspended)
    try write(100, to: app.sessions.first)
    try settle()
    #expect(app.bytes == 100)
    #expect(app.view?.state == .background)
    try loop.advance(by: .seconds(10))
    #expect(app.view?.state == .suspended)
    try write(1, to: app.sessions.first)
    try settle()
    #expect(app.bytes == 101)
  }

  @Test func withoutTheModeTheSessionsEndAndTheAccessoryStaysPluggedIn() throws {
    let app = App(in: world, manifest: Self.losing)
    try accessory.plugIn()
    try settle()
    app.view?.move(to: .background)
    try settle()
    #expect(app.heard == ["connect \(Self.offer)", "end", "disconnect \(Self.offer)"])
    #expect(app.view?.accessories == [])
    #expect(world.device.published.count == 1)
    app.view?.move(to: .foreground)
    try settle()
    #expect(app.heard.suffix(1) == ["connect \(Self.offer)"])
    #expect(app.sessions.last?.isOpen == true)
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

  @Test func aSessionThatWasClosedMakesRoomForTheNext() throws {
    let app = App(in: world) { $0.rules.secondSession = .refused }
    try accessory.plugIn()
    try settle()
    app.sessions[0].close()
    try settle()
    if let view = app.view { app.open(view.accessories[0], view) }
    #expect(app.sessions.map(\.isOpen) == [false, true])
  }

  @Test(arguments: [
    (AppRules.OtherApps.shared, [true, true]), (.refused, [true, false]), (.interrupted, [false, true]),
  ])
  func twoAppsShareAProtocolAsTheRuleSays(rule: AppRules.OtherApps, open: [Bool]) throws {
    let apps = (0..<2).map { _ in App(in: world) { $0.rules.otherApps = rule } }
    try accessory.plugIn()
    try settle()
    #expect(apps.map { $0.sessions.first?.isOpen ?? false } == open)
  }

  @Test func anAccessoryThatNoAppWantsRaisesTheAlertOnceItHasProtocols() throws {
    let other = AppManifest(origin: .file("/app/Info.plist"), declaredProtocols: ["com.example.other"])
    let app = App(in: world, manifest: other)
    let flickering = world.add(try flickeringProfile())
    try flickering.plugIn()
    try settle()
    #expect(app.heard == ["connect []", "disconnect []"])
    #expect(app.view?.accessories == [] && app.view?.hiddenAccessories.count == 1)
    let alerts = world.events.compactMap { event -> String? in
      if case .alert(let text) = event.kind { return text }
      return nil
    }
    #expect(alerts == ["Application Not Installed: no app declares a protocol of Echo (com.example.echo)"])
    let warning = world.events.first { $0.side == .app && $0.kind.name == "warning" }?.json ?? ""
    #expect(warning.contains("the app does not see Echo") && warning.contains("/app/Info.plist"))
  }

  @Test func thereIsNoAlertWhenOneAppOfSeveralWantsTheAccessory() throws {
    let other = App(in: world, manifest: AppManifest(declaredProtocols: ["com.example.other"]))
    let wanting = App(in: world, manifest: Self.keeping)
    try accessory.plugIn()
    try settle()
    #expect(!world.events.contains { $0.kind.name == "alert" })
    #expect(other.heard == [] && wanting.heard == ["connect \(Self.offer)"])
  }

  @Test func anAppThatStartsLateFindsTheAccessoryInItsList() throws {
    try accessory.plugIn()
    try settle()
    let app = App(in: world)
    try settle()
    #expect(app.heard == [])
    #expect(app.view?.accessories.map(\.protocols) == [["com.example.echo"]])
  }

  @Test func misuseIsKept() throws {
    let app = App(in: world) { $0.startsRegistered = false }
    app.view?.unregister()
    #expect(app.view?.misuses.count == 1)
    app.view?.register()
    try accessory.plugIn()
    try settle()
    #expect(app.heard == ["connect \(Self.offer)"])
  }

  @Test func anAppThatClosesEndsItsSessions() throws {
    let app = App(in: world)
    try accessory.plugIn()
    try settle()
    app.view?.close()
    try settle()
    #expect(app.sessions.first?.isOpen == false)
    accessory.unplug()
    try settle()
    #expect(app.heard == ["connect \(Self.offer)", "end"], "it looks no longer")
  }

  func flickeringProfile() throws -> Profile {
    var profile = try ProfileLibrary().profile("echo")
    profile.apply(.flicker(Flicker()))
    return profile
  }
}
