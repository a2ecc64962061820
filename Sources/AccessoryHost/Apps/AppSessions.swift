import AccessoryCore
import AccessoryFormats
import AccessorySessions

/// The sessions of one app. The table decides whether the app may open another session. An accessory can have one
/// session at a time for each of its protocols.
struct AppSessionTable: Equatable {
  /// The decision about an app's request to open a session.
  enum Decision: Equatable {
    case open
    /// The session can be opened once these sessions have been closed.
    case close([Int])
    case refuse(AppSessionError)
  }

  private struct Entry: Equatable {
    var key: Int
    var connectionID: Int
    var protocolName: String
  }

  private var entries: [Entry] = []
  private var lastKey = 0

  /// Decides whether to open a session. The caller has checked that the app sees the accessory and may use the
  /// protocol.
  func decide(
    _ accessory: PublishedAccessory, _ protocolName: String, age: Duration, rules: AppRules
  ) -> Decision {
    guard accessory.protocols.contains(protocolName) else {
      return .refuse(.protocolNotOffered(protocolName, offered: accessory.protocols))
    }
    if age < rules.settlingTime { return .refuse(.notSettled(remaining: rules.settlingTime - age)) }
    let open = keys(accessory.connectionID, protocolName)
    switch rules.secondSession {
    case _ where open.isEmpty, .sideBySide: return .open
    case .closesFirst: return .close(open)
    case .refused: return .refuse(.alreadyOpen(protocolName))
    }
  }

  func keys(_ connectionID: Int, _ protocolName: String) -> [Int] {
    entries.filter { $0.connectionID == connectionID && $0.protocolName == protocolName }.map(\.key)
  }

  /// Records a new session and returns its key. Keys are never reused.
  mutating func opened(_ connectionID: Int, _ protocolName: String) -> Int {
    lastKey += 1
    entries.append(Entry(key: lastKey, connectionID: connectionID, protocolName: protocolName))
    return lastKey
  }

  mutating func ended(_ key: Int) {
    entries.removeAll { $0.key == key }
  }
}

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
