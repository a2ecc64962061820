import AccessoryCore

/// Decides which of a device's accessories an app sees, when it is notified of them, and what becomes of accessories
/// and notifications when the app leaves the foreground.
///
/// ```
///   device: published, withdrawn ──▶ declared? ──▶ running? ──yes──▶ list, notification if registered, delegate
///                                       │no            │suspended, kept: queue
///                                     hidden           │in the background without the mode: only remembered
/// ```
///
/// The inner machines are ``AppLifecycle`` (whether the app is running) and ``NoticeQueue`` (held notifications).
///
/// Invariants: the app's list contains an accessory before the app is notified of its connect, and no longer contains
/// it when the app is notified of its disconnect. The app is never notified of a hidden accessory. An app without the
/// background mode has an empty list while it is in the background.
struct AppMachine: Equatable {
  /// An action that the caller must perform. Actions must be performed in order.
  enum Action: Equatable {
    case post(AccessoryNotice)
    case notifyDelegate(PublishedAccessory)
    case closeSessions
    /// Start or stop withholding session events.
    case hold(Bool)
    case alert(String)
    case explain(String)
    /// Record that the app misused the API.
    case misuse(String)
  }

  /// The decision about the app's request to open a session.
  enum SessionDecision: Equatable {
    case open
    /// The session can be opened once these sessions have been closed.
    case close([Int])
    case refuse(AppSessionError)
  }

  private struct OpenSession: Equatable {
    var key: Int
    var connectionID: Int
    var protocolName: String
  }

  private let manifest: AppManifest
  private let rules: AppRules
  private let filterSwitch: String
  /// The number of registrations for notifications in the whole process. As with Apple's shared manager, an object that
  /// unregisters too many times stops the notifications for all objects. It is unknown whether Apple's counter can
  /// become negative; this one cannot. An extra call to unregister is recorded as a misuse.
  private(set) var registrationCount: Int
  private var lifecycle: AppLifecycle
  private var queue = NoticeQueue()
  private var sessions: [OpenSession] = []
  private var lastKey = 0
  /// The published accessories that the app may see while it is running.
  private var visible: [PublishedAccessory] = []
  private(set) var hidden: [PublishedAccessory] = []
  private var since: [Int: Instant] = [:]

  private(set) var accessories: [PublishedAccessory] = []

  init(_ settings: AppSettings) {
    manifest = settings.manifest
    rules = settings.rules
    filterSwitch = settings.filterSwitch
    lifecycle = AppLifecycle(
      keepsAccessories: rules.honorsBackgroundMode && manifest.keepsAccessoriesInBackground)
    registrationCount = settings.startsRegistered ? 1 : 0
  }

  var state: AppState { lifecycle.state }
  var deadline: Instant? { lifecycle.deadline }

  // MARK: The device

  /// Launches the app. No notification is posted for an accessory that is already published.
  mutating func launch(_ published: [PublishedAccessory], now: Instant) -> [Action] {
    var actions: [Action] = []
    if case .sought = manifest.origin {
      actions.append(.explain("\(manifest.provenance), so every protocol counts as declared"))
    }
    for accessory in published { actions += admit(accessory, now) }
    accessories = visible
    return actions
  }

  mutating func published(_ accessory: PublishedAccessory, now: Instant) -> [Action] {
    let explanation = admit(accessory, now)
    guard explanation.isEmpty else { return explanation }
    if lifecycle.isHeld {
      queue.add(.connect(accessory))
      return []
    }
    guard lifecycle.hasAccessories else { return [] }
    accessories.append(accessory)
    return notices(of: .connect(accessory))
  }

  mutating func withdrawn(_ accessory: PublishedAccessory) -> [Action] {
    since[accessory.connectionID] = nil
    if let index = hidden.index(numbered: accessory.connectionID) { hidden.remove(at: index) }
    guard let index = visible.index(numbered: accessory.connectionID) else { return [] }
    visible.remove(at: index)
    if lifecycle.isHeld {
      queue.add(.disconnect(accessory))
      return []
    }
    guard lifecycle.hasAccessories else { return [] }
    if let index = accessories.index(numbered: accessory.connectionID) { accessories.remove(at: index) }
    return notices(of: .disconnect(accessory))
  }

  private mutating func admit(_ accessory: PublishedAccessory, _ now: Instant) -> [Action] {
    // During the first half of a flicker, an accessory offers no protocols, but real apps still see it.
    let isDeclared = accessory.protocols.isEmpty || accessory.protocols.contains(where: manifest.declares)
    guard isDeclared || rules.visibility == .all else {
      hidden.append(accessory)
      return [.explain(manifest.explainHidden(accessory, switch: filterSwitch))]
    }
    visible.append(accessory)
    since[accessory.connectionID] = now
    return []
  }

  private func notices(of notice: AccessoryNotice) -> [Action] {
    let isRegistered = registrationCount > 0
    let isPosted = isRegistered && !isLost(notice)
    guard case .disconnect(let gone) = notice, isRegistered || rules.tellsDelegateUnregistered else {
      return isPosted ? [.post(notice)] : []
    }
    return isPosted ? [.post(notice), .notifyDelegate(gone)] : [.notifyDelegate(gone)]
  }

