import AccessoryCore
import AccessoryFormats
public import AccessoryHost
public import AccessoryProfiles
public import AccessoryWorlds
import ExternalAccessory

extension SimulatedWorld {
  /// The settings of a world.
  @dynamicMemberLookup
  public struct Settings: Sendable {
    /// How time passes.
    public enum Clock: Sendable {
      /// Time passes only in `SimulatedWorld.advance(by:)` and ``SimulatedWorld/run(limit:isolation:until:)``.
      case virtual
      /// Time advances automatically.
      case real
    }

    /// Whether streams end before or after the notification when an accessory disconnects.
    public typealias EndOrder = FrameworkSettings.EndOrder
    /// The event that streams receive when an accessory disconnects.
    public typealias LossEvent = FrameworkSettings.LossEvent
    /// The result of a write when there is no space.
    public typealias FullWrite = FrameworkSettings.FullWrite
    /// Whether the connect notification is posted before or after the completion is called, when the user chooses an
    /// accessory in the Bluetooth picker.
    public typealias PickerOrder = FrameworkSettings.PickerOrder
    /// Whether the delegate receives the result or the state change first when a Wi-Fi configuration ends.
    public typealias ConfigurationOrder = FrameworkSettings.ConfigurationOrder
    /// The format version of `EAAccessory.description`.
    public typealias DescriptionLayout = FrameworkSettings.DescriptionLayout

    /// How time passes.
    public var clock = Clock.virtual
    /// The random seed. The same seed gives the same run.
    public var seed: UInt64 = 1
    /// Whether the app's timers on the main run loop fire in virtual time. If false, these timers fire in real time
    /// while the main run loop is running. Under Swift Testing, the main run loop never runs.
    public var firesTimers = true
    /// Whether `FrameworkSettings.sendBufferSize` is derived from the seed. A size that is derived from the seed is
    /// an odd number no greater than 4,095.
    public var variesSendBuffer = false
    /// How long, in real time, a wait in virtual time continues while the world is idle and the app's threads or tasks
    /// may still be working. No wait exceeds its own limit.
    public var patience = Duration.seconds(5)
    /// The protocols that the app's Info.plist declares. If this is nil, there is no Info.plist and the app sees all
    /// accessories.
    public var declaredProtocols: [String]?
    /// The background modes in the app's Info.plist.
    public var backgroundModes: [String] = []
    /// How the system treats the app in cases where published sources disagree or system versions differ.
    public var rules = AppRules()
    /// How Apple's framework reports events in cases where its documentation says nothing or OS versions differ. Each
    /// of these settings can also be accessed directly: `settings.endOrder = .notificationFirst`.
    public var framework = FrameworkSettings()
    /// Whether apps see accessories, without their protocols, before they are authenticated.
    public var publishesEarly = false
    /// Whether the device asks accessories for authentication or identification first.
    public var order = HostOrder.authentication
    /// A flicker that the device causes for accessories that do not flicker themselves.
    public var deviceFlicker: Flicker?
    /// Whether to keep ``SimulatedWorld/transcript``.
    public var keepsTranscript = false
    /// The delay of each cable.
    public var latency = Duration.zero
    /// The rate of each cable in each direction, in bytes per second, or nil if it is unlimited.
    public var bytesPerSecond: Int?

    /// The scenario from which these settings were created, if any. See ``SimulatedWorld/playScenario(asking:)``.
    public private(set) var scenario: Scenario?

    /// Creates the default settings.
    public init() {}

    /// Accesses a setting of ``framework``.
    public subscript<Value>(dynamicMember setting: WritableKeyPath<FrameworkSettings, Value>) -> Value {
      get { framework[keyPath: setting] }
      set { framework[keyPath: setting] = newValue }
    }

    /// Creates the settings that a scenario specifies: its device, its cables and their faults, and the rules for its
    /// app.
    ///
    /// - Parameter reference: a name from `easim scenario list`, or the path of a scenario file.
    /// - Throws: `SourceProblems`, which lists the errors in the scenario and their positions.
    public init(scenario reference: String) throws {
      let scenario = try ScenarioLibrary().scenario(reference)
      self.scenario = scenario
      publishesEarly = scenario.policy == .early
      deviceFlicker = scenario.deviceFlicker
      order = scenario.order
      latency = scenario.speed.latency
      bytesPerSecond = scenario.speed.bytesPerSecond
      rules = scenario.app.rules
      declaredProtocols = scenario.app.manifest.declaredProtocols
      backgroundModes = scenario.app.manifest.backgroundModes
    }
  }
}

