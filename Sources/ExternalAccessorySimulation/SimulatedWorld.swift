import AccessoryCore
import AccessoryHost
public import AccessoryProfiles
public import AccessorySessions
import AccessoryTransports
import AccessoryWorlds
import ExternalAccessory
import Foundation

/// A world of simulated accessories that `EAAccessoryManager.shared()` shows while it lasts: what a test of an app
/// stands on, and what the app cannot see.
///
/// ```swift
/// try await withSimulatedWorld { world in
///   let glasses = try world.add("lawk-view", quirks: ["flicker"])
///   glasses.plugIn()
///   await world.run { app.isConnected }
///   #expect(world.misuses == [])
/// }
/// ```
///
/// Time is virtual unless ``Settings/clock`` says otherwise: nothing happens on the accessories' side until
/// ``settle()``, ``advance(by:)`` or ``run(limit:until:)`` lets it, and then everything that was told to the app has
/// been heard when they return: on the main thread, and on run loops of the app's own. Timers of the app stay real.
public final class SimulatedWorld: @unchecked Sendable {
  /// The realm that the manager shows.
  let realm: AccessoryRealm
  /// The loop of virtual time; nil in real time.
  let virtual: VirtualEntrance?
  let settings: Settings
  /// The world. On its loop only.
  private let inner: World
  private var isInstalled = true
  private var accessories: [WorldAccessory] = []
  /// Apps beside the one under test. On the loop only.
  private var others: [AppView] = []
  /// The steps of a scenario, while they are played. On the loop only.
  var timeline: ScenarioTimeline?
  private let lock = NSLock()

  /// A world with a device, an app and nothing plugged in; the manager shows it until ``end()``.
  ///
  /// - Throws: when the system gives no thread or descriptor, which virtual time needs none of.
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
    realm = AccessoryRealm(entrance, settings: settings.framework)
    let realm = realm
    inner = entrance.sync {
      let world = World(settings.world, on: entrance.loop)
      realm.look(at: world.device, as: settings.app)
      return world
    }
    EAAccessoryManager.shared().install(realm)
  }

  deinit { end() }

  /// Unplugs everything and gives the manager back what it showed before. Done by ``withSimulatedWorld(_:_:)``.
  ///
  /// The app hears of it on the main thread, later: ``settle()`` afterwards keeps that out of the next test.
  public func end() {
    let isFirst = lock.withLock {
      defer { isInstalled = false }
      return isInstalled
    }
    guard isFirst else { return }
    EAAccessoryManager.shared().remove(realm)
    endLife()
    let inner = LoopBound(inner, on: realm.entrance.loop)
    realm.entrance.sync {
      timeline?.cancel()
      inner.value.tearDown()
    }
    if let virtual {
      virtual.run(until: virtual.now + .seconds(1))
    } else {
      // Both ends hear of it in later turns of the loop.
      let limit = Date(timeIntervalSinceNow: 1)
      while perform({ $0.device.cableCount }) > 0, Date() < limit { Thread.sleep(forTimeInterval: 0.001) }
    }
    perform { _ in
      for other in others { other.close() }
      others = []
    }
    realm.end()
  }

  /// How much of the timeline and of the transcript was shown with failures.
  private var shown = (events: 0, lines: 0)

  /// What was shown before; from now on, this much was.
  func beginShowing(_ events: Int, _ lines: Int) -> (events: Int, lines: Int) {
    lock.withLock {
      defer { shown = (events, lines) }
      return shown
    }
  }

  /// Runs `body` on the world's loop.
  func perform<Value>(_ body: (World) -> Value) -> Value { realm.entrance.sync { body(inner) } }

  // MARK: What is in it

  /// Adds an accessory by the name of a profile, or by the path of a profile's file.
  ///
  /// - Parameter quirks: its oddities, as `easim run --quirk` takes them. With `flicker` it comes as Apple's EADemo
  ///   describes it: without protocols first, gone, and back with its protocols.
  /// - Throws: `SourceProblems`, which say what is wrong with the profile or a quirk and where.
  public func add(_ profile: String, quirks: [String] = []) throws -> WorldAccessory {
    var profile = try ProfileLibrary().profile(profile)
    for quirk in quirks { profile.apply(try Quirk(quirk)) }
    return add(profile)
  }

  /// Adds an accessory that is what a profile says.
  public func add(_ profile: Profile) -> WorldAccessory {
    let made = WorldAccessory(profile, in: self)
    lock.withLock { accessories.append(made) }
    return made
  }

  /// Every accessory that was added.
  var added: [WorldAccessory] { lock.withLock { accessories } }

  /// Another app of the device opens a session; whether it got one. `Settings.rules.otherApps` says what that means for
  /// the app under test.
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

  /// An app that does nothing with what it hears.
  private final class Onlooker: AppHandler {
    func accessoryDidConnect(_ accessory: PublishedAccessory, _ app: AppView) {}
    func accessoryDidDisconnect(_ accessory: PublishedAccessory, _ app: AppView) {}
  }

  // MARK: What was seen of it

  /// Everything that happened, at both ends, in order.
  public var events: [TimelineEvent] { perform { $0.events } }

  /// What passed on the cables, one line per packet, when ``Settings/keepsTranscript`` is set.
  public var transcript: [String] { perform { $0.transcript } }

  /// What the system showed to its user, in order: "Application Not Installed", and that a protocol is not declared.
  public var alerts: [String] {
    events.compactMap { event in if case .alert(let text) = event.kind { text } else { nil } }
  }

  /// What the app did that it must not do: unregistered once too often, wrote without space, read without bytes, let go
  /// of a session whose accessory is there still with a stream open. A sentence each; a test can require that there are
  /// none.
  public var misuses: [String] { realm.misuses }

  /// A sentence for each session that the app has not closed, and may be about to use still.
  public var openSessions: [String] { realm.openSessions }

  /// How often the app registered for notifications, less how often it took that back.
  public var registrationCount: Int { perform { [realm] _ in realm.app.registrationCount } }
}

/// The world is its loop's; test libraries that look into values must stop here.
extension SimulatedWorld: CustomReflectable {
  /// Empty.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
