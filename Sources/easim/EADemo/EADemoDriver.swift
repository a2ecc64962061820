import AccessoryCore
import AccessoryHost
import AccessorySessions
import IAP2

/// Carries out the decisions of ``EADemoApp`` through an app on a device, and updates the front end.
final class EADemoDriver: AppHandler {
  private(set) var app: EADemoApp
  private(set) var isOver = false
  var output: (EADemoApp.Line) -> Void = { _ in }
  var changed: () -> Void = {}

  private final class OpenSession: SessionHandler {
    let session: Session
    var outbox: [UInt8] = []
    /// Whether a loop is currently writing bytes. The loop also writes any bytes that are added while it is running.
    var isFlushing = false
    private let number: Int
    private unowned let driver: EADemoDriver

    init(_ session: Session, _ number: Int, of driver: EADemoDriver) {
      (self.session, self.number, self.driver) = (session, number, driver)
    }

    func sessionIsReadable(_ session: Session) { driver.read(session, number) }
    func sessionIsWritable(_ session: Session) { driver.flush(number) }
    func session(_ session: Session, endedWith end: SessionEnd) { driver.end(number, end) }
  }

  private let device: Device
  private let loop: any EventLoop
  private var view: AppView?
  private var sessions: [Int: OpenSession] = [:]
  private var timer: LoopTimer?

  init(_ app: EADemoApp, on device: Device, settings: AppSettings) {
    self.app = app
    self.device = device
    loop = device.loop
    timer = loop.makeTimer { [unowned self] in execute(self.app.handleTimeout(now: loop.now)) }
    view = device.makeApp(self, settings: settings)
  }

  func perform(_ command: EADemoCommand) {
    guard case .message(let id, let parameters) = command else { return execute(app.perform(command, now: loop.now)) }
    // Control messages come from the device, not from the app.
    let count = device.send(id, parameters)
    execute([
      .output(EADemoApp.Line(text: "\(id) sent to \(count.counted("accessory", "accessories"))", isError: false))
    ])
  }

  func refuse(_ error: UsageError) { execute(app.refuse(error)) }

  func close() {
    timer?.cancel()
    for (_, open) in sessions.sorted(by: { $0.key < $1.key }) { open.session.close() }
    view?.close()
    view = nil
  }

  private func handle(_ event: EADemoApp.Event) { execute(app.handle(event, now: loop.now)) }

  private func execute(_ actions: [EADemoApp.Action]) {
    for action in actions {
      switch action {
      case .open(let accessory, let name): open(accessory, name)
      case .send(let bytes, let number):
        sessions[number]?.outbox += bytes
        flush(number)
      case .close(let number): sessions[number]?.session.close()
      case .unplug: device.unplugAll("unplugged by hand")
      case .save(let bytes, let path): save(bytes, path)
      case .move(let state): view?.move(to: state)
      case .quit: isOver = true
      case .output(var line):
        line.time = loop.now
        output(line)
      }
    }
    if let deadline = app.deadline { timer?.arm(at: deadline) } else { timer?.cancel() }
    changed()
  }

  private func open(_ accessory: PublishedAccessory, _ name: String) {
    guard let view else { return }
    do {
      let session = try view.openSession(with: accessory, protocolName: name)
      handle(.opened(accessory, protocolName: name))
      guard let number = app.session?.number else { return }
      let open = OpenSession(session, number, of: self)
      sessions[number] = open
      session.handler = open
    } catch {
      handle(.refused(error.description))
    }
  }

  private func save(_ bytes: [UInt8], _ path: String) {
    var failure: String?
    do {
      failure = PatientFile.write(bytes, to: try PatientFile.whole(path, named: path))
    } catch let error as UsageError { failure = error.message } catch { failure = "\(error)" }
    execute(app.saved(path, failure, count: bytes.count))
  }

  // MARK: The app

  func accessoryDidConnect(_ accessory: PublishedAccessory, _ app: AppView) { handle(.appeared(accessory)) }
  func accessoryDidDisconnect(_ accessory: PublishedAccessory, _ app: AppView) { handle(.disappeared(accessory)) }

  // MARK: The session

  private func flush(_ number: Int) {
    guard let flushed = sessions[number], !flushed.isFlushing else { return }
    flushed.isFlushing = true
    defer { flushed.isFlushing = false }
    while let open = sessions[number], !open.outbox.isEmpty {
      let taken = open.session.write(open.outbox.span.bytes)
      if taken == 0 { return }
      open.outbox.removeFirst(taken)
      handle(.sent(taken, session: number))
    }
  }

  private func read(_ session: Session, _ number: Int) {
    var bytes: [UInt8] = []
    session.read { span in
      span.withUnsafeBytes { bytes.append(contentsOf: $0) }
      return span.byteCount
    }
    if !bytes.isEmpty { handle(.received(bytes, session: number)) }
  }

  private func end(_ number: Int, _ end: SessionEnd) {
    // Keeps the session alive while the session is calling this code.
    if let open = sessions.removeValue(forKey: number) {
      loop.schedule(after: .zero) { withExtendedLifetime(open) {} }
    }
    handle(.ended(end.description, session: number))
  }
}
