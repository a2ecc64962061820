import ExternalAccessory

/// A session's bytes, which depend on the session's number and on each byte's position, so that a byte that is lost,
/// duplicated, changed or in the wrong session is noticed at once.
enum SoakBytes {
  private static let longest = 65_536
  private static let table = counting(256 + longest)

  /// Returns up to `longest` of a session's bytes, starting at the given position.
  static func of(_ token: Int, _ place: Int, _ count: Int) -> ArraySlice<UInt8> {
    let start = (token &* 89 &+ place) & 255
    return table[start..<(start + min(count, longest))]
  }
}

/// Records what the app wrote in each session of a soak, and how much of it the accessory sent back. A session may
/// break, or bytes may be missing, only if the session was disturbed: the cable was pulled, or another thread opened a
/// session for the same accessory and protocol.
final class SoakLedger: @unchecked Sendable {
  private struct Account {
    let key: String
    var written = 0
    var echoed = 0
    var isDisturbed = false
  }

  struct Balance {
    var sessions = 0
    var undisturbed = 0
    var written = 0
    var echoed = 0
  }

  private let lock = NSLock()
  private var accounts: [Int: Account] = [:]
  private var lastToken = 0
  private var going: Set<Int> = []
  private var list: [String] = []
  private var settled = Balance()

  var findings: [String] { lock.withLock { list } }
  var balance: Balance { lock.withLock { settled } }

  func openCount(_ connectionID: Int) -> Int {
    lock.withLock { accounts.values.count { $0.key.hasPrefix("\(connectionID) ") && $0.written > 0 } }
  }

  func find(_ text: String) { lock.withLock { if list.count < 20 { list.append(text) } } }

  /// Call this before an accessory's cable is pulled.
  func cableGoes(_ connectionID: Int) {
    lock.withLock {
      going.insert(connectionID)
      disturb { $0.hasPrefix("\(connectionID) ") }
    }
  }

  func begin(_ connectionID: Int, _ protocolName: String) -> Int {
    lock.withLock {
      let key = "\(connectionID) \(protocolName)"
      // The session that is opened later closes the other one, and either of these two may be opened later.
      let isShared = accounts.values.contains { $0.key == key }
      disturb { $0 == key }
      lastToken += 1
      accounts[lastToken] = Account(key: key, isDisturbed: isShared || going.contains(connectionID))
      return lastToken
    }
  }

  func wrote(_ count: Int, _ token: Int) { lock.withLock { accounts[token]?.written += count } }

  func echoed(_ bytes: ArraySlice<UInt8>, _ token: Int) {
    lock.withLock {
      guard let place = accounts[token]?.echoed else { return }
      if bytes != SoakBytes.of(token, place, bytes.count) {
        list.append("session \(token): other bytes came back at \(place)")
      }
      accounts[token]?.echoed += bytes.count
    }
  }

  /// Ends a session, of which everything came back if it is `whole`.
  func closed(_ token: Int, isWhole: Bool) {
    lock.withLock {
      guard let account = accounts.removeValue(forKey: token) else { return }
      if !account.isDisturbed, !isWhole || account.echoed > account.written {
        list.append("session \(token): of \(account.written) bytes \(account.echoed) came back, undisturbed")
      }
      settled.sessions += 1
      settled.undisturbed += account.isDisturbed ? 0 : 1
      settled.written += account.written
      settled.echoed += account.echoed
    }
  }

  /// Forgets a session that could not be opened.
  func forget(_ token: Int) { lock.withLock { accounts[token] = nil } }

  /// The caller holds the lock.
  private func disturb(_ isMeant: (String) -> Bool) {
    for (token, account) in accounts where isMeant(account.key) { accounts[token]?.isDisturbed = true }
  }
}
