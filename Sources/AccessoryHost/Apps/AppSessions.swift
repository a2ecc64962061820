import AccessoryCore
import AccessoryFormats
import AccessorySessions

/// The reason why an app did not get a session.
public enum AppSessionError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The accessory or its connection is gone, or the app is not allowed to see the accessory.
  case notConnected(connectionID: Int)
  /// The accessory does not offer the protocol. An accessory offers no protocols during the first half of a flicker.
  case protocolNotOffered(String, offered: [String])
  /// The app's Info.plist does not declare the protocol. The explanation names the Info.plist and says how to fix the
  /// problem.
  case protocolNotDeclared(String, explanation: String)
  /// The app already has a session for the protocol, and the rules do not allow a second one.
  case alreadyOpen(String)
  /// Another app has a session for the protocol, and the rules do not allow a second one.
  case openInAnotherApp(String)
  case notSettled(remaining: Duration)
  case refused(SessionRefusal)

  /// A sentence that gives the reason.
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

/// Chooses the protocol to use for a session.
public enum ProtocolChoice {
  /// The reason why no protocol can be chosen. The description suggests the most similar valid name and has no period
  /// at the end.
  public struct Refusal: Error, Equatable, Sendable, CustomStringConvertible {
    /// The problem and the protocols that are offered.
    public let description: String
  }

  /// Returns the wanted protocol, or the only offered protocol if `wanted` is nil.
  ///
  /// ```swift
  /// try ProtocolChoice.choose(nil, among: ["com.lawaken.iap2"])   // "com.lawaken.iap2"
  /// ```
  public static func choose(_ wanted: String?, among offered: [String]) throws(Refusal) -> String {
    let list = offered.joined(separator: ", ")
    if let wanted {
      if offered.contains(wanted) { return wanted }
      let near = Suggestion.nearHint(for: wanted, in: offered)
      throw Refusal(description: "the accessory does not offer \(wanted); it offers \(list)\(near)")
    }
    guard let first = offered.first else { throw Refusal(description: "the accessory offers no protocol yet") }
    if offered.count > 1 {
      throw Refusal(description: "several protocols are offered, choose one with --protocol: \(list)")
    }
    return first
  }
}
