import AccessoryFormats
import AccessoryHost

/// The app in a scenario. The section defines what the app's Info.plist declares, how the system treats the app, and
/// what the app sends.
struct ScenarioAppSection: Equatable {
  var settings = AppSettings()
  var payload = 2_000
  var interval: Duration?

  static let format = Record(
    "app", "the app: its Info.plist, and how the system treats the app", Self()
  ) {
    Field(
      "protocols", \.settings.manifest.declaredProtocols, .optional(.list(of: .text)),
      "UISupportedExternalAccessoryProtocols; default: all protocols are treated as declared")
    Field(
      "backgroundModes", \.settings.manifest.backgroundModes, .list(of: .text),
      "UIBackgroundModes; with external-accessory, the app keeps its accessories in the background"
    )
    Field(
      "registered", \.settings.startsRegistered, .boolean,
      "whether an object in the app's process registers for notifications at launch")
    Field(
      "payload", \.payload, .integer(1...1_000_000),
      "number of bytes that the app sends over each session and expects back")
    Field(
      "every", \.interval, .optional(.duration(.seconds(1)...Scenario.longest)),
      "the interval at which the app sends the payload again while a session is open; default: sent once")
    Field("rules", \.settings.rules, AppRules.format)
  }
}

extension AppRules {
  /// The format of this section in scenarios and in the control protocol.
  package static let format = Record(
    "rules", "how the system treats the app where iOS versions differ or the behavior is undocumented",
    AppRules()
  ) {
    Field(
      "visibility", \.visibility, .choice,
      "which accessories the app sees")
    Field(
      "undeclaredSessions", \.undeclaredSessions,
      .choice,
      "the result when an app opens a session for a protocol that it does not declare")
    Field(
      "honorsBackgroundMode", \.honorsBackgroundMode, .boolean,
      "whether the background mode has an effect, as it has since iOS 5")
    Field(
      "secondSession", \.secondSession,
      .choice,
      "the result when an app opens a second session with the same accessory and protocol")
    Field(
      "otherApps", \.otherApps,
      .choice,
      "the result when an app opens a session for a protocol while another app has a session open for it")
    Field(
      "reattachment", \.reattachment,
      .choice,
      "which notifications the app gets when an accessory disconnects and reconnects while the app is suspended")
    Field(
      "settlingTime", \.settlingTime, .duration(.zero...Scenario.longest),
      "how long an accessory refuses sessions after it connects")
    Field("wakesForBytes", \.wakesForBytes, .boolean, "whether arriving bytes wake a suspended app")
    Field(
      "wakeTime", \.wakeTime, .duration(.zero...Scenario.longest),
      "how long the app runs after bytes wake it")
    Field(
      "lostConnects", \.lostConnects,
      .choice,
      "which connect notifications the app does not get")
    Field(
      "announcesBytesOnce", \.announcesBytesOnce, .boolean,
      "whether a session reports available bytes only once")
  }
}
