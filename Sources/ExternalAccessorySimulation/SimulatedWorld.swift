import AccessoryCore
import AccessoryHost
public import AccessoryProfiles
public import AccessorySessions
import AccessoryWorlds
import ExternalAccessory
import Foundation
import LinuxIO
import Testing

/// A world of simulated accessories, which `EAAccessoryManager.shared()` shows while the world exists. A test controls
/// the world, while the app under test uses only Apple's API.
///
/// ```swift
/// try await withSimulatedWorld { world in
///   let glasses = try world.add("lawk-view", quirks: ["flicker"])
///   glasses.plugIn()
///   await world.expect { app.isConnected }
///   #expect(world.misuses == [])
/// }
/// ```
///
/// Unless ``Settings/clock`` is `.real`, time is virtual: the accessories and the device act only in `settle()`,
/// `advance(by:)` and ``run(limit:isolation:until:)``. When one of these methods returns, the app has received all
/// events, on the main thread and on its own run loops. The app's timers on the main run loop fire in the world's time.
/// If the app accepts a clock, its sleeps on ``clock`` also end in the world's time. All other waits in the app use
/// real time.
public final class SimulatedWorld: CustomReflectable, @unchecked Sendable {
  let realm: AccessoryRealm
  let virtual: VirtualEntrance?
  let settings: Settings
  /// The inner world. Use this property only on the event loop.
  private let inner: World
  /// The trace that is written if the test fails. Use this property only on the event loop.
  let trace: WorldTrace
  private var isInstalled = true
  private var accessories: [WorldAccessory] = []
  /// Other apps on the device. Use this list only on the event loop.
  var others: [AppView] = []
  /// The declarations in `Bundle.main` before the world changed them.
  private var bundleBefore: BundleDeclarations?
  /// The scenario that is being played. Use this property only on the event loop.
  var timeline: ScenarioTimeline?
  /// The scenario's other app. Use this property only on the event loop.
  var otherApp: ScenarioApp?
  /// The app's timers on the main run loop, or nil if they fire in real time.
  private let timers: MainLoopTimers?
  /// The app's tasks that are sleeping on the world's clock.
  let sleepers: Sleepers
  /// How long calls have waited for the app while the world stood still, in seconds of real time.
  let stoodStill = Locked(0.0)
  /// Whether `withSimulatedWorld` adds the timeline to every issue of the test.
  var addsReportToIssues = false
  /// Fails the world's test at the given location. Nil if the test library is Swift Testing.
  package var failing: ((String, SourceLocation) -> Void)?
  private let lock = Lock()

  /// Creates a world with a device, an app and no accessories. The manager shows this world until ``end()`` is called.
  ///
  /// - Throws: an error if a world in real time cannot get a thread or a file descriptor.
  public init(_ settings: Settings = Settings()) throws {
    self.settings = settings
    let entrance: any LoopEntrance
    switch settings.clock {
    case .virtual:
      let made = VirtualEntrance(VirtualLoop(seed: settings.seed))
      (entrance, virtual) = (made, made)
    case .real:
      entrance = try ThreadEntrance(EpollLoop(seed: settings.seed))
      virtual = nil
    }
    let name = Self.nextName()
    realm = AccessoryRealm(entrance, settings: settings.chosenFramework, world: name)
    sleepers = Sleepers(entrance)
    timers = settings.firesTimers ? virtual.map { [main = realm.main] in MainLoopTimers($0, main: main) } : nil
    let realm = realm
    let made = WorldTrace(name, isVirtual: virtual != nil)
    trace = made
    inner = entrance.sync {
      var choices = settings.world
      made.record(&choices)
      let world = World(choices, on: entrance.loop)
      realm.look(at: world.device, as: settings.app)
      return world
    }
    if let declared = settings.declaredProtocols {
      bundleBefore = .current
      BundleDeclarations(protocols: declared, modes: settings.backgroundModes).apply()
    }
    EAAccessoryManager.shared().install(realm)
  }

  private static let count = Locked(0)

  /// Returns a name for the next world, for use in messages: the world's number in this process and the name of its
  /// test.
  private static func nextName() -> String {
    let number = count.withLock { count -> Int in
      count += 1
      return count
    }
    return Test.current.map { "world \(number) (test \($0.name))" } ?? "world \(number)"
  }

  deinit { end() }