extension SimulatedWorld.Settings {
  var chosenFramework: FrameworkSettings {
    var chosen = framework
    if variesSendBuffer {
      var random = SeededRandom(seed: seed)
      chosen.sendBufferSize = Int.random(in: 30...2047, using: &random) * 2 + 1
    }
    return chosen
  }

  var app: AppSettings {
    var settings = AppSettings()
    settings.filterSwitch = "Settings.rules.visibility and .undeclaredSessions"
    settings.rules = rules
    settings.manifest = AppManifest(declaredProtocols: declaredProtocols, backgroundModes: backgroundModes)
    return settings
  }

  var world: World.Settings {
    var settings = World.Settings()
    settings.seed = seed
    settings.keepsTranscript = keepsTranscript
    settings.policy = publishesEarly ? .early : .ready
    settings.order = order
    settings.deviceFlicker = deviceFlicker
    settings.speed.latency = latency
    settings.speed.bytesPerSecond = bytesPerSecond
    settings.faults = scenario?.faults ?? []
    return settings
  }
}

/// Plays a scenario that includes the app under test.
///
/// ```swift
/// try await withSimulatedWorld(.init(scenario: "transport-switch")) { world in
///   let app = App()
///   world.playScenario()
///   await world.advance(by: world.scenarioLength)
///   #expect(app.isConnected)
/// }
/// ```
extension SimulatedWorld {
  /// An action that ``playScenario(asking:)`` asks the app to perform.
  public typealias Wish = AppAction

  /// The duration of the scenario that was passed to ``Settings/init(scenario:)``.
  public var scenarioLength: Duration { settings.scenario?.length ?? .zero }

  /// Starts the scenario that was passed to ``Settings/init(scenario:)``: its accessories, its cables, its device, and
  /// everything that affects the app from outside.
  ///
  /// Before `app` is called for a step that kills, crashes or launches the app, the world performs that step
  /// (``killApp(sessions:)``, ``launchApp()``). The world simulates all other SDKs and apps.
  ///
  /// - Parameter app: called on the main thread for each action that only the app can perform: launching, quitting,
  ///   opening or closing a session at the user's request, and reading the list of accessories. For `.ends`, release
  ///   the app's objects. For `.launches`, create new ones.
  /// - Returns: the accessories, by their names in the scenario.
  @discardableResult
  public func playScenario(
    asking app: @escaping @Sendable (Wish) -> Void = { _ in }
  )
    -> [String: WorldAccessory]
  {
    play { [unowned self] action in
      switch action {
      case .moves(let state): move(to: state)
      case .registers: realm.app?.register()
      case .unregisters: realm.app?.unregister()
      case .ends(let ending, let leavesSessions):
        let sessions: SessionsOfEndedApp = leavesSessions ? .left : .closed
        if ending == .kill { killApp(sessions: sessions) } else { crashApp(sessions: sessions) }
        realm.main.add { app(action) }
      case .launches:
        if realm.app == nil { launchApp() }
        realm.main.add { app(action) }
      case .quits, .opensSession, .closesSession, .looks: realm.main.add { app(action) }
      }
    }
  }

  /// Plays the scenario. Calls `app` on the loop for each of the app's actions, and `sdk` for each action of another
  /// SDK in the app. If `sdk` is nil, the world simulates that SDK.
  func play(
    sdk: ((AppAction) -> Void)? = nil, _ app: @escaping (AppAction) -> Void
  ) -> [String: WorldAccessory] {
    guard let scenario = settings.scenario else {
      preconditionFailure("playScenario needs a world created with SimulatedWorld.Settings(scenario:)")
    }
    precondition(perform { _ in timeline == nil }, "playScenario can be called once for each world")
    var parts: [String: WorldAccessory] = [:]
    for part in scenario.accessories { parts[part.name] = add(part.profile) }
    perform { [parts] inner in
      let other = ScenarioApp(scenario, client: nil, on: inner.device) { [unowned inner] in inner.record($0) }
      let second = ScenarioSDK(scenario, on: inner.loop) { [unowned inner] in inner.record($0) }
      let sdk = sdk ?? { [realm] in second.perform($0, in: realm.app) }
      otherApp = other
      let actions = ActionPlayer(in: inner) {
        parts[$0]?.simulated
      } app: { action, role in
        switch role {
        case .tested, .named: app(action)
        case .sdk: sdk(action)
        case .other: other.perform(action)
        }
      }
      let made = ScenarioTimeline(scenario, holds: false, on: realm.entrance.loop) { action in
        do { try actions.perform(action) } catch {
          preconditionFailure("plugging in an in-memory cable failed: \(error)")
        }
      }
      timeline = made
      made.start()
    }
    return parts
  }
}
