import AccessoryCore

/// The sessions of one app, and whether it gets another: one per accessory and protocol, several protocols of one
/// accessory side by side.
struct AppSessionTable: Equatable {
  /// What an app is given that asks for a session.
  enum Decision: Equatable {
    case open
    /// These are closed first.
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

  /// Decides about a session with an accessory that the app sees, for a protocol that it may use.
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

  /// The open sessions for one protocol of one publication.
  func keys(_ connectionID: Int, _ protocolName: String) -> [Int] {
    entries.filter { $0.connectionID == connectionID && $0.protocolName == protocolName }.map(\.key)
  }

  /// A session was opened; the key is its own for good.
  mutating func opened(_ connectionID: Int, _ protocolName: String) -> Int {
    lastKey += 1
    entries.append(Entry(key: lastKey, connectionID: connectionID, protocolName: protocolName))
    return lastKey
  }

  /// A session is over.
  mutating func ended(_ key: Int) {
    entries.removeAll { $0.key == key }
  }

  /// How many are open.
  var count: Int { entries.count }
}
