import AccessoryCore
import AccessoryHost
import AccessoryProfiles
import AccessorySessions
import AccessoryTransports

/// A timeline of steps, each on a side of the cable, and what an app must see of it.
///
/// A scenario reproduces one thing that goes wrong in the field. It says what the world does; what an app does in it is
/// a ``ScenarioClient``, so that one scenario can be played with an app that breaks and one that does not.
public struct Scenario: Equatable, Sendable {
  /// The version of the file format that this code reads.
  public static let formatVersion = 1

  /// The file's name without its ending.
  public var name: String
  /// One sentence: what it reproduces.
  public var summary: String
  /// The numbers of the behaviours or failures it reproduces, such as F1 or W3.
  public var reproduces: [String]
  /// Where that is known from.
  public var source: String
  /// What happened to whom.
  public var story = ""
  /// How an app survives it.
  public var survival = ""
  /// The client that it breaks, by its type's name; see ``ScenarioClients``.
  public var naiveClient: String?
  /// How the cables carry bytes.
  public var line = World.Settings.Line()
  /// The accessories, by the name that steps use.
  public var accessories: [Part]
  /// When the device shows accessories.
  public var policy: PublicationMachine.Policy
  /// A flicker that the device makes by itself.
  public var deviceFlicker: Flicker?
  /// What is done to the cables on purpose.
  public var faults: [CableFault] = []
  /// What chance grows from; the player's own choice when nil.
  public var seed: UInt64?
  /// What is played where the file has `apps`: a world with several of them, judged by the rules of seeded worlds. The
  /// steps are then the plan's, and there are no expectations.
  public var plan: SoakPlan?
  /// What the app is like, and how the system treats it.
  public var app = AppSettings()
  /// How many bytes the app sends over each session, to have them back.
  public var payload = 2_000
  /// What happens, in the order of time.
  public var steps: [Step]
  /// How long the world goes on after the last step, if it does not fall silent before.
  public var tail: Duration
  /// What apps must see, in order.
  public var expectations: [Expectation]

  /// One accessory of a scenario.
  public struct Part: Equatable, Sendable {
    /// What steps call it.
    public var name: String
    /// What it is.
    public var profile: Profile

    /// A part.
    public init(name: String, profile: Profile) {
      self.name = name
      self.profile = profile
    }

    /// Has this profile played instead, with the oddities that the scenario needs. It keeps the scenario's serial number,
    /// by which the other end knows it.
    public mutating func play(_ other: Profile) {
      var other = other
      other.identity.serialNumber = profile.identity.serialNumber
      for quirk in profile.quirks { other.apply(quirk) }
      profile = other
    }
  }

  /// The protocol that the app wants.
  public var wantedProtocol: String {
    accessories.flatMap(\.profile.protocols).first?.name ?? "com.example.none"
  }

  /// What steps and messages call the accessory with a serial number. Two with one number are one accessory on two
  /// transports, and apps cannot tell them apart by it: the first name is that of both.
  public var namesBySerial: [String: String] {
    Dictionary(accessories.map { ($0.profile.identity.serialNumber, $0.name) }, uniquingKeysWith: { first, _ in first })
  }

  /// One step.
  public struct Step: Equatable, Sendable {
    /// When, counted from the start.
    public var at: Duration
    /// What.
    public var action: Action

    /// A step.
    public init(at: Duration, _ action: Action) {
      self.at = at
      self.action = action
    }
  }

  /// What a step does. The first word says on which side.
  public enum Action: Equatable, Sendable {
    /// The accessory plugs in, or is plugged in.
    case accessoryPlugsIn(String)
    /// The accessory unplugs in order.
    case accessoryUnplugs(String)
    /// The accessory closes its sessions and stays.
    case accessoryClosesSessions(String)
    /// The cable is pulled out without a word: what is under way is lost.
    case cablePulled(String)
    /// The accessory is gone, and the device is not told: what it sends from then on is lost.
    case cablePulledUnnoticed(String)
    /// The device resets the link.
    case deviceResetsLink(String)
    /// The device takes notice of cables that are plugged in, or does not.
    case deviceHeedsCables(Bool)
    /// Something happens to the app, or in it.
    case app(AppAction)
  }

  /// What happens to the app, or in it.
  public enum AppAction: Equatable, Sendable {
    /// It starts; without such a step it runs from the beginning.
    case launches
    /// It ends.
    case quits
    /// Somebody in its process registers for notifications.
    case registers
    /// Somebody in its process takes a registration back.
    case unregisters
    /// It comes to the screen, leaves it, or stops running.
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
    /// The event's name, as in JSON: `connect` and `disconnect` when the app is told, `session.open`, `session.close`.
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
