import AccessoryCore
public import AccessoryHost
public import AccessoryProfiles
import AccessoryTransports
public import AccessoryWorlds
import ExternalAccessory

extension SimulatedWorld {
  /// What a world is like.
  public struct Settings: Sendable {
    /// How time passes.
    public enum Clock: Sendable {
      /// When the test says so.
      case virtual
      /// By itself.
      case real
    }

    /// What is told first when an accessory goes.
    public enum EndOrder: Sendable, CaseIterable {
      /// The streams that end, then the notification.
      case streamsFirst
      /// The notification, then the streams.
      case notificationFirst
    }

    /// What streams say when their accessory goes.
    public enum LossEvent: Sendable, CaseIterable {
      /// `endEncountered` on both.
      case endEncountered
      /// `errorOccurred` on both.
      case errorOccurred
      /// Nothing, until the next write fails.
      case silence
    }

    /// What a write without space returns.
    public enum FullWrite: Sendable, CaseIterable {
      /// 0.
      case zero
      /// -1.
      case minusOne
    }

    /// What comes first after a choice in the Bluetooth picker.
    public enum PickerOrder: Sendable, CaseIterable {
      /// The connect notification.
      case connectFirst
      /// The completion.
      case completionFirst
    }

    /// What comes first at the end of a Wi-Fi accessory's configuration.
    public enum ConfigurationOrder: Sendable, CaseIterable {
      /// `didFinishConfiguringAccessory`.
      case finishedFirst
      /// The state `stopped`.
      case stoppedFirst
    }

    /// The generation of `EAAccessory.description`.
    public enum DescriptionLayout: Sendable, CaseIterable {
      /// iOS 12's.
      case a
      /// With a region code.
      case b
      /// Without a delegate.
      case c
    }

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
    /// Streams or notification first.
    public var endOrder = EndOrder.streamsFirst
    /// What streams say when their accessory goes.
    public var lossEvent = LossEvent.endEncountered
    /// What a write without space returns.
    public var fullWrite = FullWrite.zero
    /// How long a session lives that the app let go of.
    public var lifetime = SessionLifetime.Rule.heldOrOpen
    /// The Bluetooth picker's completion and the connect.
    public var pickerOrder = PickerOrder.connectFirst
    /// The end of a configuration and the state.
    public var configurationOrder = ConfigurationOrder.finishedFirst
    /// The layout of descriptions.
    public var layout = DescriptionLayout.b
    /// How many bytes a stream holds each way between the app and the wire.
    public var bufferSize = 64 * 1024
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
  var realm: RealmSettings {
    var settings = RealmSettings()
    settings.endOrder = endOrder == .streamsFirst ? .streamsFirst : .notificationFirst
    settings.lossEvent =
      switch lossEvent {
      case .endEncountered: .endEncountered
      case .errorOccurred: .errorOccurred
      case .silence: .silence
      }
    settings.fullWrite = fullWrite == .zero ? .zero : .minusOne
    settings.lifetime = lifetime
    settings.pickerOrder = pickerOrder == .connectFirst ? .connectFirst : .completionFirst
    settings.configurationOrder = configurationOrder == .finishedFirst ? .finishedFirst : .stoppedFirst
    settings.layout =
      switch layout {
      case .a: .a
      case .b: .b
      case .c: .c
      }
    settings.bufferSize = bufferSize
    return settings
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
    settings.deviceFlicker = deviceFlicker
    settings.line.latency = latency
    settings.line.bytesPerSecond = bytesPerSecond
    settings.faults = scenario?.faults ?? []
    return settings
  }
}
