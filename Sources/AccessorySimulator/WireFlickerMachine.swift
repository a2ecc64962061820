import AccessoryCore
import AccessoryFormats
import AccessoryProfiles

/// Decides when an accessory that flickers on the wire is plugged in, and whether it offers its protocols at that time.
///
/// ```
///              plugIn                 the device is done      after `empty`     after `gap`
///   unplugged ───────▶ empty(1) ─────────────────────▶ empty(1) ─────────▶ away(1) ──┐
///       ▲                 ▲                                                          │
///       └── unplug ──     └──────────── more cycles to come ─────────────────────────┤
///                                                                  last cycle: whole ◀┘
/// ```
///
/// The time without protocols does not start until the device has accepted the accessory's identification and
/// authentication. A late or slow host therefore still sees the whole flicker. A device that disconnects and returns
/// sees the flicker again.
struct WireFlickerMachine {
  enum State: Equatable {
    case unplugged
    /// The accessory is attached without protocols until `leavesAt`, which is set once the device has accepted it.
    case empty(cycle: Int, leavesAt: Instant?)
    case away(cycle: Int, until: Instant)
    case whole
  }

  enum Action: Equatable {
    case nothing
    case attach(isWhole: Bool)
    case detach
  }

  private(set) var state = State.unplugged
  private(set) var flicker: Flicker?
  /// The flicker to perform at each attachment, or nil if the accessory does not flicker.
  private var own: Flicker?

  init(flicker: Flicker?) {
    change(to: flicker)
    self.flicker = own
  }

  mutating func change(to flicker: Flicker?) {
    // If the device causes the flicker, the accessory does nothing.
    own = flicker?.maker == .wire ? flicker : nil
  }

  var deadline: Instant? {
    switch state {
    case .empty(_, let leavesAt): leavesAt
    case .away(_, let until): until
    case .unplugged, .whole: nil
    }
  }

  var isEmpty: Bool {
    if case .empty = state { return true }
    return false
  }

  mutating func plugIn() -> Action {
    guard state == .unplugged else { return .nothing }
    flicker = own
    return attach(cycle: 1)
  }

  /// Unplugs the accessory and, after a gap, plugs it in again. Uses the accessory's own flicker or, if it has none,
  /// `other`.
  mutating func flickerNow(_ other: Flicker, now: Instant, random: inout SeededRandom) -> Action {
    let action = unplug()
    let next = own ?? other
    flicker = next
    state = .away(cycle: 0, until: now + next.jittered(next.gap, using: &random))
    return action
  }

  mutating func unplug() -> Action {
    defer { state = .unplugged }
    switch state {
    case .empty, .whole: return .detach
    case .unplugged, .away: return .nothing
    }
  }

  private mutating func attach(cycle: Int) -> Action {
    if let flicker, cycle <= flicker.cycles {
      state = .empty(cycle: cycle, leavesAt: nil)
      return .attach(isWhole: false)
    }
    flicker = own
    state = .whole
    return .attach(isWhole: true)
  }

  /// Called when the device has received everything that an accessory without protocols sends.
  mutating func deviceIsDone(now: Instant, random: inout SeededRandom) {
    guard let flicker, case .empty(let cycle, nil) = state else { return }
    state = .empty(cycle: cycle, leavesAt: now + flicker.jittered(flicker.empty, using: &random))
  }

  /// Called when the device has disconnected. The accessory stays plugged in and starts over with the next device.
  mutating func deviceLeft() {
    switch state {
    case .unplugged, .away: break
    case .empty, .whole: _ = attach(cycle: 1)
    }
  }

  mutating func handleTimeout(now: Instant, random: inout SeededRandom) -> Action {
    guard let flicker, let deadline, deadline <= now else { return .nothing }
    switch state {
    case .empty(let cycle, _):
      state = .away(cycle: cycle, until: now + flicker.jittered(flicker.gap, using: &random))
      return .detach
    case .away(let cycle, _): return attach(cycle: cycle + 1)
    case .unplugged, .whole: return .nothing
    }
  }
}
