import AccessoryCore
import AccessoryHost
import AccessoryProfiles
import AccessoryWorlds

/// The plan for a seeded world: its accessories, apps, cable faults and steps.
///
/// A random plan depends only on the seed, so it can be shown, replayed and shrunk. Random choices made during the run
/// (faults, jitter) also depend only on the seed. The plan's file is a scenario with several apps, which open sessions
/// and send bytes. The soak's rules, rather than expectations, decide whether such a scenario passes. Reading a plan's
/// file restores the plan, which reproduces the same world byte for byte.
public struct SoakPlan: Equatable, Sendable {
  /// An accessory in the world.
  public struct Accessory: Equatable, Sendable {
    /// The name that steps use to refer to the accessory.
    public var name: String { profile.name }
    /// The accessory's profile, including its quirks.
    public var profile: Profile
    /// Link settings that are not part of profiles.
    public var link: SoakLinkChoices
    /// The accessory's plans for its sessions, in order. After the last plan, the accessory starts over with the first.
    /// If the list is nil, the built-in echo handles sessions.
    public var streams: [SoakStreamPlan]?
  }

  /// An app on the world's device.
  public struct App: Equatable, Sendable {
    /// The sessions that the app opens, in order, as accessories appear.
    public var sessions: [SoakStreamPlan]
    /// How long the app waits before it opens its next session.
    public var patience: Duration
    /// Whether the app also tries to open sessions with accessories that do not offer any protocols.
    public var isRude: Bool
    /// The name that steps use to refer to the app.
    public var name = "app-0"
  }

  /// An action at a given time.
  public typealias Step = Scenario.Step

  /// The description of the plan in a file.
  public var about = Scenario.About()
  /// The random seed.
  public var seed: UInt64
  /// The accessories.
  public var accessories: [Accessory]
  /// The apps.
  public var apps: [App]
  /// The steps, in order of time.
  public var steps: [Step]
  /// The faults on the world's cables.
  public var faults: [CableFault]
  /// The speed of the cables.
  public var speed: World.Settings.CableSpeed
  /// The device's link settings.
  public var deviceLink: SoakLinkChoices
  /// The size of the window that the device announces, in packets.
  public var deviceWindow: UInt8
  /// The maximum length of a packet that the device accepts.
  public var deviceLength: UInt16
  /// When the device publishes accessories to apps.
  public var policy: PublicationMachine.Policy
  /// The flicker that the device causes, if any.
  public var deviceFlicker: Flicker?
  /// Whether the device begins with authentication or with identification.
  public var order = HostOrder.authentication
  /// The identifier of the first session on each cable.
  public var firstSession: UInt16
  /// When the steps end. After the last step, the world only completes unfinished work.
  public var length: Duration
  /// Corner cases that count as a broken rule if they are reached.
  public var forbidden: [SoakCoverage.Corner] = []

  /// Whether the link may deliver wrong bytes without either end noticing, in which case the rules about bytes do not
  /// apply. Undetected wrong bytes can be caused by faults that correct the checksum, by two faults whose bit flips
  /// cancel out in the checksum, and by quirks that lose bytes or start sessions with bytes from earlier sessions.
  public var isHostile: Bool {
    // By a closure: a key path copies the profile.
    if accessories.contains(where: { $0.profile.quirks.spoilsBytes }) { return true }
    let corrupting = faults.compactMap { if case .corrupt(let corrupt) = $0.fault.effect { corrupt } else { nil } }
    return corrupting.count > 1 || corrupting.contains(where: \.mendsSum)
  }

  /// Whether any link in this world works without acknowledgements. Links without acknowledgements need lossless cables
  /// because they do not retransmit packets.
  public var hasZeroAcknowledgement: Bool {
    accessories.contains(where: \.profile.link.zeroAcknowledgement)
  }
}

/// Link settings for either end that are not part of profiles.
public struct SoakLinkChoices: Equatable, Sendable {
  /// The sequence number of the first SYN.
  public var initialSequence: UInt8 = 0
  /// Which form of extended acknowledgement this end sends.
  public var extendedAcknowledgement = 0
  /// How many packets one acknowledgement may cover, if this differs from the profile. In a profile, this number must
  /// be less than the window, but some real accessories break this rule.
  public var cumulativeAcknowledgements: UInt8?
  /// Whether a timeout causes only the oldest packet to be retransmitted.
  public var repeatsOldestOnly = false
  /// Whether receiving a packet restarts the acknowledgement timer.
  public var timesFromEach = false
  /// Whether this end keeps packets that arrive after a missing packet.
  public var keepsAhead = true
  /// Whether the accessory sends another SYN if the device's answer contains different retransmission values.
  public var offersAgain = false
  /// Whether the device answers a SYN with retransmission values of its own.
  public var answersOwnRecovery = false
  /// The maximum number of unread bytes in a session.
  public var receiveBound = 256 * 1024
  /// The maximum number of unsent bytes in a session.
  public var sendBound = 256 * 1024
}

/// The plan for one end of a session.
public struct SoakStreamPlan: Equatable, Sendable {
  /// How this end of the session reads incoming data.
  public enum Reading: Equatable, Sendable {
    case eager
    /// This end reads a number of bytes at a time and pauses between reads.
    case slow(bytes: Int, every: Duration)
    /// This end reads a number of bytes and then pauses. If `resumes` is nil, this end never reads again.
    case stops(after: Int, resumes: Duration?)
  }

  /// When this end closes the session.
  public enum Closing: Equatable, Sendable {
    case never
    case afterWriting
    case after(Duration)
  }

  /// The index of the session's protocol in the accessory's list, modulo the length of that list.
  public var protocolNumber = 0
  /// How many bytes this end writes in total.
  public var bytes = 0
  /// The maximum number of bytes per write.
  public var chunk = 1
  /// How long this end waits after each write.
  public var think = Duration.zero
  /// How this end reads incoming data.
  public var reading = Reading.eager
  /// When this end closes the session.
  public var closing = Closing.never
}
