import AccessoryFormats
import AccessoryHost

/// The app of a scenario: what its Info.plist declares, how the system treats it, and what it sends.
struct ScenarioAppSection: Equatable {
  var protocols: [String]?
  var backgroundModes: [String] = []
  var startsRegistered = true
  var payload = 2_000
  var interval: Duration?
  var rules = AppRules()

  static let format = Record(
    "app", "the app: what its Info.plist declares, and how the system treats it", Self()
  ) {
    Field(
      "protocols", \.protocols, .optional(.list(of: .text)),
      "UISupportedExternalAccessoryProtocols; every protocol counts as declared when left out")
    Field(
      "backgroundModes", \.backgroundModes, .list(of: .text),
      "UIBackgroundModes: with external-accessory among them it keeps its accessories in the background"
    )
    Field(
      "registered", \.startsRegistered, .boolean,
      "whether an object in its process has registered for notifications when it is launched")
    Field(
      "payload", \.payload, .integer(1...1_000_000),
      "how many bytes it sends over each session and expects back")
    Field(
      "every", \.interval, .optional(.duration(.seconds(1)...Scenario.longest)),
      "how often it does so while a session is open; once when left out")
    Field("rules", \.rules, AppRules.format)
  }

  init() {}

  init(_ settings: AppSettings, payload: Int, every interval: Duration?) {
    protocols = settings.manifest.declaredProtocols
    backgroundModes = settings.manifest.backgroundModes
    startsRegistered = settings.startsRegistered
    rules = settings.rules
    (self.payload, self.interval) = (payload, interval)
  }

  /// The app's settings.
  var settings: AppSettings {
    var settings = AppSettings()
    settings.manifest = AppManifest(declaredProtocols: protocols, backgroundModes: backgroundModes)
    settings.startsRegistered = startsRegistered
    settings.rules = rules
    return settings
  }
}

extension AppRules {
  /// As scenarios and the control protocol write them.
  package static let format = Record(
    "rules", "how the system treats the app, where systems differ or nothing is documented",
    AppRules()
  ) {
    Field(
      "visibility", \.visibility, .words([("declared", .declared), ("all", .all)]),
      "which accessories it sees")
    Field(
      "undeclaredSessions", \.undeclaredSessions,
      .words([("refused", .refused), ("allowed", .allowed)]),
      "a session for a protocol that is not declared")
    Field(
      "honorsBackgroundMode", \.honorsBackgroundMode, .boolean,
      "whether the background mode counts: since iOS 5")
    Field(
      "secondSession", \.secondSession,
      .words([("closesFirst", .closesFirst), ("refused", .refused), ("sideBySide", .sideBySide)]),
      "a second session for one protocol of one accessory")
    Field(
      "otherApps", \.otherApps,
      .words([("shared", .shared), ("refused", .refused), ("interrupted", .interrupted)]),
      "a session for a protocol for which another app has one")
    Field(
      "reattachment", \.reattachment,
      .words([("both", .both), ("nothing", .nothing), ("connectOnly", .connectOnly)]),
      "which notifications it gets of an accessory that left and came back while it was suspended")
    Field(
      "settlingTime", \.settlingTime, .duration(.zero...Scenario.longest),
      "for how long after its connect an accessory gives no sessions")
    Field("wakesForBytes", \.wakesForBytes, .boolean, "whether bytes wake it when it is suspended")
    Field(
      "wakeTime", \.wakeTime, .duration(.zero...Scenario.longest),
      "how long it runs when bytes have woken it")
    Field(
      "lostConnects", \.lostConnects,
      .words([("none", .none), ("all", .all), ("outsideForeground", .outsideForeground)]),
      "which connect notifications are lost")
    Field(
      "announcesBytesOnce", \.announcesBytesOnce, .boolean,
      "whether a session announces bytes once and never again")
  }
}
