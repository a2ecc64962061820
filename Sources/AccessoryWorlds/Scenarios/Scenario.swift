import AccessoryCore
import AccessoryHost
import AccessoryProfiles
import AccessorySessions
import AccessoryTransports
import IAP2

/// A timeline of steps, each for the accessory, the cable, the device or the app, and what the app must see.
///
/// A scenario reproduces one failure from the field. It says what happens around the app; what the app does is a
/// ``ScenarioClient``, so the same scenario can be played with an app that breaks and with one that survives.
public struct Scenario: Equatable, Sendable {
  /// The version of the file format that this code reads.
  public static let formatVersion = 1

  /// What it is about.
  public var about: About
  /// The name of the client that it breaks; see ``ScenarioClients``.
  public var naiveClient: String?
  /// How the cables carry bytes.
  public var line = World.Settings.Line()
  /// The accessories, by the name that steps use.
  public var accessories: [Part]
  /// When the device publishes accessories to apps.
  public var policy: PublicationMachine.Policy
  /// What becomes of an accessory that does not authenticate.
  public var authentication = AuthenticationMode.verify
  /// A flicker that the device causes.
  public var deviceFlicker: Flicker?
  /// The faults on the cables.
  public var faults: [CableFault] = []
  /// The random seed; when nil, the player's.
  public var seed: UInt64?
  /// The app's declarations, and how the system treats it.
  public var app = AppSettings()
  /// How many bytes the app sends over each session and expects back.
  public var payload = 2_000
  /// How often the app exchanges its payload over an open session; once when nil.
  public var interval: Duration?
  /// What happens, in order.
  public var steps: [Step]
  /// How long the world continues after the last step, unless everything is quiet before.
  public var tail: Duration
  /// The events that apps must see, in order.
  public var expectations: [Expectation]

  /// The file's name without its ending.
  public var name: String { about.name }

  /// What a scenario is about.
  public struct About: Equatable, Sendable {
    /// The file's name without its ending.
    public var name = ""
    /// One sentence about what it reproduces.
    public var summary = ""
    /// The numbers of the behaviours or failures it reproduces, such as F1 or W3.
    public var reproduces: [String] = []
    /// Its public source.
    public var source = ""
    /// What happened, and to which product.
    public var story = ""
    /// How an app survives it.
    public var survival = ""

    /// Nothing is known of it.
    public init() {}
  }

  /// One accessory of a scenario.
  public struct Part: Equatable, Sendable {
    /// Its name in steps.
    public var name: String
    /// Its profile.
    public var profile: Profile

    /// A part.
    public init(name: String, profile: Profile) {
      self.name = name
      self.profile = profile
    }

    /// Plays another profile instead, with the scenario's quirks. It keeps the scenario's serial number, by
    /// which the other end finds it.
    public mutating func play(_ other: Profile) {
      var other = other
      other.identity.serialNumber = profile.identity.serialNumber
      for quirk in profile.quirks { other.apply(quirk) }
      profile = other
    }
  }

  /// The app's protocol.
  public var wantedProtocol: String {
    accessories.flatMap(\.profile.protocols).first?.name ?? "com.example.none"
  }

  /// The name of the accessory with a serial number. Two accessories with one number are one accessory on two
  /// transports, which apps cannot tell apart by it: both get the first name.
  public var namesBySerial: [String: String] {
    Dictionary(accessories.map { ($0.profile.identity.serialNumber, $0.name) }, uniquingKeysWith: { first, _ in first })
  }

  /// One step.
  public struct Step: Equatable, Sendable {
    /// When, from the start.
    public var at: Duration
    /// What.
    public var action: Action

    /// A step.
    public init(at: Duration, _ action: Action) {
      self.at = at
      self.action = action
    }
  }

