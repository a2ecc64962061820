/// How the system treats an app. The rules cover only points on which sources disagree or systems differ. Each rule has
/// a default, and alternatives observed in the field.
public struct AppRules: Equatable, Sendable {
  /// Which accessories an app sees.
  public enum Visibility: String, CaseIterable, Sendable {
    /// An app sees accessories that offer a protocol declared in its Info.plist, or that do not offer any protocol yet.
    case declared
    /// Apps see all accessories, as on older systems.
    case all
  }

  /// What happens when an app opens a session for a protocol that its Info.plist does not declare.
  public enum UndeclaredSessions: String, CaseIterable, Sendable {
    /// The session is not opened, as in iOS 5 and later.
    case refused
    /// The session is opened, as in iOS 3.2 and 4.
    case allowed
  }

  /// What happens when an app opens a second session for one of an accessory's protocols.
  public enum SecondSession: String, CaseIterable, Sendable {
    /// The first session is closed before the second is opened, as Apple documents.
    case closesFirst
    /// While the first session is open, a second one cannot be opened, as reported for iOS 11 and later.
    case refused
    /// Both sessions stay open. iAP2 allows this, but no known system does it, so use this setting only to test
    /// accessories.
    case sideBySide
  }

  /// What happens when another app already has a session for the protocol.
  public enum OtherApps: String, CaseIterable, Sendable {
    /// Each app gets its own session. Use this setting for accessories that serve several apps.
    case shared
    /// The second app does not get a session.
    case refused
    /// The first app's session is closed, and the second app gets a session.
    case interrupted
  }

  /// The notifications that a resumed app receives about an accessory that reconnected with a new connection ID while
  /// the app was suspended.
  public enum Reattachment: String, CaseIterable, Sendable {
    /// The app receives both the disconnect notification and the connect notification.
    case both
    case nothing
    /// The app receives only the connect notification.
    case connectOnly
  }

  /// Which connect notifications are lost, although the app's list of accessories is correct.
  public enum LostConnects: String, CaseIterable, Sendable {
    case none
    /// All connect notifications are lost, as in a beta version of iOS 11.
    case all
    /// Connect notifications are lost unless the app is in the foreground.
    case outsideForeground
  }

  /// Which accessories an app sees.
  public var visibility = Visibility.declared
  /// What happens when an app opens a session for an undeclared protocol.
  public var undeclaredSessions = UndeclaredSessions.refused
  /// Whether an app with the background mode `external-accessory` keeps its accessories and sessions in the background,
  /// as in iOS 5 and later.
  public var honorsBackgroundMode = true
  /// What happens when an app opens a second session for one of an accessory's protocols.
  public var secondSession = SecondSession.closesFirst
  /// What happens when another app already has a session for the protocol.
  public var otherApps = OtherApps.shared
  /// The notifications that an app receives about an accessory that reconnected while the app was suspended.
  public var reattachment = Reattachment.both
  /// How long an accessory refuses sessions after it connects. On some systems, opening a session fails right after the
  /// accessory connects and succeeds later.
  public var settlingTime = Duration.zero
  /// Whether a suspended app is woken up when bytes arrive for it, which sometimes failed on iOS 11.
  public var wakesForBytes = true
  /// How long an app that was woken up by bytes runs before it is suspended again.
  public var wakeTime = Duration.seconds(10)
  /// Whether an accessory's delegate is notified of a disconnect even if the app never registered for notifications.
  public var tellsDelegateUnregistered = true

  /// Which connect notifications are lost.
  public var lostConnects = LostConnects.none
  /// Whether a session reports available bytes only once, as in one release of iOS 11.
  public var announcesBytesOnce = false

  /// Creates the rules that current systems follow.
  public init() {}

  /// Lets apps see all accessories and open sessions for all protocols, regardless of Info.plist files.
  package mutating func ignoreInfoPlist() { (visibility, undeclaredSessions) = (.all, .allowed) }

  /// The rules of iOS 3.2 and 4.
  public static var older: AppRules {
    var rules = AppRules()
    rules.ignoreInfoPlist()
    rules.honorsBackgroundMode = false
    return rules
  }
}
