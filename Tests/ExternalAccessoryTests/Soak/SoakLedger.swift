import ExternalAccessory

/// Records the bytes of every session in a soak, as seen by the app and by the accessory.
///
/// Each session has an account that records what the app wrote, and how much of it the accessory read and sent back.
/// The value of each byte depends on its position, so a byte that is lost, duplicated, changed or in the wrong session
/// is noticed at once. The accessory may have read fewer bytes than the app wrote only if the session was interrupted:
/// the cable was pulled, or another thread opened a session for the same accessory and protocol.
final class SoakLedger: @unchecked Sendable {
  struct Account {
    let key: String
    var written = 0
    var read = 0
    var echoed = 0
    /// Whether the cable was pulled or another session replaced this one, so that bytes in transit may be lost.
    var isDisturbed = false
    var isClosed = false
    var isOver = false
  }

  struct Balance: Equatable {
    var sessions = 0
    var written = 0
    var read = 0
    var echoed = 0
    var lost = 0
    var disturbed = 0

    static func += (sum: inout Balance, more: Balance) {
      sum.sessions += more.sessions
      sum.written += more.written
      sum.read += more.read
      sum.echoed += more.echoed
      sum.lost += more.lost
      sum.disturbed += more.disturbed
    }
  }

  private let lock = NSLock()
  private var accounts: [UInt32: Account] = [:]
  private var lastToken: UInt32 = 0
  private var going: Set<Int> = []
  private var list: [String] = []
  private var settled = Balance()

  var findings: [String] { lock.withLock { list } }
  var balance: Balance { lock.withLock { settled } }
  var throughCount: Int { lock.withLock { settled.sessions - settled.disturbed } }
  func openCount(_ connectionID: Int) -> Int {
    lock.withLock { accounts.values.count { $0.key.hasPrefix("\(connectionID) ") && !$0.isClosed && $0.written > 0 } }
  }

  func find(_ text: String) { lock.withLock { if list.count < 20 { list.append(text) } } }

  // MARK: App

  func begin(_ connectionID: Int, _ protocolName: String) -> UInt32 {
    lock.withLock {
      lastToken += 1
      var account = Account(key: "\(connectionID) \(protocolName)")
      account.isDisturbed = going.contains(connectionID)
      // The new session closes the earlier one, whose bytes in transit are lost.
      for (token, other) in accounts where other.key == account.key {
        accounts[token]?.isDisturbed = true
        account.isDisturbed = true
      }
      accounts[lastToken] = account
      return lastToken
    }
  }

  func forget(_ token: UInt32) { lock.withLock { accounts[token] = nil } }

  func wrote(_ count: Int, _ token: UInt32) { lock.withLock { accounts[token]?.written += count } }

  func echoed(_ bytes: ArraySlice<UInt8>, _ token: UInt32) {
    lock.withLock {
      guard let place = accounts[token]?.echoed else { return }
      if !SoakBytes.areRight(bytes, token, place) {
        list.append("session \(token): other bytes came back at \(place)")
      }
      accounts[token]?.echoed += bytes.count
    }
  }

  func isThrough(_ token: UInt32) -> Bool { lock.withLock { accounts[token]?.isDisturbed ?? true } }

  func closed(_ token: UInt32) {
    lock.withLock {
      accounts[token]?.isClosed = true
      settle(token)
    }
  }

  /// Call this before an accessory's cable is pulled. Marks the accessory's sessions as interrupted.
  func cableGoes(_ connectionID: Int) {
    lock.withLock {
      going.insert(connectionID)
      for (token, account) in accounts where account.key.hasPrefix("\(connectionID) ") {
        accounts[token]?.isDisturbed = true
      }
    }
  }

  /// Whether both the app and the accessory are done with all sessions that were not interrupted.
  var isQuiet: Bool { lock.withLock { accounts.values.allSatisfy(\.isDisturbed) } }

  /// Settles all accounts. Call this once the cables are gone, because sessions that are still open then end without
  /// being recorded.
  func settleAll() {
    lock.withLock {
      for token in Array(accounts.keys) {
        accounts[token]?.isOver = true
        settle(token)
      }
      if let (token, left) = accounts.first { list.append("session \(token) was never closed by the app: \(left)") }
    }
  }

  /// If both ends have finished with an account, removes it and adds it to the total. The caller holds the lock.
  private func settle(_ token: UInt32) {
    guard let account = accounts[token], account.isClosed, account.isOver || account.written == 0 else { return }
    let lost = account.written - account.read
    if lost != 0, !account.isDisturbed || lost < 0 {
      list.append("session \(token): \(account.written) bytes were written and \(account.read) read, undisturbed")
    }
    if account.echoed > account.read { list.append("session \(token): more came back than was read") }
    settled.sessions += 1
    settled.written += account.written
    settled.read += account.read
    settled.echoed += account.echoed
    settled.lost += lost
    if account.isDisturbed { settled.disturbed += 1 }
    accounts[token] = nil
  }

  // MARK: Accessory

  func read(_ count: Int, _ token: UInt32) { lock.withLock { accounts[token]?.read += count } }

  func over(_ token: UInt32) {
    lock.withLock {
      accounts[token]?.isOver = true
      settle(token)
    }
  }
}
