import AccessoryCore

/// The state of an app.
public enum AppState: String, CaseIterable, Sendable {
  /// On the screen.
  case foreground
  /// Running without being seen.
  case background
  /// In memory, not running.
  case suspended
}

/// An app's transitions between foreground, background and suspension, and what each means for its accessories.
///
/// ```
///               keeps its accessories (the background mode)      loses them
///   foreground ──────────── nothing ────────────▶ background    every accessory disconnects, sessions close
///   background ──────────── notices wait ───────▶ suspended     nothing that it would be notified of
///   suspended  ──────────── notices come ───────▶ background    nothing: it has no accessories there
///   any        ──────────── nothing / notices ──▶ foreground    every accessory connects
///   suspended  ── bytes came: runs for a while ─▶ background    –
/// ```
struct AppLifecycle: Equatable {
  /// The effect of a transition.
  enum Effect: Equatable {
    case nothing
    /// The app loses its accessories.
    case loses
    /// The app gets its accessories back.
    case regains
    /// The app runs again: the notifications that waited are delivered.
    case delivers
  }

  private(set) var state = AppState.foreground
  /// Whether the app keeps accessories and sessions in the background.
  let keepsAccessories: Bool
  /// When an app that was woken by bytes is suspended again.
  private(set) var deadline: Instant?

  /// An app in the foreground.
  init(keepsAccessories: Bool) {
    self.keepsAccessories = keepsAccessories
  }

  /// Whether notifications wait until the app runs.
  var isHeld: Bool { state == .suspended && keepsAccessories }
  /// Whether the app has accessories now.
  var hasAccessories: Bool { state == .foreground || keepsAccessories }

  mutating func move(to next: AppState) -> Effect {
    let before = self
    state = next
    deadline = nil
    if before.hasAccessories != hasAccessories { return hasAccessories ? .regains : .loses }
    return before.isHeld && !isHeld ? .delivers : .nothing
  }

  /// Bytes wait in one of its sessions; it runs for a while.
  mutating func bytesCame(now: Instant, runsFor time: Duration) -> Effect {
    guard isHeld else { return .nothing }
    let effect = move(to: .background)
    deadline = now + time
    return effect
  }

  /// The time of ``deadline`` has come.
  mutating func handleTimeout(now: Instant) -> Effect {
    guard let deadline, deadline <= now else { return .nothing }
    return move(to: .suspended)
  }
}
