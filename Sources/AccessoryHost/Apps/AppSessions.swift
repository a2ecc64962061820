import AccessoryCore
import AccessoryFormats
import AccessorySessions

/// The sessions of one app, and whether it may open another. One session is allowed per accessory and protocol; several
/// protocols of one accessory can be used at the same time.
struct AppSessionTable: Equatable {
  /// The answer to an app that opens a session.
  enum Decision: Equatable {
    case open
    /// These sessions are closed first.
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

  /// Decides whether a session may be opened, with an accessory that the app sees and a protocol that it may use.
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

  /// The open sessions for one protocol of one connection of an accessory.
  func keys(_ connectionID: Int, _ protocolName: String) -> [Int] {
    entries.filter { $0.connectionID == connectionID && $0.protocolName == protocolName }.map(\.key)
  }

  /// A session was opened; its key is never used again.
  mutating func opened(_ connectionID: Int, _ protocolName: String) -> Int {
    lastKey += 1
    entries.append(Entry(key: lastKey, connectionID: connectionID, protocolName: protocolName))
    return lastKey
  }

  /// A session has ended.
  mutating func ended(_ key: Int) {
    entries.removeAll { $0.key == key }
  }

  /// How many sessions are open.
  var count: Int { entries.count }
}

/// Why an app got no session.
public enum AppSessionError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The accessory, or this connection of it, is gone, or the app may not see it.
  case notConnected(connectionID: Int)
  /// The accessory does not offer the protocol; during the first half of a flicker it offers none.
  case protocolNotOffered(String, offered: [String])
  /// The app's Info.plist does not declare the protocol; the text names the file and the remedy.
  case protocolNotDeclared(String, explanation: String)
  /// The app already has a session for the protocol, and the rules allow no second one.
  case alreadyOpen(String)
  /// Another app has a session for the protocol, and the rules allow no second one.
  case openInAnotherApp(String)
  /// The accessory connected too recently for the rules.
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

/// Chooses the protocol for which an app opens a session.
public enum ProtocolChoice {
  /// Why no protocol can be chosen; the description is a sentence fragment with the nearest valid name.
  public struct Refusal: Error, Equatable, Sendable, CustomStringConvertible {
    /// What is wrong, and which protocols are offered.
    public let description: String
  }

  /// The wanted protocol, or the only one that is offered.
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
