import AccessoryCore
import AccessoryHost
import AccessoryProfiles
import AccessoryTransports

/// One seeded world as data: who is in it, what is done to its cables, what happens when.
///
/// Everything that chance decides is decided here, from the seed alone, so that a plan can be shown, replayed and made
/// shorter. What chance still decides while the world runs (faults, jitter) follows from the seed as well.
public struct SoakPlan: Equatable, Sendable {
  /// An accessory of the world.
  public struct Accessory: Equatable, Sendable {
    /// What it plays, quirks included.
    public var profile: Profile
    /// What its profile does not say about its link.
    public var link: SoakLinkChoices
    /// What it does with the bytes of its sessions.
    public var conduct: Conduct

    /// What an accessory does with the bytes of its sessions.
    public enum Conduct: Equatable, Sendable {
      /// The built-in echo.
      case echo
      /// The streams of the list, one per session, over and over.
      case streams([SoakStreamPlan])
    }
  }

  /// An app on the device.
  public struct App: Equatable, Sendable {
    /// The sessions it opens, in order, as accessories appear.
    public var sessions: [SoakStreamPlan]
    /// How long after an accessory's appearance it opens the next.
    public var patience: Duration
    /// Whether it also tries to open sessions with accessories that offer no protocols.
    public var isRude: Bool
  }

  /// Something that happens at a time.
  public struct Step: Equatable, Sendable {
    /// When, from the beginning.
    public var at: Duration
    /// What.
    public var action: Action

    /// What happens; numbers are places in the list of accessories or apps.
    public enum Action: Equatable, Sendable {
      /// An accessory is plugged in, unless it is.
      case plugIn(Int)
      /// An accessory is unplugged in order.
      case unplug(Int)
      /// An accessory's cable is pulled.
      case pull(Int)
      /// The device resets an accessory's link.
      case resetLink(Int)
      /// An accessory closes its sessions.
      case closeSessions(Int)
      /// An app looks no longer.
      case closeApp(Int)
    }
  }

  /// The number that all of it follows from.
  public var seed: UInt64
  /// The accessories.
  public var accessories: [Accessory]
  /// The apps.
  public var apps: [App]
  /// What happens when, in the order of time.
  public var steps: [Step]
  /// What is done to every cable.
  public var faults: [CableFault]
  /// How the cables carry bytes.
  public var line: World.Settings.Line
  /// The device's link.
  public var deviceLink: SoakLinkChoices
  /// How many packets the device takes before it acknowledges one.
  public var deviceWindow: UInt8
  /// The longest packet that the device takes.
  public var deviceLength: UInt16
  /// When the device shows accessories.
  public var policy: PublicationMachine.Policy
  /// A flicker that the device makes by itself.
  public var deviceFlicker: Flicker?
  /// The number of the device's first session on each cable.
  public var firstSession: UInt16
  /// When the last step is over and everything left undone is to come to its end.
  public var length: Duration
  /// Corners that must not be reached: reaching one is a broken rule, as a rule of the house is.
  public var forbidden: [SoakCoverage.Corner] = []

  /// Whether packets may be changed so that nothing on the link can notice: by a fault that mends the checksum, or by two
  /// whose flips of a bit cancel each other in it. Then bytes may be wrong, and only the other invariants hold. The same
  /// goes for an accessory that begins its sessions with bytes of earlier ones.
  public var isHostile: Bool {
    if accessories.contains(where: { $0.profile.quirk(QuirkDefinition.staleBytes.name) != nil }) { return true }
    let corrupting = faults.filter { $0.fault.definition == .corrupt }
    return corrupting.count > 1 || corrupting.contains { $0.fault.arguments.choice("sum") == "right" }
  }

  /// Whether a link of this world does without acknowledgements. Then nothing must be lost on the way.
  public var hasZeroAcknowledgement: Bool {
    accessories.contains(where: \.profile.link.zeroAcknowledgement)
  }
}

/// The choices of a link that no profile has, for either end.
public struct SoakLinkChoices: Equatable, Sendable {
  /// The number of its first SYN.
  public var initialSequence: UInt8 = 0
  /// Which extended acknowledgement it sends.
  public var extendedAcknowledgement = 0
  /// For how many packets it says that one acknowledgement may stand, where that is not what the profile says: a profile
  /// keeps this below the window, and accessories need not.
  public var cumulativeAcknowledgements: UInt8?
  /// Whether a timeout repeats the oldest packet alone.
  public var repeatsOldestOnly = false
  /// Whether its acknowledgement timer starts anew with each packet.
  public var timesFromEach = false
  /// Whether it keeps packets that come ahead of a gap.
  public var keepsAhead = true
  /// Whether an accessory settles differing recovery values by another offer.
  public var offersAgain = false
  /// Whether a device answers with its own recovery values.
  public var answersOwnRecovery = false
  /// How many bytes of a session may lie unread.
  public var receiveBound = 256 * 1024
  /// How many bytes of a session may wait to be sent.
  public var sendBound = 256 * 1024
}

/// What one end of a session does with it.
public struct SoakStreamPlan: Equatable, Sendable {
  /// How it reads.
  public enum Reading: Equatable, Sendable {
    /// Everything as it comes.
    case eager
    /// So many bytes at a time, with a pause in between.
    case slow(bytes: Int, every: Duration)
    /// Eagerly up to so many bytes, and then not at all for a while; nil: until the end.
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

  /// Which of the accessory's protocols an app opens it for, counted round.
  public var protocolNumber = 0
  /// How many bytes it writes.
  public var bytes = 0
  /// How many at once, at most.
  public var chunk = 1
  /// How long it thinks between two writes.
  public var think = Duration.zero
  /// How it reads.
  public var reading = Reading.eager
  /// When it closes.
  public var closing = Closing.never
}
