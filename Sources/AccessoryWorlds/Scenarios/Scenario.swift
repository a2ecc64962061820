import AccessoryFormats
import AccessoryHost
import AccessoryProfiles
import AccessorySessions
import IAP2

/// A scenario is a timeline of steps that affect accessories, cables, the device or apps, together with the events that
/// the app must see.
///
/// Each scenario reproduces one failure from the field. The ``ScenarioClient`` is chosen separately, so the same
/// scenario can be run with an app that fails and with an app that survives.
public struct Scenario: Equatable, Sendable {
  /// The version of the file format that this code reads.
  public static let formatVersion = 1

  /// The scenario's description.
  public var about: About
  /// The name of the client that fails in the scenario. See ``ScenarioClients``.
  public var naiveClient: String?
  /// The speed of the cables.
  public var speed = World.Settings.CableSpeed()
  /// The accessories.
  public var accessories: [Part]
  /// When the device publishes accessories to apps.
  public var policy: PublicationMachine.Policy
  /// How the device treats an accessory that does not authenticate.
  public var authentication = AuthenticationMode.verify
  /// A flicker that the device causes.
  public var deviceFlicker: Flicker?
  /// Whether the device begins with authentication or identification.
  public var order = HostOrder.authentication
  /// The faults on the cables.
  public var faults: [CableFault] = []
  /// The random seed, or nil to use the player's seed.
  public var seed: UInt64?
  /// What the app declares, and how the system treats the app.
  public var app = AppSettings()
  /// How many bytes the app sends over each session and expects to be echoed.
  public var payload = 2_000
  /// How often the app exchanges its payload over an open session, or nil to exchange it only once.
  public var interval: Duration?
  /// The steps, in order.
  public var steps: [Step]
  /// How long the world runs after the last step. The world stops earlier if nothing more can happen.
  public var tail: Duration
  /// The events that apps must see, in order.
  public var expectations: [Expectation]

  /// The name of the file without its extension.
  public var name: String { about.name }

  /// Describes a scenario.
  public struct About: Equatable, Sendable {
    /// The name of the file without its extension.
    public var name = ""
    /// A sentence about the failure that the scenario reproduces.
    public var summary = ""
    /// The numbers of the behaviors or failures that the scenario reproduces, such as F1 or W3.
    public var reproduces: [String] = []
    /// Where the failure was publicly reported.
    public var source = ""
    /// The failure and the affected product.
    public var story = ""
    /// What an app must do to survive the scenario.
    public var survival = ""

    /// Creates an empty description.
    public init() {}
  }

  /// One of the accessories in a scenario.
  public struct Part: Equatable, Sendable {
    /// The name that steps use to refer to the accessory.
    public var name: String
    /// The accessory's profile.
    public var profile: Profile

    /// Creates an accessory for a scenario.
    public init(name: String, profile: Profile) {
      self.name = name
      self.profile = profile
    }

    /// Replaces the profile but keeps the scenario's quirks and the serial number, by which the other side finds the
    /// accessory.
    public mutating func play(_ other: Profile) {
      var other = other
      other.identity.serialNumber = profile.identity.serialNumber
      for quirk in profile.quirks { other.apply(quirk) }
      profile = other
    }
  }

  /// How long the scenario takes in real time.
  public var length: Duration { (steps.last?.at ?? .zero) + tail }

  /// The protocol that the app uses.
  public var wantedProtocol: String {
    accessories.flatMap(\.profile.protocols).first?.name ?? "com.example.none"
  }

  /// The names of the accessories by serial number. Entries with the same serial number describe one accessory on two
  /// transports. Apps cannot tell these entries apart, so all of them have the name of the first entry.
  public var namesBySerial: [String: String] {
    Dictionary(accessories.map { ($0.profile.identity.serialNumber, $0.name) }, uniquingKeysWith: { first, _ in first })
  }

  /// A step in a scenario.
  public struct Step: Equatable, Sendable {
    /// When to perform the step, measured from the start of the scenario.
    public var at: Duration
    /// The action.
    public var action: WorldAction

    /// Creates a step.
    public init(at: Duration, _ action: WorldAction) {
      self.at = at
      self.action = action
    }
  }

  /// An event that apps must see.
  public struct Expectation: Equatable, Sendable {
    /// The name of the event, as in JSON: `connect`, `disconnect`, `session.open` or `session.close`.
    public var event: String
    /// The accessory, or nil for any accessory.
    public var accessory: String?
    /// The protocols that the accessory offers, or nil for any protocols.
    public var protocols: [String]?
    /// The earliest allowed time of the event, or nil if there is no limit.
    public var after: Duration?
    /// The latest allowed time of the event, or nil if there is no limit.
    public var before: Duration?

    /// Creates an expectation.
    public init(_ event: String) {
      self.event = event
    }
  }

  /// The events that expectations can name. Apps can see all of these events.
  public static let expectedEvents = ["connect", "disconnect", "session.open", "session.close"]

  static func isExpected(_ event: TimelineEvent) -> Bool {
    switch event.kind {
    case .connect, .disconnect: event.side == .app
    case .sessionOpen, .sessionClose: event.side == .device
    default: false
    }
  }
}

/// Finds shipped scenarios by name and other scenarios by path.
public struct ScenarioLibrary: Sendable {
  package let profiles: ProfileLibrary

  private static let files = EmbeddedFiles.files(in: "scenarios", without: ".json5")

  /// Creates a library. The scenarios in the library look up the profiles of their accessories in `profiles`.
  public init(profiles: ProfileLibrary = ProfileLibrary()) {
    self.profiles = profiles
  }

  /// The names of the shipped scenarios.
  public var names: [String] { Self.files.map(\.name) }

  /// Returns the scenario with this name or path. A reference that contains a `/` or has an extension is a path.
  public func scenario(_ reference: String) throws(SourceProblems) -> Scenario {
    try Scenario(source(reference), profiles: profiles)
  }

  package func source(_ reference: String) throws(SourceProblems) -> ScenarioSource {
    if ProfileLibrary.isPath(reference) {
      let file = reference.split(separator: "/").last.map(String.init) ?? reference
      return ScenarioSource(
        name: file.split(separator: ".").first.map(String.init) ?? file, path: reference,
        bytes: try read(reference))
    }
    if let found = Self.files.first(where: { $0.name == reference }) {
      return ScenarioSource(name: found.name, path: "\(found.name).json5", bytes: found.bytes)
    }
    let near = Suggestion.nearHint(for: reference, in: names)
    let message = "no scenario '\(reference)'\(near)\(TextFile.hint(forFileNamed: reference))"
    throw SourceProblems([SourceProblem(at: nil, message)])
  }

  /// Returns the original text of a scenario, including comments. The scenario is given by its name or path.
  public func text(_ reference: String) throws(SourceProblems) -> String {
    String(decoding: try source(reference).bytes, as: UTF8.self)
  }

  private static let sizeLimit = 1 << 20

  private func read(_ path: String) throws(SourceProblems) -> [UInt8] {
    do { return try profiles.readFile(path, Self.sizeLimit) } catch {
      throw SourceProblems([SourceProblem(at: nil, error.description)])
    }
  }
}

/// A scenario file that has not been parsed yet.
package struct ScenarioSource {
  package let name: String
  /// The name used for the file in messages.
  package let path: String
  package let bytes: [UInt8]

  package init(name: String, path: String, bytes: [UInt8]) {
    (self.name, self.path, self.bytes) = (name, path, bytes)
  }
}
