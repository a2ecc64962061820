import AccessoryFormats
import AccessorySessions

/// Why an app got no session.
public enum AppSessionError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The accessory, or this connection of it, is gone, or the app may not see it.
  case notConnected(connectionID: Int)
  /// It does not offer the protocol; during the first half of a flicker it offers none.
  case protocolNotOffered(String, offered: [String])
  /// The app's Info.plist does not declare the protocol; the text names the file and the remedy.
  case protocolNotDeclared(String, explanation: String)
  /// The app already has a session for the protocol, and the rules allow no second.
  case alreadyOpen(String)
  /// Another app has a session for the protocol, and the rules allow no second.
  case openInAnotherApp(String)
  /// The accessory connected too recently, according to the rules.
  case notSettled(remaining: Duration)
  /// The connection refused.
  case refused(SessionRefusal)

  /// A sentence.
  public var description: String {
    switch self {
    case .notConnected(let id): "the accessory with connection ID \(id) is no longer connected"
    case .protocolNotOffered(let name, let offered):
      offered.isEmpty
        ? "the accessory offers no protocols yet: wait until it connects again and offers \(name)"
        : "the accessory does not offer \(name); it offers \(offered.joined(separator: ", "))"
    case .protocolNotDeclared(_, let explanation): explanation
    case .alreadyOpen(let name):
      "the app already has an open session for \(name): close that session and both of its streams first"
    case .openInAnotherApp(let name): "another app has an open session for \(name)"
    case .notSettled(let remaining):
      "the accessory accepts no sessions yet: try again in \(DurationText.format(remaining))"
    case .refused(let refusal): refusal.description
    }
  }
}
