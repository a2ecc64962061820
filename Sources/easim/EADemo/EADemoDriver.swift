import AccessoryCore
import AccessoryHost
import AccessorySessions
import IAP2

/// Carries out what ``EADemoApp`` decides, with a device's app: sessions, bytes, timers. Calls the front, screen or
/// pipe.
final class EADemoDriver: AppHandler, SessionHandler {
  /// The current state.
  private(set) var app: EADemoApp
  /// Whether the user asked to quit.
  private(set) var isOver = false
  /// Receives lines to show.
  var say: (EADemoApp.Line) -> Void = { _ in }
  /// Called after everything that changed ``app``.
  var changed: () -> Void = {}

  private let device: Device
  private let loop: any EventLoop
  private var view: AppView?
  private var session: Session?
  private var outbox: [UInt8] = []
  private var timer: LoopTimer?

  init(_ app: EADemoApp, on device: Device, settings: AppSettings) {
    self.app = app
    self.device = device
    loop = device.loop
    timer = loop.makeTimer { [unowned self] in execute(self.app.handleTimeout(now: loop.now)) }
    view = device.makeApp(self, settings: settings)
  }

  /// Does a command.
  func perform(_ command: EADemoCommand) {
    guard case .message(let id, let parameters) = command else { return execute(app.perform(command, now: loop.now)) }
    // The device sends it, not the app.
    let count = device.say(id, parameters)
    execute([
      .say(EADemoApp.Line(text: "\(id) sent to \(count.counted("accessory", "accessories"))", isError: false))
    ])
  }

  /// Reports what is wrong with a line.
  func refuse(_ error: EADemoCommandError) { execute(app.refuse(error)) }

  /// Closes the session, if there is one.
  func close() {
    timer?.cancel()
    session?.close()
    view?.close()
    view = nil
  }

  private func handle(_ event: EADemoApp.Event) { execute(app.handle(event, now: loop.now)) }

  private func execute(_ actions: [EADemoApp.Action]) {
    for action in actions {
      switch action {
      case .open(let accessory, let name): open(accessory, name)
      case .send(let bytes):
        outbox += bytes
        flush()
      case .close: session?.close()
      case .move(let state): view?.move(to: state)
      case .quit: isOver = true
      case .say(let line): say(line)
      }
    }
    if let deadline = app.deadline { timer?.arm(at: deadline) } else { timer?.cancel() }
    changed()
  }

  private func open(_ accessory: PublishedAccessory, _ name: String) {
    guard let view else { return }
    do {
      let session = try view.openSession(with: accessory, protocolName: name)
      self.session = session
      outbox = []
      session.handler = self
      handle(.opened(accessory, protocolName: name))
    } catch {
      handle(.refused(error.description))
    }
  }

  // MARK: The app

  func accessoryDidConnect(_ accessory: PublishedAccessory, _ app: AppView) { handle(.appeared(accessory)) }
  func accessoryDidDisconnect(_ accessory: PublishedAccessory, _ app: AppView) { handle(.disappeared(accessory)) }

  // MARK: The session

  private func flush() {
    guard let session else { return }
    while !outbox.isEmpty {
      let bytes = outbox
      let taken = session.write(bytes.span.bytes)
      if taken == 0 { return }
      outbox.removeFirst(taken)
      handle(.sent(taken))
    }
  }

  func sessionIsReadable(_ session: Session) {
    var bytes: [UInt8] = []
    session.read { span in
      span.withUnsafeBytes { bytes.append(contentsOf: $0) }
      return span.byteCount
    }
    if !bytes.isEmpty { handle(.received(bytes)) }
  }

  func sessionIsWritable(_ session: Session) { flush() }

  func session(_ session: Session, endedWith end: SessionEnd) {
    self.session = nil
    outbox = []
    handle(.ended(end.description))
  }
}
