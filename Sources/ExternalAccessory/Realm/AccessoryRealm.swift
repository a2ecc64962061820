internal import AccessoryCore
package import AccessoryHost
internal import AccessorySessions
internal import AccessoryTransports
import Foundation

/// One device and one app's view of it, behind Apple's names: what `EAAccessoryManager.shared()` shows at a time.
///
/// There is one realm of the bench, made at first use and kept for the life of the process; and a realm for each world
/// of a test, put in its place while the world lasts. Every `EAAccessory` knows the realm it came from, so one that
/// outlives its world answers as one that is gone.
///
/// ## The threads
///
/// ```
///   app threads               the loop (one thread, or a lock)            the main thread
///   manager, accessory ──wait──▶ AppView, Device, sessions ──MainDelivery──▶ notifications, delegates
///   stream read, write ──lock──▶ SessionPipe ◀──lock── Session
///                                    └── run-loop source ──▶ the thread whose run loop a stream is scheduled on
/// ```
///
/// - Everything that decides lives on the loop. Questions from the app go there and wait for the answer
///   (``LoopEntrance/sync(_:)``); the loop never waits for the app and never runs its code, so the wait is short and
///   cannot deadlock.
/// - The bytes of a session do not hop: a ``SessionPipe`` holds a bounded buffer each way under a lock, and the loop is
///   called only when a buffer goes from empty to filled or from full to half empty.
/// - Notifications and delegates are told on the main thread, in order, by ``MainDelivery``.
/// - The events of a stream are told by a run-loop source on whatever loop and mode it is scheduled in. Where nobody
///   runs the main run loop (a program in `dispatchMain()`, an async `main`, Swift Testing), streams of the main run
///   loop are told through the main queue instead.
package final class AccessoryRealm: AppHandler, @unchecked Sendable {
  /// The way to the loop.
  package let entrance: any LoopEntrance
  /// The way to the main thread.
  package let main = MainDelivery()
  /// What Apple leaves open.
  package let settings: FrameworkSettings
  /// What streams signalled and no run loop has performed yet.
  let signals = SignalCount()
  /// Closed while the app is suspended.
  let gate = AppGate()

  /// The search for accessories that wait to be configured.
  package let air: WiFiAir
  /// Who answers the Bluetooth picker. On the loop.
  package var picker: (any PickerStage)?
  /// Keeps whatever holds the device's cables; dropped with the realm.
  package var holder: AnyObject?
  private var appView: AppView?
  /// The objects that apps hold, by connection ID. On the loop only.
  private var objects: [Int: EAAccessory] = [:]
  /// Pipes of sessions that are not over. On the loop only.
  private var pipes: [ObjectIdentifier: SessionPipe] = [:]
  /// What a picker chose and is not published yet. On the loop only.
  var choices: [Choice] = []
  /// What is noted of the app on any thread.
  private let noted = Locked(Remarks())
  /// What was noted by the app's view, which is gone. On the loop only.
  private var earlier: [String] = []

  /// A realm that looks at nothing yet: ``look(at:settings:)``.
  package init(_ entrance: any LoopEntrance, settings: FrameworkSettings) {
    self.entrance = entrance
    self.settings = settings
    air = WiFiAir(main, stoppedFirst: settings.configurationOrder == .stoppedFirst)
  }

  /// Becomes an app that looks at a device. On the loop.
  package func look(at device: Device, as app: AppSettings) {
    precondition(appView == nil, "a realm looks at one device for its whole life")
    var app = app
    app.startsRegistered = false
    appView = device.makeApp(self, settings: app)
  }

  /// The app. On the loop.
  package var app: AppView {
    guard let appView else { preconditionFailure("a realm is used only between look(at:as:) and end()") }
    return appView
  }

  /// What the app sees; nothing when nobody looks. On the loop.
  package var accessories: [PublishedAccessory] { appView?.accessories ?? [] }

  /// Looks no longer: the app's view and this realm hold each other until then. Accessories that outlive it are gone,
  /// and what was noted of the app can still be asked.
  package func end() {
    air.end()
    entrance.sync {
      guard let appView else { return }
      earlier = appView.misuses
      endChoices()
      appView.close()
      self.appView = nil
      picker = nil
      holder = nil
      objects = [:]
    }
  }

  // MARK: What the app asks

  var connectedAccessories: [EAAccessory] {
    entrance.sync {
      let shown = accessories
      let ids = Set(shown.map(\.connectionID))
      for id in objects.keys where !ids.contains(id) { objects[id] = nil }
      return shown.map(object)
    }
  }

  func isConnected(_ connectionID: Int) -> Bool {
    entrance.sync { accessories.contains { $0.connectionID == connectionID } }
  }

  func register() { entrance.sync { appView?.register() } }

  func unregister() { entrance.sync { appView?.unregister() } }

  /// Opens a session, or says why there is none.
  func openSession(with accessory: PublishedAccessory, protocolName: String) throws(AppSessionError) -> SessionPipe {
    let result = entrance.sync { () -> Result<SessionPipe, AppSessionError> in
      do throws(AppSessionError) {
        guard let appView else { throw .notConnected(connectionID: accessory.connectionID) }
        let session = try appView.openSession(with: accessory, protocolName: protocolName)
        let pipe = SessionPipe(session, of: accessory, in: self)
        pipes[ObjectIdentifier(pipe)] = pipe
        pipe.begin()
        return .success(pipe)
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  /// A session is over and everything was told. On the loop.
  func forget(_ pipe: SessionPipe) { pipes[ObjectIdentifier(pipe)] = nil }

  // MARK: Misuse

  /// What the app did that it must not do, in order; what the manager noticed first.
  package var misuses: [String] { entrance.sync { appView?.misuses ?? earlier } + noted.withLock { $0.texts } }

  /// Sessions that are not over and that the app has not let go of, a sentence each.
  package var openSessions: [String] {
    entrance.sync {
      pipes.values.filter { !$0.isLetGo }.map(\.protocolName).sorted().map { "a session on \($0) was never closed" }
    }
  }

  func note(misuse text: String) { noted.withLock { $0.add(text) } }

  // MARK: What the app hears

  /// On the loop.
  package func accessoryDidConnect(_ accessory: PublishedAccessory, _ app: AppView) {
    let object = object(accessory)
    let choice = accessory.protocols.isEmpty ? nil : choices.first { $0.serial == accessory.serialNumber && !$0.isTold }
    choice?.isTold = true
    main.add {
      let message = EAAccessoryManager.AccessoryDidConnectMessage(accessory: object, userSelected: choice != nil)
      NotificationCenter.default.post(message.notification)
      // Foundation keeps those who observe the typed message apart, and tells them of nothing else.
      MainActor.assumeIsolated { NotificationCenter.default.post(message, subject: EAAccessoryManager.shared()) }
    }
  }

  /// On the loop.
  package func accessoryDidDisconnect(_ accessory: PublishedAccessory, _ app: AppView) {
    let object = object(accessory)
    let ended = pipes.values.filter { $0.connectionID == accessory.connectionID }
    main.add { [settings] in
      if settings.endOrder == .streamsFirst { for pipe in ended { pipe.tellMainNow() } }
      let message = EAAccessoryManager.AccessoryDidDisconnectMessage(accessory: object)
      NotificationCenter.default.post(message.notification)
      MainActor.assumeIsolated { NotificationCenter.default.post(message, subject: EAAccessoryManager.shared()) }
    }
    forgetLater(accessory)
  }

  /// On the loop.
  package func delegateDidDisconnect(_ accessory: PublishedAccessory, _ app: AppView) {
    let object = object(accessory)
    main.add { object.delegate?.accessoryDidDisconnect(object) }
    forgetLater(accessory)
  }

  /// On the loop.
  package func appRuns(_ isRunning: Bool, _ app: AppView) {
    gate.set(isOpen: isRunning)
    if isRunning { for pipe in pipes.values { pipe.goOn() } }
  }

  /// Not at once: the notification and the delegate of one disconnect are told of one object.
  private func forgetLater(_ accessory: PublishedAccessory) {
    entrance.loop.schedule(after: .zero) { [weak self] in self?.objects[accessory.connectionID] = nil }
  }

  private func object(_ accessory: PublishedAccessory) -> EAAccessory {
    if let known = objects[accessory.connectionID] { return known }
    let made = EAAccessory(accessory, in: self)
    objects[accessory.connectionID] = made
    return made
  }
}

/// Test libraries look into the values of a failed expectation, and an accessory leads here: everything further is a
/// loop's, and must not be looked at from another thread.
extension AccessoryRealm: CustomReflectable {
  /// Empty.
  package var customMirror: Mirror { Mirror(self, children: []) }
}

/// Whether the app runs. Streams of a suspended app tell nothing; what is due then is told when it runs again.
final class AppGate: @unchecked Sendable {
  private let lock = NSLock()
  private var isOpenNow = true

  var isOpen: Bool { lock.withLock { isOpenNow } }
  func set(isOpen: Bool) { lock.withLock { isOpenNow = isOpen } }
}

/// How many run-loop sources were signalled and not performed: what a test waits for before it lets time pass.
final class SignalCount: @unchecked Sendable {
  private let lock = NSLock()
  private var count = 0

  var isZero: Bool { lock.withLock { count == 0 } }
  func add(_ difference: Int) { lock.withLock { count += difference } }
}

extension AccessoryRealm {
  /// Whether no stream has anything to tell on a run loop of a thread of the app's own.
  package var isTold: Bool { signals.isZero }

  /// How far the app is with what has come in all of its sessions; a suspended app is waited for by nobody.
  package var reading: Reading {
    guard gate.isOpen else { return Reading() }
    return entrance.sync { pipes.values.map(\.reading).reduce(Reading(), +) }
  }
}
