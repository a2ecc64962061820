import AccessoryCore
import AccessoryHost
import AccessoryProfiles
import AccessoryWorlds

/// One seeded world as data: its accessories and apps, the faults on its cables, its steps.
///
/// All random choices are made here, from the seed alone, so a plan can be shown, replayed and shrunk. Random choices
/// during the run (faults, jitter) follow from the seed as well.
public struct SoakPlan: Equatable, Sendable {
  /// An accessory of the world.
  public struct Accessory: Equatable, Sendable {
    /// The accessory's name in steps.
    public var name: String { profile.name }
    /// The accessory's profile, including quirks.
    public var profile: Profile
    /// Link settings that profiles do not contain.
    public var link: SoakLinkChoices
    /// What the accessory does with its sessions, one after another, then starting over; nil means the built-in echo.
    public var streams: [SoakStreamPlan]?
  }

  /// An app on the device.
  public struct App: Equatable, Sendable {
    /// The sessions that the app opens, in order, as accessories appear.
    public var sessions: [SoakStreamPlan]
    /// How long after a connect the app opens the next session.
    public var patience: Duration
    /// Whether the app also tries to open sessions with accessories that offer no protocols.
    public var isRude: Bool
    /// The app's name in steps.
    public var name = "app-0"
  }

  /// A step at a certain time.
  public typealias Step = Scenario.Step

  /// The random seed.
  public var seed: UInt64
  /// The accessories.
  public var accessories: [Accessory]
  /// The apps.
  public var apps: [App]
  /// The steps, in order.
  public var steps: [Step]
  /// The faults on every cable.
  public var faults: [CableFault]
  /// How the cables carry bytes.
  public var speed: World.Settings.CableSpeed
  /// The device's link.
  public var deviceLink: SoakLinkChoices
  /// The window that the device announces, in packets.
  public var deviceWindow: UInt8
  /// The longest packet that the device accepts.
  public var deviceLength: UInt16
  /// When the device publishes accessories to apps.
  public var policy: PublicationMachine.Policy
  /// A flicker that the device causes.
  public var deviceFlicker: Flicker?
  /// What the device asks accessories first.
  public var order = HostOrder.authentication
  /// The number of the device's first session on each cable.
  public var firstSession: UInt16
  /// When the last step is done and whatever is unfinished must end.
  public var length: Duration
  /// Corners that must not be reached; reaching one counts as a broken rule.
  public var forbidden: [SoakCoverage.Corner] = []

  /// Whether packets may be changed without the link noticing: by a fault that corrects the checksum, or by two faults
  /// whose bit flips cancel out in it. Bytes may then be wrong, and only the other rules hold. The same is true of an
  /// accessory with a quirk that loses bytes, or that begins its sessions with bytes of earlier ones.
  public var isHostile: Bool {
    if accessories.contains(where: \.profile.quirks.spoilsBytes) { return true }
    let corrupting = faults.compactMap { if case .corrupt(let corrupt) = $0.fault.effect { corrupt } else { nil } }
    return corrupting.count > 1 || corrupting.contains(where: \.mendsSum)
  }

  /// Whether a link of this world works without acknowledgements. Then nothing may be lost in transit.
  public var hasZeroAcknowledgement: Bool {
    accessories.contains(where: \.profile.link.zeroAcknowledgement)
  }
}

/// Link settings that profiles do not contain, for either end.
public struct SoakLinkChoices: Equatable, Sendable {
  /// The sequence number of the first SYN.
  public var initialSequence: UInt8 = 0
  /// Which form of extended acknowledgement this end sends.
  public var extendedAcknowledgement = 0
  /// How many packets one acknowledgement may cover, if it differs from the profile: a profile keeps this below the
  /// window, but accessories need not.
  public var cumulativeAcknowledgements: UInt8?
  /// Whether a timeout retransmits only the oldest packet.
  public var repeatsOldestOnly = false
  /// Whether the acknowledgement timer restarts with each packet.
  public var timesFromEach = false
  /// Whether this end keeps packets that arrive ahead of a gap.
  public var keepsAhead = true
  /// Whether an accessory answers differing recovery values with another offer.
  public var offersAgain = false
  /// Whether a device answers with its own recovery values.
  public var answersOwnRecovery = false
  /// How many bytes of a session may be unread.
  public var receiveBound = 256 * 1024
  /// How many bytes of a session may be waiting to be sent.
  public var sendBound = 256 * 1024
}

/// What one end of a session does.
public struct SoakStreamPlan: Equatable, Sendable {
  /// How it reads.
  public enum Reading: Equatable, Sendable {
    /// Reads everything as it arrives.
    case eager
    /// Reads this many bytes at a time, with a pause between reads.
    case slow(bytes: Int, every: Duration)
    /// Reads this many bytes, then pauses for a time; nil means that it reads nothing more.
    case stops(after: Int, resumes: Duration?)
  }

  /// When this end closes the session.
  public enum Closing: Equatable, Sendable {
    /// Never.
    case never
    /// When everything is written.
    case afterWriting
    /// After a time.
    case after(Duration)
  }

  /// The index of the accessory's protocol, modulo their number.
  public var protocolNumber = 0
  /// How many bytes this end writes.
  public var bytes = 0
  /// The maximum number of bytes per write.
  public var chunk = 1
  /// The pause between two writes.
  public var think = Duration.zero
  /// How it reads.
  public var reading = Reading.eager
  /// When it closes.
  public var closing = Closing.never
}
