import AccessoryCore
import AccessorySessions

/// One app's view of a device: which accessories it sees, what it is told of them and when, and the sessions it opens.
///
/// Everything is decided by ``AppMachine``; this is where what it says is done.
///
/// ```swift
/// var settings = AppSettings()
/// settings.manifest = try AppManifest.read(file: "Info.plist")
/// let app = device.makeApp(handler, settings: settings)
/// let session = try app.openSession(with: app.accessories[0], protocolName: "com.lawaken.iap2")
/// ```
public final class AppView {
  /// What the app is like.
  public let settings: AppSettings
  private let device: Device
  private let handler: any AppHandler
  private var machine: AppMachine
  private var sessions: [Int: Session] = [:]
  private var timer: LoopTimer?
  /// What the app did that it must not do, in order.
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

  /// What the app sees now, in the order of publication: its `connectedAccessories`.
  public var accessories: [PublishedAccessory] { machine.accessories }
  /// What is published and kept from the app, because it declares none of the protocols.
  public var hiddenAccessories: [PublishedAccessory] { machine.hidden }

  // MARK: Registration

  /// How often notifications were registered for, less how often that was undone.
  public var registrationCount: Int { machine.registrationCount }

  /// Asks for notifications; each call needs its ``unregister()``.
  public func register() { perform(machine.register()) }

  /// Takes one registration back. One too many is noted as a misuse.
  public func unregister() { perform(machine.unregister()) }

  // MARK: The life of the app

  /// Where the app is in its life.
  public var state: AppState { machine.state }

  /// Leaves the screen, comes back to it, stops running, or runs again in the background.
  public func move(to state: AppState) { perform(machine.move(to: state)) }

  /// Looks no longer. Its sessions end.
  public func close() {
    closeSessions("the app ended")
    timer?.cancel()
    device.forget(self)
  }

  // MARK: Sessions

  /// Opens a session with a published accessory; live as soon as this returns.
  public func openSession(with accessory: PublishedAccessory, protocolName: String) throws(AppSessionError) -> Session {
    do throws(AppSessionError) {
      let session = try admitSession(accessory, protocolName)
      let key = machine.opened(accessory.connectionID, protocolName)
      sessions[key] = session
      session.announcesBytesOnce = settings.rules.announcesBytesOnce
      session.onHeld = { [weak self] isBytes in if isBytes { self?.bytesCame() } }
      return session
    } catch {
      tell(.warning("opening session failed: \(error)"), accessory)
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
    case .close(let keys): for key in keys { sessions[key]?.close("the app opens another on \(protocolName)") }
    case .open: break
    }
    guard let attachment = device.attachment(publishing: id) else { throw .notConnected(connectionID: id) }
    if settings.rules.otherApps == .interrupted { for app in others { app.interrupt(id, protocolName) } }
    do { return try attachment.openSession(protocolName) } catch { throw .refused(error) }
  }

  func hasSession(_ connectionID: Int, _ protocolName: String) -> Bool {
    !machine.sessions.keys(connectionID, protocolName).isEmpty
  }

  private func interrupt(_ connectionID: Int, _ protocolName: String) {
    for key in machine.sessions.keys(connectionID, protocolName) {
      sessions[key]?.close("another app opens a session on \(protocolName)")
    }
  }

  private func closeSessions(_ reason: String) {
    for (_, session) in sessions.sorted(by: { $0.key < $1.key }) { session.close(reason) }
  }

  /// In a later turn, because this one is inside of the session.
  private func bytesCame() {
    device.loop.schedule(after: .zero) { [weak self] in
      guard let self else { return }
      perform(machine.bytesCame(now: device.loop.now))
    }
  }

  // MARK: From the device

  func appeared(_ accessory: PublishedAccessory) {
    perform(machine.published(accessory, now: device.loop.now))
  }

  func disappeared(_ accessory: PublishedAccessory) {
    perform(machine.withdrawn(accessory))
  }

  func sessionEnded(_ session: Session) {
    guard let key = sessions.first(where: { $0.value === session })?.key else { return }
    machine.ended(key)
    // One that is held has something to tell yet.
    if !session.isHeld { sessions[key] = nil }
  }

  // MARK: Doing what the machine says

  private func perform(_ actions: [AppMachine.Action]) {
    if let deadline = machine.deadline { timer?.arm(at: deadline) } else { timer?.cancel() }
    for action in actions {
      switch action {
      case .post(.connect(let accessory)): handler.accessoryDidConnect(accessory, self)
      case .post(.disconnect(let accessory)): handler.accessoryDidDisconnect(accessory, self)
      case .tellDelegate(let accessory): handler.delegateDidDisconnect(accessory, self)
      case .closeSessions: closeSessions("the app went into the background")
      case .hold(let isHeld): hold(isHeld)
      case .alert(let text): tell(.alert(text), nil)
      case .explain(let text): tell(.warning(text), nil)
      case .misuse(let text):
        remarks.add(text)
        tell(.warning(text), nil)
      }
    }
  }

  private func hold(_ isHeld: Bool) {
    // What waited comes after this.
    handler.appRuns(!isHeld, self)
    for (key, session) in sessions.sorted(by: { $0.key < $1.key }) {
      session.isHeld = isHeld
      if !isHeld, !session.isOpen { sessions[key] = nil }
    }
  }

  private func tell(_ kind: TimelineEvent.Kind, _ accessory: PublishedAccessory?) {
    device.tell(kind, side: .app, accessory.map(TimelineEvent.Subject.init))
  }
}

/// Who hears what an app hears.
public protocol AppHandler: AnyObject {
  /// An accessory appeared; perhaps with no protocols, and then not for long.
  func accessoryDidConnect(_ accessory: PublishedAccessory, _ app: AppView)
  /// An accessory disappeared; as it was last seen, number included.
  func accessoryDidDisconnect(_ accessory: PublishedAccessory, _ app: AppView)
  /// What the accessory's own delegate hears, right after the notification and also where none is posted.
  func delegateDidDisconnect(_ accessory: PublishedAccessory, _ app: AppView)
  /// The app is suspended, or runs again. Said only of apps that keep their accessories while they are suspended.
  func appRuns(_ isRunning: Bool, _ app: AppView)
}

extension AppHandler {
  /// Nothing is kept beside what the view keeps.
  public func appRuns(_ isRunning: Bool, _ app: AppView) {}
  /// Nobody set a delegate.
  public func delegateDidDisconnect(_ accessory: PublishedAccessory, _ app: AppView) {}
}
