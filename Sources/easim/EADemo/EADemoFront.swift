import AccessoryCore
import AccessoryHost
import AccessorySessions
import Glibc

protocol EADemoFront: AnyObject {
  /// True if the commands come from a script, in which case the exit code reports whether they succeeded.
  var isScripted: Bool { get }
  func start(_ driver: EADemoDriver, on loop: any PollingLoop) throws
  func show(_ event: TimelineEvent)
  func close()
}

extension TimelineEvent {
  /// The message for an event that concerns the device rather than the app, or nil for other events.
  fileprivate var complaint: String? {
    switch kind {
    case .warning(let text), .alert(let text): text
    case .authentication(let step):
      switch step {
      case .refused, .refusedByDevice: "authentication \(step)"
      default: nil
      }
    // The failed authentication has already been printed.
    case .refused(.authentication): nil
    case .refused(let refusal): "\(refusal.sentence); \(refusal.advice)"
    default: nil
    }
  }
}

/// The front end for a pipe. Each line of input is a command, which prints one or more lines.
final class EADemoPipeFront: EADemoFront {
  let isScripted = true
  private let console: Console
  private var input: LineInput?
  private var isAsked = false
  private var loop: (any PollingLoop)?
  private let isTimed: Bool

  init(_ console: Console, isTimed: Bool) { (self.console, self.isTimed) = (console, isTimed) }

  func start(_ driver: EADemoDriver, on loop: any PollingLoop) throws {
    self.loop = loop
    driver.output = { [unowned self] line in output(line) }
    input = try LineInput(on: loop) { [unowned self, unowned driver] line in
      isAsked = false
      take(line, driver)
    }
    driver.changed = { [unowned self, unowned driver] in askForMore(driver) }
    askForMore(driver)
  }

  /// Requests the next line once no command is waiting. The request is deferred to a later turn of the event loop,
  /// because the current command has not returned yet.
  private func askForMore(_ driver: EADemoDriver) {
    guard !isAsked, !driver.app.isBusy, !driver.isOver else { return }
    isAsked = true
    loop?.schedule(after: .zero) { [weak self] in self?.input?.want() }
  }

  private func take(_ line: String?, _ driver: EADemoDriver) {
    guard let line else {
      if let failure = input?.failure { driver.refuse(UsageError("stdin: \(failure)")) }
      return driver.perform(.quit)
    }
    do {
      if let command = try EADemoCommand(line: line) { driver.perform(command) } else { askForMore(driver) }
    } catch {
      driver.refuse(error)
    }
  }

  private func output(_ line: EADemoApp.Line) {
    guard console.isJSON else {
      let time = isTimed ? line.time.map { "\($0.shortSeconds)  " } ?? "" : ""
      return console.out(time + (line.isError ? "easim: \(line.text)" : line.text))
    }
    let kind: TimelineEvent.Kind = line.isError ? .warning(line.text) : .note(line.text)
    console.show(TimelineEvent(time: loop?.now ?? .origin, side: .app, kind: kind))
  }

  func show(_ event: TimelineEvent) {
    if console.isJSON { return console.show(event) }
    if let complaint = event.complaint { console.err("easim: \(complaint)") }
  }

  func close() { input?.close() }
}

final class EADemoScreenFront: EADemoFront {
  private static let drawingTime = Duration.milliseconds(20)

  let isScripted = false
  private let console: Console
  private var screen = EADemoScreen()
  private var terminal: Terminal?
  private var drawing: LoopTimer?

  init(_ console: Console) { self.console = console }

  func start(_ driver: EADemoDriver, on loop: any PollingLoop) throws {
    drawing = loop.makeTimer { [unowned self, unowned driver] in draw(driver.app) }
    driver.output = { [unowned self] line in screen.append(line) }
    driver.changed = { [unowned self, unowned driver] in
      screen.follow(driver.app)
      drawSoon(loop)
    }
    terminal = try Terminal(console, on: loop) { [unowned self, unowned driver] key in
      press(key, driver)
      drawSoon(loop)
    } changed: { [unowned self] in
      drawSoon(loop)
    }
    draw(driver.app)
  }

  private func press(_ key: Key, _ driver: EADemoDriver) {
    // Ctrl-D or the loss of the terminal quits EADemo, just as the end of a pipe does.
    let command = key == .control("d") ? .quit : screen.press(key, driver.app)
    guard let command else { return }
    if driver.app.mayPerform(command) {
      driver.perform(command)
    } else {
      screen.append(EADemoApp.Line(text: "busy: the previous command is not finished", isError: true))
    }
  }

  private func drawSoon(_ loop: any PollingLoop) {
    if drawing?.deadline == nil { drawing?.arm(at: loop.now + Self.drawingTime) }
  }

  private func draw(_ app: EADemoApp) {
    guard let terminal else { return }
    let (width, height) = Terminal.size(of: STDOUT_FILENO)
    terminal.draw(screen.rows(app, width: width, height: height))
  }

  func show(_ event: TimelineEvent) {
    if let complaint = event.complaint { screen.append(EADemoApp.Line(text: complaint, isError: true)) }
  }

  func close() {
    drawing?.cancel()
    terminal?.close()
    terminal = nil
  }
}

/// Reads lines from stdin, but no faster than the caller requests them. Other processes share stdin, so `LineInput`
/// does not make stdin nonblocking. `LineInput` reads only when the loop reports that input is available.
final class LineInput: DescriptorHandler {
  /// The maximum length of a line. The rest of a longer line becomes the next line.
  static let longestLine = 1 << 20

  /// Why the input ended early, or nil if it did not.
  private(set) var failure: String?
  private let onEvent: (String?) -> Void
  private var watch: (any DescriptorWatch)?
  private var bytes: [UInt8] = []
  private var isOver = false
  private var isWanted = false

  /// Creates the input. `onEvent` receives each line requested by ``want()``, and nil at the end of the input.
  init(on loop: any PollingLoop, onEvent: @escaping (String?) -> Void) throws {
    self.onEvent = onEvent
    watch = try loop.watch(STDIN_FILENO, for: [], self)
  }

  /// Requests a line or the end of the input. The line may be delivered before this method returns.
  func want() {
    isWanted = true
    deliver()
  }

  func close() {
    watch?.cancel()
    watch = nil
  }

  private func deliver() {
    while isWanted, let line = nextLine() {
      isWanted = false
      onEvent(line)
    }
    if isWanted, isOver {
      isWanted = false
      onEvent(nil)
    } else {
      watch?.change(to: isWanted ? .readable : [])
    }
  }

  private func nextLine() -> String? {
    let end = bytes.prefix(Self.longestLine).firstIndex(of: UInt8(ascii: "\n"))
    guard end != nil || bytes.count >= Self.longestLine || isOver && !bytes.isEmpty else { return nil }
    var line = bytes[..<(end ?? min(bytes.count, Self.longestLine))]
    bytes.removeFirst(end.map { $0 + 1 } ?? line.count)
    if line.last == UInt8(ascii: "\r") { line.removeLast() }
    return String(decoding: line, as: UTF8.self)
  }

  func descriptorReady(_ readiness: Readiness) {
    guard isWanted else { return }
    var block = [UInt8](repeating: 0, count: 65_536)
    let count = read(STDIN_FILENO, &block, block.count)
    if count > 0 {
      bytes += block[..<count]
    } else if count == 0 || (errno != EINTR && errno != EAGAIN) {
      // Without a stdin, there is nothing to read, as with an empty one.
      if count < 0, errno != EBADF { failure = String(cString: strerror(errno)) }
      isOver = true
    }
    deliver()
  }
}
