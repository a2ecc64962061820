import AccessoryCore
import AccessoryFormats
import AccessoryRuns
import AccessorySessions
import Glibc
import LinuxIO
import Synchronization

/// Writes all of easim's output: results to stdout, progress and errors to stderr, and transcripts to files.
///
/// A command without a loop writes directly, and blocks if the reader is slow. A loop must not block, so once
/// ``goLive(on:)`` has been called, each file has its own thread (``OutputLane``):
///
/// - Lines for stdout and stderr wait in a bounded queue. If the queue is full, the oldest lines are dropped, and one
///   line that says how many were dropped replaces them.
/// - Lines of a transcript are never dropped. Instead, the cables are paused while too many lines are waiting
///   (``TranscriptFile``).
/// - ``finish()`` writes all waiting lines within a time limit.
final class Console {
  /// How long ``finish()`` waits without any progress before it gives up, unless a signal has arrived.
  private static let patience = Duration.seconds(10)
  private static let patienceAfterSignal = Duration.seconds(1)
  /// How long ``finish()`` may take after a signal, even if it is making progress.
  private static let timeAfterSignal = Duration.seconds(5)

  var isJSON: Bool {
    get { shared.isJSON.load(ordering: .relaxed) }
    set { shared.isJSON.store(newValue, ordering: .relaxed) }
  }
  var showsMessages = true
  /// Whether the process that was reading stdout has exited, as `head` does after a few lines.
  var hasNoReader: Bool { shared.hasNoReader.load(ordering: .acquiring) }
  /// Whether all output to stdout and to files was written. The exit code is 0 only if all output was written.
  var isComplete: Bool { !shared.hasLost.load(ordering: .acquiring) }
  /// The loop that must not be blocked by output, or nil before ``goLive(on:)`` is called.
  private(set) var loop: EpollLoop?
  private let colors: Bool
  private var lanes: [(file: FileIdentity, lane: OutputLane)] = []
  private var stdout: Outlet
  private var stderr: Outlet
  private let shared: Shared

  private final class Shared: Sendable {
    let isJSON = Atomic<Bool>(false)
    let hasNoReader = Atomic<Bool>(false)
    let hasLost = Atomic<Bool>(false)
    let loop = Locked<EpollLoop?>(nil)
    let complain = Locked<(@Sendable (String) -> Void)?>(nil)

    func failed(_ outlet: Outlet, _ code: Int32) {
      // The reader has exited on purpose because it needs no more output.
      if code == EPIPE {
        if outlet.name == "stdout" { hasNoReader.store(true, ordering: .releasing) }
        // Wakes the loop in case it is waiting for the reader of stdout to exit.
        loop.withLock { $0 }?.execute {}
        return
      }
      if outlet.name != "stderr" { lose(outlet.name, code == EBADF ? "it is closed" : String(cString: strerror(code))) }
    }

    func lose(_ name: String, _ reason: String) {
      hasLost.store(true, ordering: .releasing)
      complain.withLock { $0 }?("easim: \(name): \(reason); the rest was not written")
    }

    func gapOnStdout(_ gap: LineQueue.Gap) -> String {
      let text = "\(gap.lines.counted("line was", "lines were")) dropped here, because stdout was not read"
      guard isJSON.load(ordering: .relaxed) else { return "easim: \(text)\n" }
      return JSONObject(event: "dropped", at: gap.time, ["lines": gap.lines, "text": text]).text + "\n"
    }
  }

  init() {
    colors = isatty(STDOUT_FILENO) == 1 && getenv("NO_COLOR") == nil
    let shared = Shared()
    self.shared = shared
    let out = FileIdentity(of: STDOUT_FILENO)
    let err = FileIdentity(of: STDERR_FILENO)
    let outLane = OutputLane()
    let errLane = out == err ? outLane : OutputLane()
    lanes = out == err ? [(out, outLane)] : [(out, outLane), (err, errLane)]
    stdout = outLane.makeOutlet(STDOUT_FILENO, "stdout", gap: shared.gapOnStdout, failed: shared.failed)
    let stderr = errLane.makeOutlet(
      STDERR_FILENO, "stderr",
      gap: { "easim: \($0.lines.counted("line was", "lines were")) dropped here, because stderr was not read\n" },
      failed: shared.failed)
    self.stderr = stderr
    shared.complain.withLock { $0 = { stderr.add("\($0)\n", .line) } }
  }

