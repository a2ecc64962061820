import Glibc

/// Starts a program with three pipes. Separate from ``ChildProcess``, because it needs no loop.
///
/// Between this process and the program there is a guardian (`CLinux/guardian.c`), which ends everything that the
/// program started when either of them ends.
struct ProcessSpawn: ~Copyable {
  /// The guardian's process, which ends as the program does.
  let processID: pid_t
  /// This process's ends, non-blocking and close-on-exec.
  let input: OwnedDescriptor
  let output: OwnedDescriptor
  let errors: OwnedDescriptor
  /// Signals for the program are written to it; closing it ends everything at once.
  let leash: OwnedDescriptor

  /// Starts `command`. The program gets its three pipes and no other descriptor; no signal is blocked or ignored in it,
  /// whatever this process blocks and ignores.
  init(_ command: ProcessCommand) throws(SystemError) {
    let path = try ProgramFinder.find(command.program, beside: command.folder, path: command.searchPath)
    let input = try Pipe(keeping: .writing)
    let output = try Pipe(keeping: .reading)
    let errors = try Pipe(keeping: .reading)
    let words = CStrings([command.program] + command.arguments)
    let variables = CStrings(command.environment.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" })
    let texts = CStrings([path] + (command.folder.map { [$0] } ?? []))
    var (processID, leash): (Int32, Int32) = (0, -1)
    let code = words.pointers.withUnsafeBufferPointer { words in
      variables.pointers.withUnsafeBufferPointer { variables in
        clinux_start_guarded(
          texts.pointers[0], words.baseAddress, variables.baseAddress, texts.pointers[1], input.theirs.number,
          output.theirs.number, errors.theirs.number, &processID, &leash)
      }
    }
    guard code == 0 else { throw SystemError("start \(command.program)", code: code) }
    let reins = try OwnedDescriptor(leash, "start \(command.program)")
    self.processID = processID
    self.leash = reins
    self.input = input.takeOurs()
    self.output = output.takeOurs()
    self.errors = errors.takeOurs()
  }

  /// Transfers this process's ends of the pipes to the caller.
  consuming func release() -> (input: Int32, output: Int32, errors: Int32, leash: Int32) {
    (input.release(), output.release(), errors.release(), leash.release())
  }
}

/// A pipe between this process and a program.
private struct Pipe: ~Copyable {
  enum End {
    case reading
    case writing
  }

  let ours: OwnedDescriptor
  /// Blocking, as programs expect it; closed here once the program has it.
  let theirs: OwnedDescriptor

  init(keeping end: End) throws(SystemError) {
    var ends: [Int32] = [-1, -1]
    guard clinux_pipe(&ends) == 0 else { throw .last("make a pipe") }
    // In a process whose standard descriptors are closed, numbers below 3 are free; pipes with these numbers would
    // overwrite each other when they are moved to the program's standard descriptors.
    let reading = try OwnedDescriptor(Self.aboveStandard(ends[0]), "make a pipe")
    let writing = try OwnedDescriptor(Self.aboveStandard(ends[1]), "make a pipe")
    let number = end == .reading ? reading.number : writing.number
    guard fcntl(number, F_SETFL, O_NONBLOCK) == 0 else { throw .last("make a pipe non-blocking") }
    switch end {
    case .reading:
      ours = reading
      theirs = writing
    case .writing:
      ours = writing
      theirs = reading
    }
  }

  consuming func takeOurs() -> OwnedDescriptor { ours }

  private static func aboveStandard(_ descriptor: Int32) -> Int32 {
    guard descriptor < 3 else { return descriptor }
    defer { close(descriptor) }
    return fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
  }
}

/// Texts as C wants them: zero-terminated, in a list that ends with nil.
private struct CStrings: ~Copyable {
  let pointers: [UnsafeMutablePointer<CChar>?]

  init(_ texts: [String]) {
    pointers = texts.map { strdup($0) } + [nil]
  }

  deinit { for pointer in pointers { free(pointer) } }
}

/// How a program ended.
public enum ProcessEnding: Equatable, Sendable, CustomStringConvertible {
  /// By itself, with this status.
  case exited(Int32)
  /// By a signal.
  case killed(signal: Int32)

  /// "the program ended with status 3".
  public var description: String {
    switch self {
    case .exited(0): "the program ended"
    case .exited(let status): "the program ended with status \(status)"
    case .killed(let signal): "the program was ended by signal \(signal)\(Self.name(of: signal))"
    }
  }

  private static func name(of signal: Int32) -> String {
    let names: [Int32: String] = [
      1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 6: "SIGABRT", 8: "SIGFPE", 9: "SIGKILL", 11: "SIGSEGV",
      13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM",
    ]
    return names[signal].map { " (\($0))" } ?? ""
  }
}
