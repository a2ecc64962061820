import AccessoryCore
public import AccessoryHost
public import AccessoryProfiles
import AccessoryTransports
public import AccessoryWorlds
import ExternalAccessory

extension SimulatedWorld {
  /// What a world is like.
  @dynamicMemberLookup
  public struct Settings: Sendable {
    /// How time passes.
    public enum Clock: Sendable {
      /// When the test says so.
      case virtual
      /// By itself.
      case real
    }

    /// What is told first when an accessory goes.
    public typealias EndOrder = FrameworkSettings.EndOrder
    /// What streams say when their accessory goes.
    public typealias LossEvent = FrameworkSettings.LossEvent
    /// What a write without space returns.
    public typealias FullWrite = FrameworkSettings.FullWrite
    /// What comes first after a choice in the Bluetooth picker.
    public typealias PickerOrder = FrameworkSettings.PickerOrder
    /// What comes first at the end of a Wi-Fi accessory's configuration.
    public typealias ConfigurationOrder = FrameworkSettings.ConfigurationOrder
    /// The generation of `EAAccessory.description`.
    public typealias DescriptionLayout = FrameworkSettings.DescriptionLayout

    /// How time passes.
    public var clock = Clock.virtual
    /// What chance begins with.
    public var seed: UInt64 = 1
    /// The protocols that the app's Info.plist declares; nil for an app without one, which sees everything.
    public var declaredProtocols: [String]?
    /// The background modes of its Info.plist.
    public var backgroundModes: [String] = []
    /// How the system treats the app, as far as that is disputed or differs between systems.
    public var rules = AppRules()
    /// How Apple's framework tells the app what happens, as far as that is open or differs between systems. Each of its
    /// settings can be had by its own name: `settings.endOrder = .notificationFirst`.
    public var framework = FrameworkSettings()
    /// Whether accessories are shown, without protocols, before they are authenticated.
    public var publishesEarly = false
    /// A flicker that the device makes by itself, of accessories that behave.
    public var deviceFlicker: Flicker?
    /// Whether ``SimulatedWorld/transcript`` is kept.
    public var keepsTranscript = false
    /// How long a byte travels.
    public var latency = Duration.zero
    /// How many bytes a second a cable takes each way; as many as are sent, when nil.
    public var bytesPerSecond: Int?

    /// The scenario that was given; see ``SimulatedWorld/playScenario(asking:)``.
    public private(set) var scenario: Scenario?

    /// Every choice at its default.
    public init() {}

    /// A setting of ``framework``.
    public subscript<Value>(dynamicMember setting: WritableKeyPath<FrameworkSettings, Value>) -> Value {
      get { framework[keyPath: setting] }
      set { framework[keyPath: setting] = newValue }
    }

    /// The world of a scenario: its device, its cables, what is done to them, and how its app is treated.
    ///
    /// - Parameter reference: a name that `easim scenario list` shows, or the path of a scenario's file.
    /// - Throws: `SourceProblems`, which say what is wrong with the scenario and where.
    public init(scenario reference: String) throws {
      let scenario = try ScenarioLibrary().scenario(reference)
      self.scenario = scenario
      publishesEarly = scenario.policy == .early
      deviceFlicker = scenario.deviceFlicker
      latency = scenario.line.latency
      bytesPerSecond = scenario.line.bytesPerSecond
      rules = scenario.app.rules
      declaredProtocols = scenario.app.manifest.declaredProtocols
      backgroundModes = scenario.app.manifest.backgroundModes
    }
  }
}

extension SimulatedWorld.Settings {
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
    settings.deviceFlicker = deviceFlicker
    settings.line.latency = latency
    settings.line.bytesPerSecond = bytesPerSecond
    settings.faults = scenario?.faults ?? []
    return settings
  }
}
