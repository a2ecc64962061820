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
    /// Its name in steps.
    public var name: String { profile.name }
    /// Its profile, quirks included.
    public var profile: Profile
    /// Link settings that a profile does not have.
    public var link: SoakLinkChoices
    /// What it does with its sessions, one after the other and from the start again; nil for the built-in echo.
    public var streams: [SoakStreamPlan]?
  }

  /// An app on the device.
  public struct App: Equatable, Sendable {
    /// The sessions it opens, in order, as accessories appear.
    public var sessions: [SoakStreamPlan]
    /// How long after a connect it opens the next.
    public var patience: Duration
    /// Whether it also tries to open sessions with accessories that offer no protocols.
    public var isRude: Bool
    /// Its name in steps.
    public var name = "app-0"
  }

  /// A step at a time.
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
  /// The number of the device's first session on each cable.
  public var firstSession: UInt16
  /// When the last step is done and whatever is unfinished must come to its end.
  public var length: Duration
  /// Corners that must not be reached; reaching one counts as a broken rule.
  public var forbidden: [SoakCoverage.Corner] = []

  /// Whether packets may be changed without the link noticing: by a fault that corrects the checksum, or by two whose
  /// bit flips cancel in it. Then bytes may be wrong, and only the other rules hold. The same is true of an
  /// accessory with a quirk that loses bytes, or that begins its sessions with bytes of earlier ones.
  public var isHostile: Bool {
    if accessories.contains(where: \.profile.quirks.spoilsBytes) { return true }
    let corrupting = faults.compactMap { if case .corrupt(let corrupt) = $0.fault.effect { corrupt } else { nil } }
    return corrupting.count > 1 || corrupting.contains(where: \.mendsSum)
  }

  /// Whether a link of this world works without acknowledgements. Then nothing may be lost on the way.
  public var hasZeroAcknowledgement: Bool {
    accessories.contains(where: \.profile.link.zeroAcknowledgement)
  }
}

/// Link settings that profiles do not have, for either end.
public struct SoakLinkChoices: Equatable, Sendable {
  /// The sequence number of its first SYN.
  public var initialSequence: UInt8 = 0
  /// Which form of extended acknowledgement it sends.
  public var extendedAcknowledgement = 0
  /// How many packets one acknowledgement may cover, when it differs from the profile: a profile keeps this below the
  /// window, and accessories need not.
  public var cumulativeAcknowledgements: UInt8?
  /// Whether a timeout retransmits only the oldest packet.
  public var repeatsOldestOnly = false
  /// Whether its acknowledgement timer restarts with each packet.
  public var timesFromEach = false
  /// Whether it keeps packets that arrive ahead of a gap.
  public var keepsAhead = true
  /// Whether an accessory answers differing recovery values with another offer.
  public var offersAgain = false
  /// Whether a device answers with its own recovery values.
  public var answersOwnRecovery = false
  /// How many bytes of a session may be unread.
  public var receiveBound = 256 * 1024
  /// How many bytes of a session may wait to be sent.
  public var sendBound = 256 * 1024
}

/// What one end of a session does.
public struct SoakStreamPlan: Equatable, Sendable {
  /// How it reads.
  public enum Reading: Equatable, Sendable {
    /// Reads everything as it arrives.
    case eager
    /// Reads this many bytes at a time, with a pause in between.
    case slow(bytes: Int, every: Duration)
    /// Reads this many bytes, and then nothing for a time; nil: nothing more.
    case stops(after: Int, resumes: Duration?)
  }

  /// When it closes the session.
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
  /// How many bytes it writes.
  public var bytes = 0
  /// The most bytes per write.
  public var chunk = 1
  /// The pause between two writes.
  public var think = Duration.zero
  /// How it reads.
  public var reading = Reading.eager
  /// When it closes.
  public var closing = Closing.never
}
