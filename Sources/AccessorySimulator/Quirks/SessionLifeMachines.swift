import AccessoryCore
import AccessoryFormats
import AccessoryProfiles

// These types decide how long an accessory's sessions last. Each type applies one quirk from
// AccessoryProfiles/Quirks/SessionLives.swift.

/// Applies the quirk `ends-sessions`.
///
/// ```
///            first session      after `episode`      first session after `calm`
///   waiting ──────────────▶ episode ────────────▶ calm ──────────────────────▶ episode …
/// ```
///
/// Time continues to pass while the accessory is unplugged.
struct SessionEnder {
  private let quirk: EndedSessions
  private var random: SeededRandom
  private var beginning: Instant?

  init(_ quirk: EndedSessions, _ random: SeededRandom) {
    (self.quirk, self.random) = (quirk, random)
  }

  /// Handles a new session. Returns how long the session lasts, or nil if only the device ends it.
  mutating func opened(now: Instant) -> Duration? {
    if let beginning, quirk.episode > .zero, now >= beginning + quirk.episode {
      guard quirk.calm > .zero, now >= beginning + quirk.episode + quirk.calm else { return nil }
      self.beginning = now
    }
    if beginning == nil { beginning = now }
    return (quirk.shortest...quirk.longest).random(using: &random)
  }
}

/// Applies the quirk `wedges-after` by counting the sessions that were opened during the period `within`. Invariant: a
/// wedged accessory answers nothing until it has been without power for at least `rest`.
struct OpenCounter {
  private let quirk: WedgedByOpens
  private var opens: [Instant] = []
  private(set) var isWedged = false

  init(_ quirk: WedgedByOpens) {
    self.quirk = quirk
  }

  /// Counts a session that was opened. Returns true if the session wedges the accessory.
  mutating func opened(now: Instant) -> Bool {
    guard !isWedged else { return false }
    opens.removeAll { $0 + quirk.within < now }
    opens.append(now)
    isWedged = opens.count >= quirk.opens
    return isWedged
  }

  /// Called when power returns. `rest` is how long the accessory was without power.
  mutating func pluggedIn(after rest: Duration) {
    if rest >= quirk.rest { (opens, isWedged) = ([], false) }
  }

  var story: String {
    "wedged by \(quirk.opens) opens within \(DurationText.format(quirk.within)): it stops answering until it is "
      + "unplugged for \(DurationText.format(quirk.rest)) (wedges-after quirk)"
  }
}

/// Applies the quirk `goes-silent` by counting sessions since the last power cycle.
struct SilenceMachine {
  private let quirk: GoesSilent
  private var random: SeededRandom
  private var sessions = 0

  init(_ quirk: GoesSilent, _ random: SeededRandom) {
    (self.quirk, self.random) = (quirk, random)
  }

  mutating func opened() -> Duration {
    sessions += 1
    let time = sessions == 1 ? quirk.after : sessions == 2 ? quirk.restart : quirk.later
    guard quirk.jitter > .zero else { return time }
    return max(.zero, time + quirk.jitter * Double.random(in: -1...1, using: &random))
  }

  /// Called when power returns. `rest` is how long the accessory was without power.
  mutating func pluggedIn(after rest: Duration) {
    if rest >= quirk.rest { sessions = 0 }
  }
}

/// Applies the quirk `phantom-session`. Invariant: a session that the accessory itself ends leaves no phantom session
/// behind.
struct PhantomMachine {
  private let quirk: PhantomSession
  private var random: SeededRandom
  private(set) var isHaunted = false

  init(_ quirk: PhantomSession, _ random: SeededRandom) {
    (self.quirk, self.random) = (quirk, random)
  }

  /// Handles a new session. Returns how long the session lasts, or nil if only the device ends it.
  mutating func opened() -> Duration? {
    isHaunted ? (Duration.zero...quirk.ends).random(using: &random) : nil
  }

  /// Handles the end of a session that was ended by the device or by an unplug. `quiet` is the time since the session's
  /// last byte. Returns true if a phantom session remains.
  mutating func cutOff(after quiet: Duration) -> Bool {
    guard !isHaunted, quiet < quirk.within else { return false }
    isHaunted = true
    return true
  }

  /// Called when power returns. `rest` is how long the accessory was without power.
  mutating func pluggedIn(after rest: Duration) {
    if rest >= quirk.rest { isHaunted = false }
  }

  var story: String {
    "stays open as a phantom: every new session ends until the accessory is unplugged for "
      + "\(DurationText.format(quirk.rest)) (phantom-session quirk)"
  }
}

extension ClosedRange<Duration> {
  fileprivate func random(using random: inout SeededRandom) -> Duration {
    lowerBound + (upperBound - lowerBound) * Double.random(in: 0...1, using: &random)
  }
}