  // Breaks a retain cycle: the error handler retains the outlet of stderr, which retains the handler.
  deinit { shared.complain.withLock { $0 = nil } }

  // MARK: Lines

  /// Prints a line of the result, followed by `ending` unless the line already ends with a line break.
  func out(_ line: String, ending: String = "\n") {
    stdout.add(stdout.lane === stderr.lane ? aboveFooter(line + ending) : line + ending, .line, at: now)
  }

  func out(_ object: JSONObject) { out(object.text) }

  func out(
    event: String, at time: Instant = .origin, side: TimelineEvent.Side? = nil, _ members: JSONObject
  ) { out(JSONObject(event: event, at: time, side: side, members)) }

  /// Prints lines that contain a verdict. The verdict is colored on a terminal unless NO_COLOR is set.
  func outJudged(_ text: String) { out(colors && !isJSON ? JudgedText.colored(text) : text) }

  /// Prints the address of the live page, followed by instructions if the output goes to a terminal.
  func outPageAddress(_ address: String) {
    out(address)
    if isatty(STDERR_FILENO) == 1 { err("easim: open this address in a browser; Ctrl-C ends") }
  }

  /// The line that stays below all other output if stderr is a terminal, or nil if there is none. The line must fit in
  /// the terminal's width.
  var footer: String? {
    didSet { if footer != oldValue { draw("\r\u{1B}[2K\(footer ?? "")") } }
  }

  private func aboveFooter(_ text: String) -> String { footer.map { "\r\u{1B}[2K\(text)\($0)" } ?? text }

  /// Prints raw bytes as the result. Call this last, because it blocks until all bytes have been read.
  func outRaw(_ bytes: [UInt8]) {
    guard let code = FileWriting.write(bytes, to: STDOUT_FILENO) else { return }
    shared.failed(stdout, code)
  }

  func err(_ line: String) {
    trace?.lastLine = line.hasPrefix("easim: ") ? String(line.dropFirst("easim: ".count)) : line
    // Error messages may quote names from untrusted sources.
    errWhole(Excerpt.ofLines(line.spelledOut(keeping: ["\n", "\t"])))
  }

  /// Prints the last message of a command, and returns its exit code.
  func end(_ code: ExitCode, _ text: String) -> ExitCode {
    err("easim: \(text)")
    return code
  }

  func errWhole(_ line: String) { stderr.add(aboveFooter(line + "\n"), .line, at: now) }

  /// Prints an error and advice; each line begins with `easim: ` unless it is indented.
  func complain(_ text: String, advice: String? = nil) {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    err(lines.map { $0.hasPrefix(" ") ? String($0) : "easim: \($0)" }.joined(separator: "\n"))
    if let advice { err("       \(advice)") }
  }

  /// Draws on the terminal at stderr or stdout. If an earlier drawing is still waiting, the new one replaces it.
  func draw(_ text: String, onStdout: Bool = false) {
    (onStdout ? stdout : stderr).add(text, .frame, at: now)
  }

  var trace: TraceFile?

  var witnesses: [(TimelineEvent) -> Void] = []

  func witness(_ event: TimelineEvent) { for witness in witnesses { witness(event) } }

  func show(_ event: TimelineEvent) { show(event) { _ in } }

  func show(_ event: TimelineEvent, adding more: (inout JSONObject) -> Void) {
    witness(event)
    if case .result(let passed, let text) = event.kind { trace?.conclude(passed ? "passed" : "failed", text) }
    if case .message = event.kind, !showsMessages { return }
    guard isJSON else { return out(TimelineText.line(event, colors: colors)) }
    var object = event.printed
    more(&object)
    out(object)
  }

  /// Prints an event to stderr as progress, for commands that print something else to stdout.
  func showProgress(_ event: TimelineEvent) {
    witness(event)
    err(TimelineText.line(event, colors: false))
  }

