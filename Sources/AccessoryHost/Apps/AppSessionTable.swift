import AccessoryCore

/// The sessions of one app, and whether it may open another: one for each accessory and protocol; several protocols of
/// one accessory at the same time.
struct AppSessionTable: Equatable {
  /// The answer to an app that opens a session.
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

  /// How many are open.
  var count: Int { entries.count }
}
