import AccessoryCore
import AccessoryFormats
import Glibc

/// A child process whose standard descriptors are pipes on a loop.
///
/// ```swift
/// let child = try ChildProcess(ProcessCommand("cat"), on: loop, handler)
/// child.write(bytes)       // its standard input
/// child.closeInput()       // it ends, and the handler is notified
/// ```
///
/// **When the program ends.** The handler is notified once, after all of the program's output. By the time the handler
/// is notified, any processes that the program left running have ended: a guardian process sends them SIGTERM, and
/// kills those still running a second later. Output that such leftover processes print after SIGTERM may be lost.
///
/// **Stopping the program.** ``closeInput()`` and ``terminate(grace:)`` end the program in an orderly way; signals go
/// to its whole process group. The program and everything it started are killed immediately when this object is
/// released, and when this process ends for any reason. No zombie remains.
public final class ChildProcess {
  private enum State {
    case running
    /// The program has ended, but the handler has paused the output before receiving all of it.
    case draining
    case over
  }

  /// How often to check whether the program has ended, if the system offers no descriptor for this purpose.
  private static let tick = Duration.milliseconds(20)
  /// The maximum number of reads after the program has ended. A pipe holds fewer bytes than this many reads return, so
  /// the limit can cut off only the output of other processes.
  private static let drainingReads = 16

  /// The process ID of the guardian, which ends with the program's status or signal.
  public let processID: Int32
  /// True until the handler is notified that the program has ended.
  public var isRunning: Bool { state != .over }

  private let loop: any PollingLoop
  private weak var handler: (any ChildProcessHandler)?
  private var state = State.running
  private var input: WatchedDescriptor?
  private var output: WatchedDescriptor?
  private var errors: WatchedDescriptor?
  private var ending: WatchedDescriptor?
  /// The pipe to the guardian, or nil once the program has ended. The open pipe keeps the program alive, and carries
  /// signals for it.
  private var leash: WatchedDescriptor?
  private var ticker: LoopTimer?
  private var terminator: LoopTimer?
  private var isPaused = false
  private var writerWaits = false

  /// Starts a program. The handler is not retained, because it usually retains the child.
  public convenience init(
    _ command: ProcessCommand, on loop: any PollingLoop, _ handler: any ChildProcessHandler
  ) throws {
    try self.init(command, on: loop, handler, endIsADescriptor: true)
  }

  init(
    _ command: ProcessCommand, on loop: any PollingLoop, _ handler: any ChildProcessHandler, endIsADescriptor: Bool
  ) throws {
    loop.preconditionCurrent()
    self.loop = loop
    self.handler = handler
    let (processID, input, output, errors, leash) = try command.start()
    self.processID = processID
    self.leash = WatchedDescriptor(taking: leash)
    self.input = WatchedDescriptor(taking: input)
    self.output = WatchedDescriptor(taking: output)
    self.errors = WatchedDescriptor(taking: errors)
    let end = endIsADescriptor ? clinux_open_process(processID) : -1
    if end >= 0 { ending = WatchedDescriptor(taking: end) }
    try self.input?.watch(for: [], on: loop) { [unowned self] _ in inputIsReady() }
    try self.output?.watch(for: .readable, on: loop) { [unowned self] _ in readOutput() }
    try self.errors?.watch(for: .readable, on: loop) { [unowned self] _ in readErrors() }
    if ending != nil {
      try ending?.watch(for: .readable, on: loop) { [unowned self] _ in lookForEnd() }
    } else {
      ticker = loop.makeTimer { [unowned self] in lookForEnd() }
      ticker?.arm(at: loop.now + Self.tick)
    }
  }

  deinit {
    guard isRunning else { return }
    leash = nil
    var status: Int32 = 0
    while waitpid(processID, &status, 0) < 0, errno == EINTR {}
  }

  // MARK: - Input

  /// Writes as much as the pipe has room for, and returns how many bytes were written. After a partial write, the
  /// handler is notified when there is room again or when the program stops reading.
  public func write(_ bytes: RawSpan) -> Int {
    guard let input, !bytes.isEmpty else { return 0 }
    let count = bytes.withUnsafeBytes { clinux_write_to_pipe(input.number, $0.baseAddress, $0.count) }
    if count == bytes.byteCount { return count }
    if count >= 0 || errno == EAGAIN || errno == EINTR {
      writerWaits = true
      input.change(to: .writable)
    } else {
      // Like all events, the failure is reported in a later turn.
      loop.schedule(after: .zero) { [weak self] in self?.inputBroke() }
    }
    return max(0, count)
  }

  /// Whether ``write(_:)`` may still accept bytes.
  public var takesInput: Bool { input != nil }

  /// Closes the program's input after all bytes written so far.
  public func closeInput() {
    input = nil
    writerWaits = false
  }

  private func inputIsReady() {
    guard writerWaits else { return inputBroke() }
    writerWaits = false
    input?.change(to: [])
    handler?.childTakesInput(self)
  }

  private func inputBroke() {
    guard input != nil else { return }
    closeInput()
    handler?.childClosedInput(self)
  }

  // MARK: - Output

  /// Stops reading the program's output, so that the program blocks once the pipe is full.
  public func pauseOutput() {
    isPaused = true
    output?.change(to: [])
  }

