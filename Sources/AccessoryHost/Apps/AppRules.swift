/// How the system treats an app, in points where sources disagree or systems differ. Each setting has a default and the
/// other behaviors that were reported.
public struct AppRules: Equatable, Sendable {
  /// Which accessories an app sees.
  public enum Visibility: String, CaseIterable, Sendable {
    /// Accessories that offer a protocol declared in the app's Info.plist, and accessories that offer none yet.
    case declared
    /// All accessories. Older systems listed every accessory.
    case all
  }

  /// What happens when an app opens a session for a protocol that its Info.plist does not declare.
  public enum UndeclaredSessions: String, CaseIterable, Sendable {
    /// No session is opened: the behavior since iOS 5.
    case refused
    /// The session opens: the behavior of iOS 3.2 and 4.
    case allowed
  }

  /// What happens when an app opens a second session for the same protocol of an accessory.
  public enum SecondSession: String, CaseIterable, Sendable {
    /// The first session is closed, then the second opens, as Apple documents it.
    case closesFirst
    /// No session is opened while the first is open, as reported from the field since iOS 11.
    case refused
    /// Both are open. iAP2 allows it, but no system does it; for tests of accessories, not of apps.
    case sideBySide
  }

  /// What happens when another app already has a session for the protocol.
  public enum OtherApps: String, CaseIterable, Sendable {
    /// Both apps get a session: for accessories that serve several apps.
    case shared
    /// The later app gets no session.
    case refused
    /// The earlier session is closed.
    case interrupted
  }

  /// The notifications that a suspended app gets later, when an accessory disconnected and connected again with a new
  /// connection ID.
  public enum Reattachment: String, CaseIterable, Sendable {
    /// The disconnect and the connect.
    case both
    /// Nothing.
    case nothing
    /// Only the connect.
    case connectOnly
  }

  /// Which connect notifications are never posted, although the list of accessories is correct.
  public enum LostConnects: String, CaseIterable, Sendable {
    /// None: all are posted.
    case none
    /// All: an iOS 11 beta never posted one.
    case all
    /// Those that would be posted while the app is not on the screen.
    case outsideForeground
  }

  /// Which accessories an app sees.
  public var visibility = Visibility.declared
  /// What happens when an app opens a session for an undeclared protocol.
  public var undeclaredSessions = UndeclaredSessions.refused
  /// Whether the background mode `external-accessory` keeps accessories and sessions, as it does since iOS 5.
  public var honorsBackgroundMode = true
  /// What happens when the same app opens a second session for one protocol of one accessory.
  public var secondSession = SecondSession.closesFirst
  /// The same, for another app.
  public var otherApps = OtherApps.shared
  /// What a suspended app learns about an accessory that left and came back.
  public var reattachment = Reattachment.both
  /// How long after its connect an accessory accepts no sessions: some systems return nil at first and a session later.
  public var settlingTime = Duration.zero
  /// Whether bytes for a suspended app wake it up; iOS 11 sometimes did not.
  public var wakesForBytes = true
  /// How long an app that was woken by bytes runs before it is suspended again.
  public var wakeTime = Duration.seconds(10)
  /// Whether an accessory's delegate is notified of its disconnect, even if the app never registered for notifications.
  public var tellsDelegateUnregistered = true

  /// Which connect notifications are lost.
  public var lostConnects = LostConnects.none
  /// Whether a session sends bytes-available once and never again, as a release of iOS 11 did.
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