  /// What a step does.
  public enum Action: Equatable, Sendable {
    /// Plugs the accessory in.
    case accessoryPlugsIn(String)
    /// Unplugs the accessory in order.
    case accessoryUnplugs(String)
    /// The accessory closes its sessions and stays connected.
    case accessoryClosesSessions(String)
    /// The accessory forgets its sessions: they stay open at the device, and nothing is answered on them.
    case accessoryForgetsSessions(String)
    /// Pulls the cable: bytes in transit are lost.
    case cablePulled(String)
    /// The accessory disappears and the device does not notice: what the device sends from then on is lost.
    case cablePulledUnnoticed(String)
    /// The device resets the link.
    case deviceResetsLink(String)
    /// Whether the device notices cables that are plugged in.
    case deviceHeedsCables(Bool)
    /// The accessory sends a control message, or changes what its rules send.
    case accessorySays(String, Saying)
    /// The device sends the accessory a control message, or changes what its rules send.
    case deviceSays(String, Saying)
    /// Something happens to the app.
    case app(AppAction)
    /// Another SDK in the app's process does something.
    case sdk(SDKAction)
    /// Something happens to another app, which is not running until a step launches it.
    case otherApp(AppAction)
  }

  /// What another SDK in the app's process does. To the system it is the same app.
  public enum SDKAction: Equatable, Sendable {
    /// It opens a session for the first protocol of this accessory.
    case opensSession(String)
    /// It closes its session.
    case closesSession
  }

  /// How the process of an app ends without its doing.
  public enum Ending: String, Equatable, Sendable {
    /// The system or the user ends it.
    case kill
    /// It crashes.
    case crash
  }

  /// A control message of a step.
  public struct Saying: Equatable, Sendable {
    /// The message.
    public let message: MessageID
    /// Its parameters.
    public let parameters: [MessageRule.Element]
    /// How files write it.
    let entry: MessageRuleEntry

    /// The message that a rule sends, without what makes the rule send it.
    public init(_ entry: MessageRuleEntry) throws(OptionError) {
      let rule = try entry.rule()
      (message, parameters, self.entry) = (rule.message, rule.parameters, entry)
    }
  }

  /// What happens to the app.
  public enum AppAction: Equatable, Sendable {
    /// It is launched: a new process, which knows nothing of an earlier one. The app runs from the start unless the first
    /// step of its life launches it.
    case launches
    /// It quits.
    case quits
    /// Its process ends. The system closes its sessions, unless it leaves them: then the accessory believes that the app is
    /// still there, until it is unplugged.
    case ends(Ending, leavesSessions: Bool)
    /// Some object in its process registers for notifications.
    case registers
    /// Some object in its process unregisters.
    case unregisters
    /// It comes to the foreground, goes to the background, or is suspended.
    case moves(AppState)
    /// Its user wants a session with this accessory.
    case opensSession(String)
    /// Its user wants no session any more.
    case closesSession
    /// It looks at its list of accessories, which must hold these, in the order of publication.
    case looks(sees: [String])
  }

  /// One thing that apps must see.
  public struct Expectation: Equatable, Sendable {
    /// The event's name, as in JSON: `connect` and `disconnect` when the app is notified, `session.open`,
    /// `session.close`.
    public var event: String
    /// Which accessory; any when nil.
    public var accessory: String?
    /// The protocols it offers; any when nil.
    public var protocols: [String]?
    /// Not before this time; any when nil.
    public var after: Duration?
    /// Not after this time; any when nil.
    public var before: Duration?

    /// An expectation.
    public init(
      _ event: String, accessory: String? = nil, protocols: [String]? = nil, after: Duration? = nil,
      before: Duration? = nil
    ) {
      self.event = event
      self.accessory = accessory
      self.protocols = protocols
      self.after = after
      self.before = before
    }
  }
}

extension Scenario {
  /// The events that expectations are about: what an app sees.
  public static let expectedEvents = ["connect", "disconnect", "session.open", "session.close"]

  /// Whether this is one of them: notifications count when the app gets them, sessions when they begin and end.
  static func isExpected(_ event: TimelineEvent) -> Bool {
    switch event.kind {
    case .connect, .disconnect: event.side == .app
    case .sessionOpen, .sessionClose: event.side == .device
    default: false
    }
  }
}
