import Glibc

/// Starts a program with three pipes. Apart from ``ChildProcess`` because nothing here knows of a loop.
struct ProcessSpawn: ~Copyable {
  /// The program's process, which also leads a process group of its own.
  let processID: pid_t
  /// This process's ends, non-blocking and close-on-exec.
  let input: OwnedDescriptor
  let output: OwnedDescriptor
  let errors: OwnedDescriptor

  /// Starts `command`. The program gets its three pipes and no other descriptor; no signal is blocked or ignored in it,
  /// whatever this process blocks and ignores.
  init(_ command: ProcessCommand) throws(SystemError) {
    let input = try Pipe(keeping: .writing)
    let output = try Pipe(keeping: .reading)
    let errors = try Pipe(keeping: .reading)
    processID = try Self.spawn(command, standard: [input.theirs.number, output.theirs.number, errors.theirs.number])
    self.input = input.takeOurs()
    self.output = output.takeOurs()
    self.errors = errors.takeOurs()
  }

  /// Gives this process's ends away.
  consuming func release() -> (input: Int32, output: Int32, errors: Int32) {
    (input.release(), output.release(), errors.release())
  }

  private static func spawn(_ command: ProcessCommand, standard: [Int32]) throws(SystemError) -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for (target, source) in standard.enumerated() {
      posix_spawn_file_actions_adddup2(&actions, source, Int32(target))
    }
    clinux_close_from(&actions, 3)

    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var none = sigset_t()
    sigemptyset(&none)
    var all = sigset_t()
    sigfillset(&all)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setsigdefault(&attributes, &all)
    posix_spawnattr_setpgroup(&attributes, 0)
    let flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP
    posix_spawnattr_setflags(&attributes, Int16(flags))

    var processID: pid_t = 0
    let words = CStrings([command.program] + command.arguments)
    let variables = CStrings(environment(adding: command.environment))
    let code = posix_spawnp(
      &processID, command.program, &actions, &attributes, words.pointers, variables.pointers)
    guard code == 0 else { throw SystemError("start \(command.program)", code: code) }
    return processID
  }

  /// This process's variables, with `added` in place of those of the same name.
  private static func environment(adding added: [String: String]) -> [String] {
    var variables: [String] = []
    var next = clinux_environment()
    while let variable = next?.pointee {
      let text = String(cString: variable)
      let name = String(text.prefix { $0 != "=" })
      if added[name] == nil { variables.append(text) }
      next = next?.advanced(by: 1)
    }
    return variables + added.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
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
    // Numbers below 3 are free in a process whose own standard descriptors are closed; the program's would then be
    // overwritten one by the other on their way to their places.
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

/// A program to start: what a shell would be given, without a shell in between.
public struct ProcessCommand: Equatable, Sendable {
  /// The program: a path, or a name that is sought on PATH.
  public var program: String
  /// Its arguments, without its own name.
  public var arguments: [String]
  /// Variables that are added to this process's environment, or replace what it has.
  public var environment: [String: String]

  /// A command.
  public init(_ program: String, _ arguments: [String] = [], environment: [String: String] = [:]) {
    self.program = program
    self.arguments = arguments
    self.environment = environment
  }
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
