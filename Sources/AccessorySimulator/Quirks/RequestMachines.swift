import AccessoryCore
import AccessoryProfiles

// These types decide which requests an accessory handles, across all of its sessions. Each type applies one quirk from
// AccessoryProfiles/Quirks/SessionBytes.swift. Session numbers are never reused.

/// Applies the quirk `busy-after-cancel`.
///
/// ```
///           request           after `touch`: the reply goes out
///   free ─────────────▶ waiting ───────────────────────────────▶ free
///     ▲                    │ its session ends
///     │                    ▼             after `busy`              a session is open
///     └─────────────── (cancelled) busy ───────────────▶ owing ──────────────────────▶ free
/// ```
///
/// While the accessory is waiting or busy, it ignores requests in other sessions. Unplugging resets the accessory.
struct TouchMachine {
  private enum State: Equatable {
    case free
    case waiting(session: Int, since: Instant)
    case busy(until: Instant, reply: [UInt8])
    case owing([UInt8])
  }

  enum Action: Equatable {
    case nothing
    case release(session: Int)
    /// The reply to the cancelled request is due.
    case lateReply
  }

  private let quirk: BusyAfterCancel
  private var state = State.free

  init(_ quirk: BusyAfterCancel) {
    self.quirk = quirk
  }

  var deadline: Instant? {
    switch state {
    case .free, .owing: nil
    case .waiting(_, let since): since + quirk.touch
    case .busy(let until, _): until
    }
  }

  mutating func received(in session: Int, now: Instant) -> Bool {
    switch state {
    case .free:
      state = .waiting(session: session, since: now)
      return true
    case .waiting(let waiting, _): return waiting == session
    case .busy: return false
    case .owing: return true
    }
  }

  func holds(_ session: Int) -> Bool {
    if case .waiting(session, _) = state { true } else { false }
  }

  /// Handles the end of a session. `held` contains the replies that were being held back for the session. Returns true
  /// if a request is cancelled because the session has ended.
  mutating func ended(_ session: Int, held: [UInt8], now: Instant) -> Bool {
    guard case .waiting(session, let since) = state else { return false }
    state = .busy(until: max(now, since + quirk.busy), reply: quirk.reply == .late ? held : [])
    return true
  }

  mutating func handleTimeout(now: Instant) -> Action {
    guard let deadline, deadline <= now else { return .nothing }
    switch state {
    case .free, .owing: return .nothing
    case .waiting(let session, _):
      state = .free
      return .release(session: session)
    case .busy(_, let reply):
      state = reply.isEmpty ? .free : .owing(reply)
      return reply.isEmpty ? .nothing : .lateReply
    }
  }

  /// Returns the late reply for an open session, or an empty list if no reply is due.
  mutating func takeLateReply() -> [UInt8] {
    guard case .owing(let reply) = state else { return [] }
    state = .free
    return reply
  }

  mutating func unplugged() { state = .free }
}

/// Applies the quirk `fails-after-first-transaction` by counting transactions until the accessory is unplugged. A
/// transaction consists of a request and all bytes that follow it without a pause.
struct TransactionCounter {
  private let quirk: FailingTransactions
  private var begun = 0
  private var session: Int?
  private var newest: Instant?

  init(_ quirk: FailingTransactions) {
    self.quirk = quirk
  }

  var answer: FailingTransactions.Answer { quirk.answer }

  mutating func received(in session: Int, now: Instant) -> Bool {
    let goesOn = self.session == session && newest.map { now - $0 < quirk.pause } == true
    if !goesOn, begun <= quirk.transactions { begun += 1 }
    (self.session, newest) = (session, now)
    return begun <= quirk.transactions
  }

  mutating func sent(in session: Int, now: Instant) {
    if self.session == session { newest = now }
  }

  mutating func unplugged() { (begun, session, newest) = (0, nil, nil) }
}

/// Applies the quirk `obeys-first-settings-only` in one session.
///
/// Each command is held back until it matches the whole prefix or differs from it, and is then ignored or passed on.
struct SettingsFilter {
  private enum State: Equatable {
    case undecided([UInt8])
    case passing
    case ignoring
  }

  private let quirk: FirstSettingsOnly
  private let prefix: [UInt8]
  private var state = State.undecided([])
  private var hasObeyed = false
  private var newest: Instant?
  private(set) var ignored = 0

  init(_ quirk: FirstSettingsOnly) {
    self.quirk = quirk
    prefix = Array(quirk.prefix.utf8)
  }

  mutating func receive(_ bytes: [UInt8], now: Instant) -> [UInt8] {
    var heard: [UInt8] = []
    if quirk.end == .pause {
      if let newest, now - newest >= quirk.pause { finishCommand(&heard) }
      newest = now
    }
    for byte in bytes { receive(byte, &heard) }
    return heard
  }

  private mutating func receive(_ byte: UInt8, _ heard: inout [UInt8]) {
    switch state {
    case .passing: heard.append(byte)
    case .ignoring: ignored += 1
    case .undecided(var head):
      head.append(byte)
      if head.count < prefix.count, prefix.starts(with: head) {
        state = .undecided(head)
      } else {
        decide(head, &heard)
      }
    }
    if byte == terminator { finishCommand(&heard) }
  }

  private var terminator: UInt8? {
    switch quirk.end {
    case .pause: nil
    case .lf: UInt8(ascii: "\n")
    case .cr: UInt8(ascii: "\r")
    }
  }

  private mutating func decide(_ head: [UInt8], _ heard: inout [UInt8]) {
    let isSettings = head.starts(with: prefix)
    if isSettings, hasObeyed {
      state = .ignoring
      ignored += head.count
      return
    }
    if isSettings { hasObeyed = true }
    state = .passing
    heard += head
  }

  private mutating func finishCommand(_ heard: inout [UInt8]) {
    // A command that is shorter than the prefix is not a settings command.
    if case .undecided(let head) = state { heard += head }
    state = .undecided([])
  }
}