  func result(_ verdict: Verdict, _ text: String, at time: Instant) {
    show(TimelineEvent(time: time, side: .app, kind: .result(passed: verdict.isPassed, text))) {
      $0.add("verdict", verdict.word)
    }
  }

  private var now: Instant { loop?.now ?? .origin }

  // MARK: Files

  /// Redirects results to stderr, because stdout is used for a file.
  func leaveStdout() { stdout = stderr }

  /// Opens a queue that never drops lines, for a file that is called `name` in error messages. The queue stays open
  /// until the process exits.
  func makeKeeper(_ descriptor: Int32, named name: String) -> Outlet {
    let file = FileIdentity(of: descriptor)
    let lane: OutputLane
    if let known = lanes.first(where: { $0.file == file })?.lane {
      lane = known
    } else {
      lane = OutputLane()
      lanes.append((file, lane))
      if loop != nil { lane.start() }
    }
    // This kind of queue drops no lines, so there are no gaps to describe.
    keepers.append(lane.makeOutlet(descriptor, name, gap: { _ in "" }, failed: shared.failed))
    return keepers[keepers.count - 1]
  }

  private var keepers: [Outlet] = []

  /// Pauses the cables while too many lines are waiting for a file that must be complete.
  func pace(_ file: Outlet, _ room: LineQueue.Room, by gate: CableGate) {
    switch room {
    case .some: return
    case .full: break
    // Plugging and unplugging cables adds lines even while the gate is closed.
    case .tooFull: return giveUp(file)
    }
    guard gate.isOpen, let loop else { return }
    gate.close()
    let bound = LoopBound(gate, on: loop)
    file.lane.whenThereIsRoom { loop.execute { bound.value.open() } }
  }

  /// Stops writing to a file that is not being read, and reports how many lines were lost.
  private func giveUp(_ file: Outlet) {
    guard !file.isOver, file.lane.abandon(file) > 0 else { return }
    lose(file.name, "it was not read")
  }

  func lose(_ name: String, _ reason: String) { shared.lose(name, reason) }

  // MARK: Output while a loop is running

  /// Prevents all later output from blocking the caller.
  func goLive(on loop: EpollLoop) {
    self.loop = loop
    shared.loop.withLock { $0 = loop }
    for entry in lanes { entry.lane.start() }
  }

  func finish() {
    guard loop != nil else { return }
    flush(lanes.map(\.lane))
    for keeper in keepers where !keeper.lane.isIdle { giveUp(keeper) }
    let unwritten = stdout.lane.isIdle ? 0 : stdout.lane.abandon(stdout)
    if unwritten > 0, stdout.lane !== stderr.lane {
      err("easim: stdout: \(unwritten.counted("line was", "lines were")) not written, because stdout was not read")
    }
    flush([stderr.lane])
  }

  private func flush(_ lanes: [OutputLane]) {
    let began = ContinuousClock.now
    var progress = -1
    while StopSignals.count == 0 || ContinuousClock.now - began < Self.timeAfterSignal {
      let signals = StopSignals.count
      let limit = signals > 0 ? Self.patienceAfterSignal : Self.patience
      let moved = OutputLane.news.wait(atMost: limit) { _ -> Bool? in
        if lanes.allSatisfy(\.isIdle) { return false }
        let now = lanes.reduce(0) { $0 + $1.progress }
        if now != progress || StopSignals.count != signals {
          progress = now
          return true
        }
        return nil
      }
      if moved != true { return }
    }
  }

  /// Waits until everything for stdout or stderr has been written, so that the terminal can then be used directly.
  func settle(errors: Bool = false, atMost limit: Duration) {
    let lane = errors ? stderr.lane : stdout.lane
    _ = OutputLane.news.wait(atMost: limit) { _ in lane.isIdle ? true : nil }
  }
}

private struct FileIdentity: Equatable {
  private let device: UInt
  private let number: UInt

  init(of descriptor: Int32) {
    var status = stat()
    let isKnown = fstat(descriptor, &status) == 0
    device = isKnown ? UInt(status.st_dev) : .max
    number = isKnown ? UInt(status.st_ino) : UInt(bitPattern: Int(descriptor))
  }
}
