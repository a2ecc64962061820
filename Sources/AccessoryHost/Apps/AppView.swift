import AccessoryCore
import AccessoryFormats
import AccessorySessions

/// One app's view of a device: the accessories that the app sees, its notifications, and its sessions.
///
/// ``AppMachine`` makes all decisions; this class carries them out.
///
/// ```swift
/// var settings = AppSettings()
/// settings.manifest = try AppManifest.read(file: "Info.plist")
/// let app = device.makeApp(handler, settings: settings)
/// let session = try app.openSession(with: app.accessories[0], protocolName: "com.lawaken.iap2")
/// ```
public final class AppView {
  /// The settings of the app.
  public let settings: AppSettings
  private let device: Device
  private let handler: any AppHandler
  // Exclusivity is not checked, because every notification uses these properties. While they change, no other code runs.
  @exclusivity(unchecked) private var machine: AppMachine
  @exclusivity(unchecked) private var timer: LoopTimer?
  private var sessions: [Int: Session] = [:]
  /// How the app misused the API, in order of occurrence.
  public var misuses: [String] { remarks.texts }
  private var remarks = BoundedLog()

  init(device: Device, handler: any AppHandler, settings: AppSettings) {
    self.device = device
    self.handler = handler
    self.settings = settings
    machine = AppMachine(settings)
    timer = device.loop.makeTimer { [unowned self] in perform(machine.handleTimeout(now: device.loop.now)) }
    perform(machine.launch(device.published, now: device.loop.now))
  }

  deinit { timer?.cancel() }

  /// The accessories that the app currently sees, in order of publication. This property corresponds to Apple's
  /// `connectedAccessories`.
  public var accessories: [PublishedAccessory] { machine.accessories }
  /// The published accessories that the app does not see because it declares none of their protocols.
  public var hiddenAccessories: [PublishedAccessory] { machine.hidden }

  // MARK: Registration

  /// The number of registrations not yet balanced by ``unregister()``.
  public var registrationCount: Int { machine.registrationCount }

  /// Registers for notifications. Each call must be balanced by a call to ``unregister()``.
  public func register() { machine.register() }

  /// Undoes one registration. An extra call to `unregister` is recorded as a misuse.
  public func unregister() { perform(machine.unregister()) }

  // MARK: App states

  /// The state of the app.
  public var state: AppState { machine.state }

  /// Changes the state of the app.
  public func move(to state: AppState) { perform(machine.move(to: state)) }

  /// Closes this view and its sessions.
  public func close(_ reason: String = "the app ended") {
    closeSessions(reason)
    timer?.cancel()
    device.forget(self)
  }

  // MARK: Sessions

  /// Opens a session with a published accessory. The session is open when this method returns.
  public func openSession(with accessory: PublishedAccessory, protocolName: String) throws(AppSessionError) -> Session {
    do throws(AppSessionError) {
      let session = try admitSession(accessory, protocolName)
      let key = machine.opened(accessory.connectionID, protocolName)
      sessions[key] = session
      session.announcesBytesOnce = settings.rules.announcesBytesOnce
      session.onHeld = { [weak self] isBytes in if isBytes { self?.bytesCame() } }
      return session
    } catch {
      log(.warning("opening session failed: \(error)"), accessory)
      throw error
    }
  }

  private func admitSession(
    _ accessory: PublishedAccessory, _ protocolName: String
  ) throws(AppSessionError) -> Session {
    let (id, others) = (accessory.connectionID, device.otherApps(than: self))
    let isOpenElsewhere = others.contains { $0.hasSession(id, protocolName) }
    let decision = machine.decide(id, protocolName, isOpenElsewhere: isOpenElsewhere, now: device.loop.now)
    if let alert = machine.alert(about: protocolName) { perform([alert]) }
    switch decision {
    case .refuse(let error): throw error
    case .close(let keys): for key in keys { sessions[key]?.close("the app opens another session for \(protocolName)") }
    case .open: break
    }
    guard let attachment = device.attachment(publishing: id) else { throw .notConnected(connectionID: id) }
    if settings.rules.otherApps == .interrupted { for app in others { app.interrupt(id, protocolName) } }
    do { return try attachment.openSession(protocolName) } catch { throw .refused(error) }
  }

  func hasSession(_ connectionID: Int, _ protocolName: String) -> Bool {
    !machine.sessionKeys(connectionID, protocolName).isEmpty
  }

  private func interrupt(_ connectionID: Int, _ protocolName: String) {
    for key in machine.sessionKeys(connectionID, protocolName) {
      sessions[key]?.close("another app opens a session on \(protocolName)")
    }
  }

  private func closeSessions(_ reason: String) {
    for (_, session) in sessions.sorted(by: { $0.key < $1.key }) { session.close(reason) }
  }

  /// Bytes are handled in a later turn of the loop because this method is called by the session itself.
  private func bytesCame() {
    device.loop.schedule(after: .zero) { [weak self] in
      guard let self else { return }
      perform(machine.bytesCame(now: device.loop.now))
    }
  }

  // MARK: Events from the device

  func appeared(_ accessory: PublishedAccessory) {
    perform(machine.published(accessory, now: device.loop.now))
  }

  func disappeared(_ accessory: PublishedAccessory) {
    perform(machine.withdrawn(accessory))
  }

