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

    /// The order of the end-of-stream events and the notification at a disconnect.
    public typealias EndOrder = FrameworkSettings.EndOrder
    /// The event that streams receive at a disconnect.
    public typealias LossEvent = FrameworkSettings.LossEvent
    /// The result of a write when there is no space.
    public typealias FullWrite = FrameworkSettings.FullWrite
    /// The order of the connect notification and the completion call after a choice in the Bluetooth picker.
    public typealias PickerOrder = FrameworkSettings.PickerOrder
    /// The order of the result and the state change at the end of a Wi-Fi configuration.
    public typealias ConfigurationOrder = FrameworkSettings.ConfigurationOrder
    /// The format version of `EAAccessory.description`.
    public typealias DescriptionLayout = FrameworkSettings.DescriptionLayout

    /// How time passes.
    public var clock = Clock.virtual
    /// The random seed: the same seed gives the same run.
    public var seed: UInt64 = 1
    /// Whether the app's timers on the main run loop fire in virtual time. If false, these timers fire in real time
    /// while the main run loop runs; under Swift Testing, it never does.
    public var firesTimers = true
    /// Whether ``FrameworkSettings/sendBufferSize`` is derived from the seed, as an odd number of at most 4,095.
    public var variesSendBuffer = false
    /// The real time for which a wait in virtual time continues while nothing happens in the world but the app's
    /// threads or tasks may still be working. A wait never exceeds its own limit.
    public var patience = Duration.seconds(5)
    /// The protocols that the app's Info.plist declares. Nil means no Info.plist; the app then sees all accessories.
    public var declaredProtocols: [String]?
    /// The background modes in the app's Info.plist.
    public var backgroundModes: [String] = []
    /// How the system treats the app in cases where sources disagree or systems differ.
    public var rules = AppRules()
    /// How Apple's framework reports events where its documentation says nothing or OS versions differ. Each of these
    /// settings can also be accessed directly: `settings.endOrder = .notificationFirst`.
    public var framework = FrameworkSettings()
    /// Whether the device shows accessories, without protocols, before they are authenticated.
    public var publishesEarly = false
    /// Whether the device asks accessories for authentication or identification first.
    public var order = HostOrder.authentication
    /// A flicker caused by the device, for accessories that do not flicker themselves.
    public var deviceFlicker: Flicker?
    /// Whether to keep ``SimulatedWorld/transcript``.
    public var keepsTranscript = false
    /// The delay of each cable.
    public var latency = Duration.zero
    /// The rate of each cable in each direction, in bytes per second; nil means unlimited.
    public var bytesPerSecond: Int?

    /// The scenario from which these settings were created, if any; see ``SimulatedWorld/playScenario(asking:)``.
    public private(set) var scenario: Scenario?

    /// Creates the default settings.
    public init() {}

    /// Accesses a setting of ``framework``.
    public subscript<Value>(dynamicMember setting: WritableKeyPath<FrameworkSettings, Value>) -> Value {
      get { framework[keyPath: setting] }
      set { framework[keyPath: setting] = newValue }
    }

    /// Creates the settings of a scenario: its device, its cables and their faults, and the rules for its app.
    ///
    /// - Parameter reference: a name from `easim scenario list`, or the path of a scenario file.
    /// - Throws: `SourceProblems` with the errors in the scenario and their positions.
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