  /// Resumes reading the program's output.
  public func resumeOutput() {
    guard isPaused else { return }
    isPaused = false
    output?.change(to: .readable)
    // Draining is deferred to a later turn, because the handler may be running now.
    if state == .draining { loop.schedule(after: .zero) { [weak self] in self?.drain() } }
  }

  /// Reads the output once. Returns true if there may be more output to read.
  @discardableResult
  private func readOutput() -> Bool { !isPaused && read(\.output) { handler?.child(self, printed: $0) } }

  @discardableResult
  private func readErrors() -> Bool { read(\.errors) { handler?.child(self, complained: $0) } }

  private func read(
    _ pipe: ReferenceWritableKeyPath<ChildProcess, WatchedDescriptor?>, _ deliver: (RawSpan) -> Void
  ) -> Bool {
    guard let source = self[keyPath: pipe] else { return false }
    let count = loop.withReadBuffer { buffer -> Int in
      let count = Glibc.read(source.number, buffer.baseAddress, buffer.count)
      if count > 0 { deliver(UnsafeRawBufferPointer(rebasing: buffer[..<count]).bytes) }
      return count
    }
    if count == 0 || count < 0 && errno != EAGAIN && errno != EINTR { self[keyPath: pipe] = nil }
    return count > 0
  }

  // MARK: - The end

  /// Waits for `grace`, then sends SIGTERM if the program is still running, and SIGKILL after another `grace`. To give
  /// the program a chance to end by itself, close its input before this call.
  public func terminate(grace: Duration) {
    guard state == .running, terminator == nil else { return }
    terminator = loop.schedule(after: grace) { [weak self] in
      self?.signal(SIGTERM)
      self?.terminator = self?.loop.schedule(after: grace) { self?.signal(SIGKILL) }
    }
  }

  /// Sends a signal to the program and everything it started.
  public func signal(_ number: Int32) {
    guard state == .running, let leash else { return }
    _ = withUnsafeBytes(of: UInt8(truncatingIfNeeded: number)) {
      clinux_write_to_pipe(leash.number, $0.baseAddress, $0.count)
    }
  }

  private func lookForEnd() {
    var info = siginfo_t()
    let isOver = waitid(P_PID, id_t(processID), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_signo == SIGCHLD
    guard isOver else {
      ticker?.arm(at: loop.now + Self.tick)
      return
    }
    state = .draining
    ending = nil
    closeInput()
    terminator?.cancel()
    drain()
  }

  private func drain() {
    guard state == .draining else { return }
    var reads = 0
    while reads < Self.drainingReads, readOutput() { reads += 1 }
    if isPaused, output != nil { return }
    reads = 0
    while reads < Self.drainingReads, readErrors() { reads += 1 }
    finish()
  }

  private func finish() {
    var status: Int32 = 0
    while waitpid(processID, &status, 0) < 0, errno == EINTR {}
    state = .over
    (output, errors, leash) = (nil, nil, nil)
    let signal = status & 0x7F
    handler?.child(self, endedWith: signal == 0 ? .exited((status >> 8) & 0xFF) : .killed(signal: signal))
  }
}

/// Receives a program's events. The handler is called on the loop, and never during a call to the child.
public protocol ChildProcessHandler: AnyObject {
  /// Called when the program has written to its standard output. The bytes are valid only during this call.
  func child(_ child: ChildProcess, printed bytes: RawSpan)

  /// Called when the program has written to its standard error.
  func child(_ child: ChildProcess, complained bytes: RawSpan)

  /// Called when there is room again after a partial `write`.
  func childTakesInput(_ child: ChildProcess)

  /// Called when the program has stopped reading. The program may still write output.
  func childClosedInput(_ child: ChildProcess)

  /// Called when the program has ended and all its output has been reported.
  func child(_ child: ChildProcess, endedWith ending: ProcessEnding)
}

/// Splits a program's output into lines that are safe to show.
///
/// A line ends with a line feed; a carriage return before the line feed is dropped. Lines longer than `longestLine`
/// bytes are split. Invalid UTF-8 is replaced and control characters are escaped, so that the program cannot control a
/// terminal that shows the timeline.
package struct LineSplitter {
  private let longestLine: Int
  private var rest: [UInt8] = []

  package init(longestLine: Int = 4_096) { self.longestLine = longestLine }

  /// Adds bytes, and calls `emit` with every line that they complete.
  package mutating func take(_ bytes: RawSpan, _ emit: (String) -> Void) {
    for offset in 0..<bytes.byteCount {
      let byte = bytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
      if byte != UInt8(ascii: "\n") { rest.append(byte) }
      if byte == UInt8(ascii: "\n") || rest.count == longestLine { finish(emit) }
    }
  }

  /// Ends the output, and calls `emit` with the last line if it has no line feed.
  package mutating func end(_ emit: (String) -> Void) {
    if !rest.isEmpty { finish(emit) }
  }

  private mutating func finish(_ emit: (String) -> Void) {
    if rest.last == UInt8(ascii: "\r") { rest.removeLast() }
    let line = String(decoding: rest, as: UTF8.self).spelledOut(keeping: ["\t"])
    rest.removeAll(keepingCapacity: true)
    emit(line)
  }
}
