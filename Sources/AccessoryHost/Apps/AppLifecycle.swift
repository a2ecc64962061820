import AccessoryCore

/// The state of an app.
public enum AppState: String, CaseIterable, Sendable {
  case foreground
  case background
  /// The app is in memory but not running.
  case suspended
}

/// How an app moves between foreground, background and suspension, and how that affects its accessories.
///
/// ```
///               keeps its accessories (the background mode)      loses them
///   foreground ──────────── nothing ────────────▶ background    every accessory disconnects, sessions close
///   background ──────────── notices held ───────▶ suspended     nothing: it has no accessories there
///   suspended  ───────── notices delivered ─────▶ background    nothing: it has no accessories there
///   any        ──────────── nothing / notices ──▶ foreground    every accessory connects
///   suspended  ── bytes arrive: runs a while ───▶ background    –
/// ```
struct AppLifecycle: Equatable {
  enum Effect: Equatable {
    case nothing
    case loses
    case regains
    case delivers
  }

  private(set) var state = AppState.foreground
  let keepsAccessories: Bool
  /// When to suspend an app that was woken by bytes.
  private(set) var deadline: Instant?

  init(keepsAccessories: Bool) {
    self.keepsAccessories = keepsAccessories
  }

  var isHeld: Bool { state == .suspended && keepsAccessories }
  var hasAccessories: Bool { state == .foreground || keepsAccessories }

  mutating func move(to next: AppState) -> Effect {
    let before = self
    state = next
    deadline = nil
    if before.hasAccessories != hasAccessories { return hasAccessories ? .regains : .loses }
    return before.isHeld && !isHeld ? .delivers : .nothing
  }

  /// Handles bytes that arrive in one of the app's sessions. If the app is suspended, it then runs for `time`.
  mutating func bytesCame(now: Instant, runsFor time: Duration) -> Effect {
    guard isHeld else { return .nothing }
    let effect = move(to: .background)
    deadline = now + time
    return effect
  }

  mutating func handleTimeout(now: Instant) -> Effect {
    guard let deadline, deadline <= now else { return .nothing }
    return move(to: .suspended)
  }
}

/// A notification to an app.
public enum AccessoryNotice: Equatable, Sendable {
  case connect(PublishedAccessory)
  /// An accessory disconnected. The associated value is the accessory's last known state, including its connection ID
  /// and protocols.
  case disconnect(PublishedAccessory)

  /// The accessory that this notification concerns.
  public var accessory: PublishedAccessory {
    switch self {
    case .connect(let accessory), .disconnect(let accessory): accessory
    }
  }

  fileprivate func isConnect(of accessory: PublishedAccessory) -> Bool {
    if case .connect(let other) = self { return other.connectionID == accessory.connectionID }
    return false
  }

  fileprivate func isConnect(again accessory: PublishedAccessory) -> Bool {
    if case .connect(let other) = self { return other.serialNumber == accessory.serialNumber }
    return false
  }
}

/// The notifications for a suspended app, which are held until the app runs again.
///
/// ```
///   connect(7)  disconnect(7)               →  nothing: the app never saw accessory 7
///   disconnect(6)  connect(7)               →  one accessory with a new ID: `AppRules.Reattachment` decides
///   disconnect(6)  connect(7) disconnect(7) →  disconnect(6)
/// ```
///
/// Invariant: the queue contains each connection ID at most once, either in a connect notification or in the disconnect
/// notification of an accessory that the app knows. The queue therefore has at most one entry per accessory that the
/// app knows, plus one per connected accessory.
struct NoticeQueue: Equatable {
  private(set) var notices: [AccessoryNotice] = []

  mutating func add(_ notice: AccessoryNotice) {
    if case .disconnect(let gone) = notice, let index = notices.firstIndex(where: { $0.isConnect(of: gone) }) {
      notices.remove(at: index)
    } else {
      notices.append(notice)
    }
  }

  /// Empties the queue and returns the notifications to post, in order.
  mutating func drain(_ rule: AppRules.Reattachment) -> [AccessoryNotice] {
    defer { notices = [] }
    guard rule != .both else { return notices }
    var told = notices
    for case .disconnect(let old) in notices {
      // If the connect precedes the disconnect, the accessory switched transports rather than reconnecting.
      guard let left = told.firstIndex(of: .disconnect(old)),
        let came = told[left...].firstIndex(where: { $0.isConnect(again: old) })
      else { continue }
      if rule == .nothing { told.remove(at: came) }
      told.remove(at: left)
    }
    return told
  }
}
