import AccessoryCore
import AccessoryHost
import AccessoryProfiles
import AccessoryWorlds

/// The description of a seeded world: its accessories, apps, cable faults and steps.
///
/// The seed alone determines the plan, so that the plan can be shown, replayed and shrunk. Random choices during the
/// run (faults, jitter) also depend only on the seed.
public struct SoakPlan: Equatable, Sendable {
  /// An accessory in the world.
  public struct Accessory: Equatable, Sendable {
    /// The accessory's name in steps.
    public var name: String { profile.name }
    /// The accessory's profile, including quirks.
    public var profile: Profile
    /// Link settings that profiles do not contain.
    public var link: SoakLinkChoices
    /// The accessory's plans for its sessions, in order and starting over after the last one. If nil, the built-in echo
    /// handles sessions.
    public var streams: [SoakStreamPlan]?
  }

  /// An app on the world's device.
  public struct App: Equatable, Sendable {
    /// The sessions that the app opens, in order, as accessories appear.
    public var sessions: [SoakStreamPlan]
    /// How long the app waits before it opens its next session.
    public var patience: Duration
    /// Whether the app also tries to open sessions with accessories that offer no protocols.
    public var isRude: Bool
    /// The app's name in steps.
    public var name = "app-0"
  }

  /// An action at a certain time.
  public typealias Step = Scenario.Step

  /// The random seed.
  public var seed: UInt64
  /// The accessories.
  public var accessories: [Accessory]
  /// The apps.
  public var apps: [App]
  /// The steps, in order.
  public var steps: [Step]
  /// The faults on the world's cables.
  public var faults: [CableFault]
  /// The speed of the cables.
  public var speed: World.Settings.CableSpeed
  /// The device's link settings.
  public var deviceLink: SoakLinkChoices
  /// The window that the device announces, in packets.
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
  /// The time at which the steps are over and the world begins to complete any unfinished work.
  public var length: Duration
  /// Corner cases that must not be reached. Reaching a forbidden corner case counts as a broken rule.
  public var forbidden: [SoakCoverage.Corner] = []

  /// Whether the link may deliver wrong bytes unnoticed, in which case the rules about bytes do not apply. The causes
  /// are faults that correct the checksum, two faults whose bit flips cancel out in the checksum, and quirks that lose
  /// bytes or start sessions with bytes of earlier sessions.
  public var isHostile: Bool {
    if accessories.contains(where: \.profile.quirks.spoilsBytes) { return true }
    let corrupting = faults.compactMap { if case .corrupt(let corrupt) = $0.fault.effect { corrupt } else { nil } }
    return corrupting.count > 1 || corrupting.contains(where: \.mendsSum)
  }

  /// Whether any link in this world works without acknowledgements. Links without acknowledgements need lossless
  /// cables, because they do not retransmit packets.
  public var hasZeroAcknowledgement: Bool {
    accessories.contains(where: \.profile.link.zeroAcknowledgement)
  }
}

/// Link settings of either end that profiles do not contain.
public struct SoakLinkChoices: Equatable, Sendable {
  /// The sequence number of the first SYN.
  public var initialSequence: UInt8 = 0
  /// The form of extended acknowledgement that this end sends.
  public var extendedAcknowledgement = 0
  /// How many packets one acknowledgement may cover, if this differs from the profile. A profile's number must be less
  /// than the window, but real accessories may break this rule.
  public var cumulativeAcknowledgements: UInt8?
  /// Whether only the oldest packet is retransmitted after a timeout.
  public var repeatsOldestOnly = false
  /// Whether every received packet restarts the acknowledgement timer.
  public var timesFromEach = false
  /// Whether this end keeps packets that arrive after a gap.
  public var keepsAhead = true
  /// Whether the accessory sends another SYN if the device answers with different retransmission values.
  public var offersAgain = false
  /// Whether the device answers a SYN with its own retransmission values.
  public var answersOwnRecovery = false
  /// The maximum number of unread bytes in a session.
  public var receiveBound = 256 * 1024
  /// The maximum number of bytes in a session that are waiting to be sent.
  public var sendBound = 256 * 1024
}

/// The plan for one end of a session.
public struct SoakStreamPlan: Equatable, Sendable {
  /// How this end of the session reads.
  public enum Reading: Equatable, Sendable {
    case eager
    /// This end reads some bytes at a time, and pauses between reads.
    case slow(bytes: Int, every: Duration)
    /// This end reads some bytes, then pauses; if `resumes` is nil, it never reads again.
    case stops(after: Int, resumes: Duration?)
  }

  /// When this end closes the session.
  public enum Closing: Equatable, Sendable {
    case never
    case afterWriting
    case after(Duration)
  }

  /// The index of the accessory's protocol, modulo the number of protocols.
  public var protocolNumber = 0
  /// How many bytes this end writes.
  public var bytes = 0
  /// The maximum number of bytes per write.
  public var chunk = 1
  /// The pause between two writes.
  public var think = Duration.zero
  /// How this end reads.
  public var reading = Reading.eager
  /// When this end closes the session.
  public var closing = Closing.never
}
