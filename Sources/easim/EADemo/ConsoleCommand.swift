import AccessoryCables
import AccessoryCore
import AccessoryHost
import AccessorySessions
import Glibc
import IAP2

extension CommandSpec {
  static let console = CommandSpec(
    name: "console", summary: "use accessories interactively, like Apple's EADemo: list, open sessions, send, count",
    details: """
      List the accessories at ADDR (default: all local ones), open sessions with them, send text, hex or 10,000 bytes, and
      count the bytes that come back. On a terminal, press the keys that the last line lists. If stdin is not a terminal,
      easim reads commands from it, one per line; --time then prints the time before each line:

      \(EADemoList.help.map { "  \($0)" }.joined(separator: "\n"))

      Try: printf 'open\\n10k\\nwait 10000\\n' | easim console
           printf 'open\\ntext VERSION?\\\\r\\\\n\\nexpect prefix:V\\n' | easim console
      With commands, the exit code is 0 if all succeeded, otherwise that of the first that failed: 1 failed, 2 unknown
      command, 3 no accessory, 4 timed out, 5 the session ended. If the only accessory is refused (its authentication,
      identification or SYN is wrong), the exit code is 6.
      """,
    examples: ["easim console", "easim console unix:/tmp/glasses.sock --timeout 2s"], run: runConsole)
}

private struct ConsoleOptions: CommandOptions {
  var address = Address.standardLocal
  var isTimed = false
  var shared = SharedOptions()

  static let operands: [Operand<Self>] = [.address(\.address)]
  static let options: [Option<Self>] = [
    .auth, .identification, .order, .firstWriteDelay, .deviceProfile, .saveFiles, .infoPlist, .allProtocols,
    .allowRemote, .anyUser, .fault,
    Option("--time", \.isTimed, "print the time at the start of each line if stdin is not a terminal"),
    .timeout.described("time limit for each open and wait"), .json, .quietMessages, .transcript, .transcriptBytes,
    .capture,
  ]
}

private func runConsole(_ options: ConsoleOptions, _ console: Console) throws -> ExitCode {
  let settings = try HostCommandContext.app(options.shared)
  let address = options.address
  let runtime = try CommandRuntime(console)
  let front: any EADemoFront =
    Terminal.isThere() && !console.isJSON
    ? EADemoScreenFront(console) : EADemoPipeFront(console, isTimed: options.isTimed)
  let cables = CableOptions(options.shared, on: runtime.loop) { front.show($0) }
  let deviceSettings = try DeviceSettings(options.shared, at: address, timeout: nil, on: runtime.loop, console)
  let refusals = RefusalWatch()
  let device = Device(settings: deviceSettings, on: runtime.loop) { event in
    refusals.see(event)
    if !console.isJSON { console.witness(event) }
    front.show(event)
  }
  let dialer = try media.makeDialer(to: address, for: device, on: runtime.loop, options: cables.transport) {
    cables.wrap($0, at: .device, place: address.description)
  }
  try cables.openFiles(console)
  cables.openDoor(console)
  cables.expect(place: address.description, accessory: "")
  defer { cables.closeDoor() }
  let driver = EADemoDriver(
    EADemoApp(lookingAt: address.place, patience: options.shared.timeout), on: device, settings: settings)
  defer { front.close() }
  try front.start(driver, on: runtime.loop)
  try dialer.start()
  _ = runtime.run(until: { driver.isOver || refusals.refusal != nil && device.published.isEmpty })
  let isRefused = !driver.isOver && StopSignals.first == nil && refusals.refusal != nil
  driver.close()
  dialer.stop()
  device.unplugAll("easim is exiting")
  runtime.settle(until: { device.cableCount == 0 && cables.isQuiet })
  if isRefused {
    front.close()
    _ = refusals.explain(console)
    return .refused
  }
  return front.isScripted ? driver.app.failure ?? .done : .done
}

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
    let count = device.send(id, parameters)
    execute([.output(EADemoApp.Line(text: "\(id) sent to \(count.counted("accessory", "accessories"))"))])
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