  private func isLost(_ notice: AccessoryNotice) -> Bool {
    guard case .connect = notice else { return false }
    switch rules.lostConnects {
    case .none: return false
    case .all: return true
    case .outsideForeground: return lifecycle.state != .foreground
    }
  }

  // MARK: The app

  mutating func register() { registrationCount += 1 }

  mutating func unregister() -> [Action] {
    if registrationCount > 0 {
      registrationCount -= 1
      return []
    }
    return [
      .misuse(
        "unregisterForLocalNotifications was called without a matching registerForLocalNotifications: the count stays "
          + "at 0"
      )
    ]
  }

  // MARK: App states

  mutating func move(to state: AppState) -> [Action] {
    follow { $0.move(to: state) }
  }

  /// Handles bytes that arrive for a session while the app is suspended.
  mutating func bytesCame(now: Instant) -> [Action] {
    guard rules.wakesForBytes else { return [] }
    let time = rules.wakeTime
    return follow { $0.bytesCame(now: now, runsFor: time) }
  }

  mutating func handleTimeout(now: Instant) -> [Action] {
    follow { $0.handleTimeout(now: now) }
  }

  private mutating func follow(_ change: (inout AppLifecycle) -> AppLifecycle.Effect) -> [Action] {
    let wasHeld = lifecycle.isHeld
    let effect = change(&lifecycle)
    let hold: [Action] = wasHeld == lifecycle.isHeld ? [] : [.hold(lifecycle.isHeld)]
    switch effect {
    case .nothing: return hold
    case .loses:
      let lost = accessories
      accessories = []
      let explanation: [Action] = lost.isEmpty ? [] : [.explain(manifest.explainLoss)]
      return explanation + [.closeSessions] + lost.flatMap { notices(of: .disconnect($0)) } + hold
    case .regains:
      accessories = visible
      return hold + visible.flatMap { notices(of: .connect($0)) }
    case .delivers:
      accessories = visible
      // Session events come first, so that the app reads all bytes that arrived before a disconnect before it is
      // notified of the disconnect.
      return hold + queue.drain(rules.reattachment).flatMap { notices(of: $0) }
    }
  }

  // MARK: Sessions

  /// Decides whether a session may be opened. An accessory can have one session at a time for each of its protocols.
  /// `isOpenElsewhere` is true if another app has a session with the accessory for the same protocol.
  func decide(
    _ connectionID: Int, _ protocolName: String, isOpenElsewhere: Bool, now: Instant
  ) -> SessionDecision {
    guard let index = accessories.index(numbered: connectionID) else {
      return .refuse(.notConnected(connectionID: connectionID))
    }
    let accessory = accessories[index]
    if !manifest.declares(protocolName), rules.undeclaredSessions == .refused {
      let explanation = manifest.explainUndeclared(protocolName, switch: filterSwitch)
      return .refuse(.protocolNotDeclared(protocolName, explanation: explanation))
    }
    if isOpenElsewhere, rules.otherApps == .refused { return .refuse(.openInAnotherApp(protocolName)) }
    guard accessory.protocols.contains(protocolName) else {
      return .refuse(.protocolNotOffered(protocolName, offered: accessory.protocols))
    }
    let age = since[connectionID].map { now - $0 } ?? .zero
    if age < rules.settlingTime { return .refuse(.notSettled(remaining: rules.settlingTime - age)) }
    let open = sessionKeys(connectionID, protocolName)
    switch rules.secondSession {
    case _ where open.isEmpty, .sideBySide: return .open
    case .closesFirst: return .close(open)
    case .refused: return .refuse(.alreadyOpen(protocolName))
    }
  }

  func sessionKeys(_ connectionID: Int, _ protocolName: String) -> [Int] {
    sessions.filter { $0.connectionID == connectionID && $0.protocolName == protocolName }.map(\.key)
  }

  /// Returns the alert that EADemo describes for a session whose protocol the app does not declare, or nil if the app
  /// declares it.
  func alert(about protocolName: String) -> Action? {
    guard !manifest.declares(protocolName) else { return nil }
    let outcome = rules.undeclaredSessions == .refused ? "no session is opened" : "this system opens the session anyway"
    return .alert("The protocol \(protocolName) is not defined in the app's Info.plist: \(outcome)")
  }

  /// Records a new session and returns its key. Keys are never reused.
  mutating func opened(_ connectionID: Int, _ protocolName: String) -> Int {
    lastKey += 1
    sessions.append(OpenSession(key: lastKey, connectionID: connectionID, protocolName: protocolName))
    return lastKey
  }

  mutating func ended(_ key: Int) {
    sessions.removeAll { $0.key == key }
  }
}

/// The settings of an app.
public struct AppSettings: Equatable, Sendable {
  /// The app's Info.plist.
  public var manifest = AppManifest.none
  /// How the system treats the app.
  public var rules = AppRules()
  /// Whether the app is registered for notifications from the start.
  public var startsRegistered = true
  /// The setting that turns off the check for declared protocols, as named in messages.
  public var filterSwitch = "AppRules.visibility and AppRules.undeclaredSessions"

  /// Creates settings for an app that has no Info.plist and runs on a current system.
  public init() {}
}
