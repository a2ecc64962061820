internal import AccessoryCore
package import AccessoryHost
internal import AccessorySessions
import Foundation

/// The simulated Apple device and the app's view of it, which `EAAccessoryManager.shared()` presents through Apple's
/// API.
///
/// The local accessories have one realm, which is created at first use and kept until the process ends. Each test world
/// has its own realm, which replaces the realm of the local accessories while the world exists. Every `EAAccessory`
/// retains its realm, so that an accessory that outlives its world can report that it is disconnected.
///
/// ## Threads
///
/// ```
///   app threads               the loop (one thread, or a lock)            the main thread
///   manager, accessory ──wait──▶ AppView, Device, sessions ──MainDelivery──▶ notifications, delegates
///   stream read, write ──lock──▶ SessionPipe ◀──lock── Session
///                                    └── run-loop source ──▶ the thread whose run loop a stream is scheduled in
/// ```
///
/// - All decisions are made on the loop. A call from the app blocks until the loop has handled it
///   (``LoopEntrance/sync(_:)``). The loop never waits for the app and never runs the app's code, so these calls block
///   only briefly and cannot deadlock.
/// - Most reads and writes of session bytes do not call the loop. ``SessionPipe`` has a bounded buffer for each
///   direction, protected by a lock. The loop is called only when bytes are written into an empty outgoing buffer, or
///   when reads have emptied half of the incoming buffer.
/// - ``MainDelivery`` posts notifications and calls accessory delegates on the main thread, in order.
/// - A run-loop source delivers the events of a stream in the run loop and mode in which the stream is scheduled. If
///   the main run loop never runs (with `dispatchMain()`, an async `main` or Swift Testing), the main queue delivers
///   the events of the streams that are scheduled in that run loop.
package final class AccessoryRealm: AppHandler, CustomReflectable, @unchecked Sendable {
  private let world: String
  package let entrance: any LoopEntrance
  package let main = MainDelivery()
  /// How the framework behaves in cases that Apple's documentation leaves open.
  package let settings: FrameworkSettings
  /// The number of stream events that have been signaled but that no run loop has delivered yet.
  let signals = Locked(0)
  /// Whether the app is running. While the app is suspended, its streams hold back their events.
  let isAppRunning = Locked(true)

  package let air: WiFiAir
  /// Answers the Bluetooth picker on the user's behalf; the argument says whether an accessory's name is offered. Only a
  /// test's world sets this, because a program without a world never shows a picker. Used only on the event loop.
  package var picker: ((_ isOffered: (String) -> Bool) -> PickerOutcome)?
  package var holder: AnyObject?
  /// The app's view of the device, or nil while the app is not running. Used only on the event loop.
  package private(set) var app: AppView?
  /// Identifies the app's current launch. If an app is killed while events are waiting for the main thread, those
  /// events must not reach the app that is launched next.
  private let life = Locked(0)
  /// The accessory objects of this realm, by connection ID. Used only on the event loop.
  private var objects: [Int: EAAccessory] = [:]
  /// The pipes of sessions that have not ended. Used only on the event loop.
  private var pipes: [ObjectIdentifier: SessionPipe] = [:]
  /// The accessories that were chosen in a picker but have not connected yet. Used only on the event loop.
  var choices: [Choice] = []
  private let noted = Locked(BoundedLog())
  /// Misuses recorded by app views that no longer exist. Used only on the event loop.
  private var earlier: [String] = []

  /// Creates a realm that has no device yet; see ``look(at:as:)``.
  ///
  /// - Parameter world: the name of this world in messages, or an empty string for the local accessories.
  package init(_ entrance: any LoopEntrance, settings: FrameworkSettings, world: String = "") {
    self.entrance = entrance
    self.settings = settings
    self.world = world
    air = WiFiAir(main, stoppedFirst: settings.configurationOrder == .stoppedFirst)
  }

  /// Connects the realm to a device as the app that these settings describe. Called on the event loop.
  package func look(at device: Device, as settings: AppSettings) {
    precondition(app == nil, "a realm uses the same device throughout its life")
    var settings = settings
    settings.startsRegistered = false
    app = device.makeApp(self, settings: settings)
  }

  /// Ends the app's process, as if the system had killed it or it had crashed: the app gets no more events, and its
  /// streams fail. Called on the event loop.
  ///
  /// - Returns: The app view that has ended. The caller must close the view or keep its sessions open.
  package func endProcess() -> AppView? {
    guard let ended = app else { return nil }
    life.withLock { $0 += 1 }
    earlier += ended.misuses
    app = nil
    (choices, objects) = ([], [:])
    for pipe in pipes.values { pipe.die() }
    pipes = [:]
    isAppRunning.withLock { $0 = true }
    return ended
  }

  /// Sends the bytes that the app wrote, or drops them if `isLost` is true. Called on the event loop.
  package func settleUnsent(isLost: Bool) {
    for pipe in pipes.values { if isLost { pipe.dropUnsent() } else { pipe.push() } }
  }

  /// Runs work on the main thread, unless the app's process ends first.
  private func notify(_ work: @escaping () -> Void) {
    let now = life.withLock { $0 }
    main.add { [life] in if life.withLock({ $0 == now }) { work() } }
  }

  /// The accessories that the app can see. The list is empty before ``look(at:as:)`` and after ``end()``. Used only on
  /// the event loop.
  package var accessories: [PublishedAccessory] { app?.accessories ?? [] }

  /// Disconnects the realm from the device. Until this call, the app view and the realm retain each other. Afterwards,
  /// the realm's accessories report that they are disconnected, and the misuses can still be read.
  package func end() {
    air.end()
    entrance.sync {
      guard let app else { return }
      earlier += app.misuses
      endChoices()
      app.close()
      self.app = nil
      picker = nil
      holder = nil
      objects = [:]
    }
  }

  // MARK: Calls from the app

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

  func register() { entrance.sync { app?.register() } }

  func unregister() { entrance.sync { app?.unregister() } }

  /// Opens a session. Returns nil if that is not possible; the timeline contains the reason.
  func openSession(with accessory: PublishedAccessory, protocolName: String, at place: CallPlace?) -> SessionPipe? {
    let opening = SessionOpening(world: world, place: place)
    let opened = entrance.sync { () -> (SessionPipe, closes: SessionPipe?)? in
      let first = pipes.values.first {
        $0.connectionID == accessory.connectionID && $0.protocolName == protocolName && $0.isInUse
      }
      guard let app, let session = try? app.openSession(with: accessory, protocolName: protocolName) else { return nil }
      let pipe = SessionPipe(session, of: accessory, opened: opening, in: self)
      pipes[ObjectIdentifier(pipe)] = pipe
      pipe.begin()
      return (pipe, closes: app.settings.rules.secondSession == .closesFirst ? first : nil)
    }
    if let closed = opened?.closes { note(.secondSession(protocolName, first: closed.opening, second: opening)) }
    return opened?.0
  }

  /// Removes the pipe of a session that has ended, once all of the session's events have been queued. Called on the
  /// event loop.
  func forget(_ pipe: SessionPipe) { pipes[ObjectIdentifier(pipe)] = nil }

  // MARK: Misuse

  /// The app's misuses of the API: first those recorded by its `AppView` objects, then those recorded by streams and
  /// sessions.
  package var misuses: [String] {
    noteDeadLoops()
    let (views, open) = entrance.sync { (earlier + (app?.misuses ?? []), Array(pipes.values)) }
    return views + noted.withLock { $0.texts } + open.compactMap(\.lostRest?.description).sorted()
  }

  /// Looks for streams scheduled on run loops that never run. Waits until each such stream has been reported or has
  /// received an event.
  private func noteDeadLoops() {
    let ports = entrance.sync { pipes.values.flatMap { [$0.input, $0.output] } }
    while ports.contains(where: { $0.deadSince != nil }) {
      for port in ports { port.noteDeadLoop() }
      Thread.sleep(forTimeInterval: 0.01)
    }
  }

  /// One sentence for each session that is still open.
  package var openSessions: [String] {
    entrance.sync {
      pipes.values.filter { !$0.isLetGo }.map(\.protocolName).sorted().map { "a session on \($0) is still open" }
    }
  }

  /// The number of misuses after which no more are printed. Tests can still read all misuses.
  private static let mostPrinted = 20

  func note(_ misuse: Misuse) {
    let text = "\(misuse)"
    let isFew = noted.withLock { noted -> Bool in
      noted.add(text)
      return noted.texts.count <= Self.mostPrinted
    }
    guard isFew else { return }
    FileHandle.standardError.write(Data("ExternalAccessory: \(text)\n".utf8))
  }

  // MARK: Events for the app

  package func accessoryDidConnect(_ accessory: PublishedAccessory, _ app: AppView) {
    guard app === self.app else { return }
    let object = object(accessory)
    let choice =
      accessory.protocols.isEmpty ? nil : choices.first { $0.serial == accessory.serialNumber && !$0.isPosted }
    choice?.isPosted = true
    notify {
      Self.post(
        EAAccessoryManager.AccessoryDidConnectMessage(accessory: object, userSelected: choice != nil),
        as: EAAccessoryManager.AccessoryDidConnectMessage.makeNotification)
    }
  }

  package func accessoryDidDisconnect(_ accessory: PublishedAccessory, _ app: AppView) {
    guard app === self.app else { return }
    let object = object(accessory)
    let ended = pipes.values.filter { $0.connectionID == accessory.connectionID }
    notify { [settings] in
      if settings.endOrder == .streamsFirst { for pipe in ended { pipe.deliverAllOnMain() } }
      Self.post(
        EAAccessoryManager.AccessoryDidDisconnectMessage(accessory: object),
        as: EAAccessoryManager.AccessoryDidDisconnectMessage.makeNotification)
    }
    forgetLater(accessory)
  }

  /// Posts a message as a notification and as a typed message, because the observers of one do not receive the other.
  /// Called on the main thread.
  private static func post<Message: NotificationCenter.MainActorMessage>(
    _ message: Message, as notification: @MainActor (Message) -> Notification
  ) where Message.Subject == EAAccessoryManager {
    // With the trait AppleSendability, the compiler cannot verify that only the main thread uses the message.
    nonisolated(unsafe) let message = message
    MainActor.assumeIsolated {
      NotificationCenter.default.post(notification(message))
      NotificationCenter.default.post(message, subject: EAAccessoryManager.shared())
    }
  }

  package func delegateDidDisconnect(_ accessory: PublishedAccessory, _ app: AppView) {
    guard app === self.app else { return }
    let object = object(accessory)
    notify { object.delegate?.accessoryDidDisconnect(object) }
    forgetLater(accessory)
  }

  /// Records that the app was suspended or resumed. Called on the event loop.
  package func appRuns(_ isRunning: Bool, _ app: AppView) {
    guard app === self.app else { return }
    isAppRunning.withLock { $0 = isRunning }
    if isRunning { for pipe in pipes.values { pipe.resume() } }
  }

  /// Removes the accessory in a later turn of the loop, so that the notification and the delegate call for one
  /// disconnect both use the same object.
  private func forgetLater(_ accessory: PublishedAccessory) {
    entrance.loop.schedule(after: .zero) { [weak self] in self?.objects[accessory.connectionID] = nil }
  }

  private func object(_ accessory: PublishedAccessory) -> EAAccessory {
    if let known = objects[accessory.connectionID] { return known }
    let made = EAAccessory(accessory, in: self)
    objects[accessory.connectionID] = made
    return made
  }

  /// Whether run loops have delivered all stream events that were signaled.
  package var isDelivered: Bool { signals.withLock { $0 == 0 } }

  /// The app's progress in reading the bytes of all its sessions. If the app is suspended, this is an empty `Reading`,
  /// because tests do not wait for suspended apps.
  package var reading: Reading {
    guard isAppRunning.withLock({ $0 }) else { return Reading() }
    return entrance.sync { pipes.values.map(\.reading).reduce(Reading(), +) }
  }

  /// When an expectation fails, test libraries use `Mirror` to print its values. If one of the values is an accessory,
  /// this realm would also be printed. The realm's contents belong to its loop, so other threads must not read them.
  package var customMirror: Mirror { Mirror(self, children: []) }
}
