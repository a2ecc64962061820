/// What is disputed, or differs between systems, about how an app is treated; each point with what is built by default
/// and what else was seen.
public struct AppRules: Equatable, Sendable {
  /// Which accessories an app sees.
  public enum Visibility: Hashable, Sendable {
    /// Those that offer a protocol which its Info.plist declares, and those that offer none yet.
    case declared
    /// All. Older systems listed every accessory.
    case all
  }

  /// What becomes of a session for a protocol that the Info.plist does not declare.
  public enum UndeclaredSessions: Hashable, Sendable {
    /// There is none: since iOS 5.
    case refused
    /// It opens: iOS 3.2 and 4.
    case allowed
  }

  /// What becomes of a second session for one protocol of one accessory.
  public enum SecondSession: Hashable, Sendable {
    /// The first is closed, then the second opens: as Apple documents it.
    case closesFirst
    /// There is none while the first is open: as the field reports it since iOS 11.
    case refused
    /// Both are open. The wire allows it and no system does; for what is about accessories and not about apps.
    case sideBySide
  }

  /// What becomes of a session that another app has open already.
  public enum OtherApps: Hashable, Sendable {
    /// Both have theirs: accessories that serve several apps.
    case shared
    /// The later one gets none.
    case refused
    /// The earlier one is closed.
    case interrupted
  }

  /// What a suspended app is told later of an accessory that went and came back, with a new number.
  public enum Reattachment: Hashable, Sendable {
    /// That it went and that it came.
    case both
    /// Nothing.
    case nothing
    /// That it came.
    case connectOnly
  }

  /// Which connect notifications never come, though the list of accessories is right.
  public enum LostConnects: Hashable, Sendable {
    /// Each one comes.
    case none
    /// All: an iOS 11 beta never posted one.
    case all
    /// Those that would come while the app is not on the screen.
    case outsideForeground
  }

  /// Which accessories an app sees.
  public var visibility = Visibility.declared
  /// Sessions for protocols that are not declared.
  public var undeclaredSessions = UndeclaredSessions.refused
  /// Whether the background mode `external-accessory` keeps accessories and sessions: since iOS 5.
  public var honorsBackgroundMode = true
  /// A second session for one protocol of one accessory, by the same app.
  public var secondSession = SecondSession.closesFirst
  /// The same by another app.
  public var otherApps = OtherApps.shared
  /// An accessory that went and came back while the app was suspended.
  public var reattachment = Reattachment.both
  /// For how long after its connect an accessory gives no sessions: some systems answer nil at first and open later.
  public var settlingTime = Duration.zero
  /// Whether bytes for a suspended app wake it up; iOS 11 sometimes did not.
  public var wakesForBytes = true
  /// How long an app that was woken by bytes runs before it is suspended again.
  public var wakeTime = Duration.seconds(10)
  /// Whether an accessory's delegate hears of its disconnect though notifications were never registered for.
  public var tellsDelegateUnregistered = true

  /// Connect notifications that are lost.
  public var lostConnects = LostConnects.none
  /// Whether a session tells of bytes once and never again: an iOS 11 release did.
  public var announcesBytesOnce = false

  /// The rules of current systems.
  public init() {}

  /// The rules of iOS 3.2 and 4.
  public static var older: AppRules {
    var rules = AppRules()
    rules.visibility = .all
    rules.undeclaredSessions = .allowed
    rules.honorsBackgroundMode = false
    return rules
  }
}