  func sessionEnded(_ session: Session) {
    guard let key = sessions.first(where: { $0.value === session })?.key else { return }
    machine.ended(key)
    // A session whose events are withheld is kept until it has delivered those events.
    if !session.isHeld { sessions[key] = nil }
  }

  // MARK: Actions of the machine

  private func perform(_ actions: [AppMachine.Action]) {
    if let deadline = machine.deadline { timer?.arm(at: deadline) } else { timer?.cancel() }
    for action in actions {
      switch action {
      case .post(.connect(let accessory)): handler.accessoryDidConnect(accessory, self)
      case .post(.disconnect(let accessory)): handler.accessoryDidDisconnect(accessory, self)
      case .notifyDelegate(let accessory): handler.delegateDidDisconnect(accessory, self)
      case .closeSessions: closeSessions("the app went into the background")
      case .hold(let isHeld): hold(isHeld)
      case .alert(let text): log(.alert(text), nil)
      case .explain(let text): log(.warning(text), nil)
      case .misuse(let text):
        remarks.add(text)
        log(.warning(text), nil)
      }
    }
  }

  private func hold(_ isHeld: Bool) {
    // After this call, the sessions deliver the events that were withheld.
    handler.appRuns(!isHeld, self)
    for (key, session) in sessions.sorted(by: { $0.key < $1.key }) {
      session.isHeld = isHeld
      if !isHeld, !session.isOpen { sessions[key] = nil }
    }
  }

  private func log(_ kind: TimelineEvent.Kind, _ accessory: PublishedAccessory?) {
    device.log(kind, side: .app, accessory.map(TimelineEvent.Subject.init))
  }
}

/// Receives the notifications of an app.
public protocol AppHandler: AnyObject {
  /// An accessory connected. During the first half of a flicker, the accessory has no protocols.
  func accessoryDidConnect(_ accessory: PublishedAccessory, _ app: AppView)
  /// An accessory disconnected. The associated value is the accessory's last known state, with its connection ID.
  func accessoryDidDisconnect(_ accessory: PublishedAccessory, _ app: AppView)
  /// Notifies the accessory's delegate of a disconnect, after posting any notification.
  func delegateDidDisconnect(_ accessory: PublishedAccessory, _ app: AppView)
  /// The app was suspended or is running again. This method is called only for apps that keep their accessories while
  /// suspended.
  func appRuns(_ isRunning: Bool, _ app: AppView)
}

extension AppHandler {
  /// The default implementation does nothing.
  public func appRuns(_ isRunning: Bool, _ app: AppView) {}
  /// The default implementation does nothing and is meant for apps without accessory delegates.
  public func delegateDidDisconnect(_ accessory: PublishedAccessory, _ app: AppView) {}
}

/// The reason why an app did not get a session.
public enum AppSessionError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The accessory or its connection is gone, or the app is not allowed to see the accessory.
  case notConnected(connectionID: Int)
  /// The accessory does not offer the protocol. An accessory offers no protocols during the first half of a flicker.
  case protocolNotOffered(String, offered: [String])
  /// The app's Info.plist does not declare the protocol. The explanation names the Info.plist and says how to fix the
  /// problem.
  case protocolNotDeclared(String, explanation: String)
  /// The app already has a session for the protocol, and the rules do not allow a second one.
  case alreadyOpen(String)
  /// Another app has a session for the protocol, and the rules do not allow a second one.
  case openInAnotherApp(String)
  case notSettled(remaining: Duration)
  case refused(SessionRefusal)

  /// A sentence that gives the reason.
  public var description: String {
    switch self {
    case .notConnected(let id): "the accessory with connection ID \(id) is no longer connected"
    case .protocolNotOffered(let name, let offered):
      offered.isEmpty
        ? "the accessory offers no protocols yet: wait until it connects again and offers \(name)"
        : "the accessory does not offer \(name); it offers \(offered.joined(separator: ", "))"
    case .protocolNotDeclared(_, let explanation): explanation
    case .alreadyOpen(let name):
      "the app already has an open session for \(name): close that session and both of its streams first"
    case .openInAnotherApp(let name): "another app has an open session for \(name)"
    case .notSettled(let remaining):
      "the accessory accepts no sessions yet: try again in \(DurationText.format(remaining))"
    case .refused(let refusal): refusal.description
    }
  }
}

/// Chooses the protocol to use for a session.
public enum ProtocolChoice {
  /// The reason why no protocol can be chosen. The description suggests the most similar valid name and has no period
  /// at the end.
  public struct Refusal: Error, Equatable, Sendable, CustomStringConvertible {
    /// The problem and the protocols that are offered.
    public let description: String
  }

  /// Returns the wanted protocol, or the only offered protocol if `wanted` is nil.
  ///
  /// ```swift
  /// try ProtocolChoice.choose(nil, among: ["com.lawaken.iap2"])   // "com.lawaken.iap2"
  /// ```
  public static func choose(_ wanted: String?, among offered: [String]) throws(Refusal) -> String {
    let list = offered.joined(separator: ", ")
    if let wanted {
      if offered.contains(wanted) { return wanted }
      let near = Suggestion.nearHint(for: wanted, in: offered)
      throw Refusal(description: "the accessory does not offer \(wanted); it offers \(list)\(near)")
    }
    guard let first = offered.first else { throw Refusal(description: "the accessory offers no protocol yet") }
    if offered.count > 1 {
      throw Refusal(description: "several protocols are offered, choose one with --protocol: \(list)")
    }
    return first
  }
}