  /// Unplugs everything, and restores what the manager showed before. ``withSimulatedWorld(_:isolation:_:)`` calls
  /// this.
  ///
  /// The app receives the disconnects later, on the main thread. Call `settle()` afterwards, so that the next test does
  /// not receive these notifications.
  public func end() {
    let isFirst = lock.withLock {
      defer { isInstalled = false }
      return isInstalled
    }
    guard isFirst else { return }
    EAAccessoryManager.shared().remove(realm)
    if let standstill { FileHandle.standardError.write(Data("SimulatedWorld: \(standstill)\n".utf8)) }
    timers?.end()
    sleepers.end()
    endLife()
    bundleBefore?.apply()
    let inner = LoopBound(inner, on: realm.entrance.loop)
    realm.entrance.sync {
      timeline?.cancel()
      inner.value.tearDown()
    }
    if let virtual {
      virtual.run(until: virtual.now + .seconds(1))
    } else {
      // The accessories and the device need more turns of the loop to stop.
      let limit = Date(timeIntervalSinceNow: 1)
      while perform({ $0.device.cableCount }) > 0, Date() < limit { Thread.sleep(forTimeInterval: 0.001) }
    }
    perform { _ in
      for other in others { other.close() }
      others = []
      otherApp?.quit()
    }
    realm.end()
  }

  /// The world's time as a clock, for apps that accept one.
  public var clock: WorldClock { WorldClock(realm, sleepers) }

  /// The number of tasks sleeping on ``clock``.
  public var sleeperCount: Int { sleepers.count }

  /// A sentence that states how long the world stood still while the app was working in real time, or nil if it never
  /// did.
  package var standstill: String? {
    let seconds = stoodStill.withLock { $0 }
    guard seconds >= 0.1 else { return nil }
    return String(format: "%.1f s of real time passed while the world's time stood still: ", seconds)
      + "the app waits with asyncAfter, Task.sleep, or a timer on another thread. Use world.clock in the app, or "
      + "shorten the wait"
  }

  /// How many lines of the timeline and the transcript have already been shown with failures.
  let shown = Locked((events: 0, lines: 0))

  func perform<Value>(_ body: (World) -> Value) -> Value { realm.entrance.sync { body(inner) } }

  // MARK: Accessories

  /// Adds an accessory by the name of a profile, or by the path of a profile file.
  ///
  /// - Parameters:
  ///   - profile: the name or the path.
  ///   - quirks: quirks, written as for `easim run --quirk`. With `flicker`, the accessory behaves as Apple's EADemo
  ///     describes: it connects without protocols, disconnects, and connects again with its protocols.
  /// - Throws: `SourceProblems`, which lists the errors in the profile or in a quirk, and their positions.
  public func add(_ profile: String, quirks: [String] = []) throws -> WorldAccessory {
    var profile = try ProfileLibrary().profile(profile)
    for quirk in quirks { profile.apply(try Quirk(quirk)) }
    return add(profile)
  }

  /// Adds an accessory with this profile.
  public func add(_ profile: Profile) -> WorldAccessory {
    let made = WorldAccessory(profile, in: self)
    lock.withLock { accessories.append(made) }
    return made
  }

  var added: [WorldAccessory] { lock.withLock { accessories } }

  /// Opens a session in another app on the device. Returns true if the session was opened. `Settings.rules.otherApps`
  /// determines how the session affects the app under test.
  @discardableResult
  public func openInAnotherApp(_ accessory: WorldAccessory, protocolName: String) -> Bool {
    perform { [self] inner in
      var settings = AppSettings()
      settings.rules.otherApps = self.settings.rules.otherApps
      let other = inner.device.makeApp(Onlooker(), settings: settings)
      others.append(other)
      let serial = accessory.profile.identity.serialNumber
      guard let shown = other.accessories.first(where: { $0.serialNumber == serial }) else { return false }
      return (try? other.openSession(with: shown, protocolName: protocolName)) != nil
    }
  }

  private final class Onlooker: AppHandler {
    func accessoryDidConnect(_ accessory: PublishedAccessory, _ app: AppView) {}
    func accessoryDidDisconnect(_ accessory: PublishedAccessory, _ app: AppView) {}
  }

  // MARK: Results

  /// The timeline: everything that happened to the accessories, the device and the app, in order.
  public var events: [TimelineEvent] { perform { $0.events } }

  /// The packets on the cables, one per line, if ``Settings/keepsTranscript`` is set.
  public var transcript: [String] { perform { $0.transcript } }

  /// The alerts that the system showed, in order: "Application Not Installed", and alerts about undeclared protocols.
  public var alerts: [String] {
    events.compactMap { event in if case .alert(let text) = event.kind { text } else { nil } }
  }

  /// An explanation of each misuse by the app, such as unregistering too many times, or releasing a session while a
  /// stream is open. A test can check that this list is empty.
  public var misuses: [String] { realm.misuses }

  /// One sentence for each session that is still open.
  public var openSessions: [String] { realm.openSessions }

  /// The number of registrations for notifications that are still in effect.
  public var registrationCount: Int { perform { [realm] _ in realm.app?.registrationCount ?? 0 } }

  /// A mirror without children. When an expectation fails, test libraries use `Mirror` to print its values. A world's
  /// contents belong to its loop and must not be read on another thread.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
