import Glibc

/// A program to start without a shell, and its arguments.
public struct ProcessCommand: Equatable, Sendable {
  /// The program: a path, or a name to look up in ``folder`` and then on PATH.
  public var program: String
  /// The arguments, without the program's own name.
  public var arguments: [String]
  /// The program's complete environment.
  public var environment: [String: String]
  /// The folder in which the program is looked up and runs; nil means this process's working directory.
  public var folder: String?

  /// Creates a command. `environment` is added to the few variables that every program receives (``usualVariables``).
  public init(
    _ program: String, _ arguments: [String] = [], environment: [String: String] = [:], in folder: String? = nil
  ) {
    self.program = program
    self.arguments = arguments
    self.folder = folder
    self.environment = Self.inherited { Self.isUsual($0) }.merging(environment) { $1 }
    if let folder { self.environment["PATH"] = "\(searchPath):\(folder)" }
  }

  /// Adds variables in the form used by profiles: `NAME` passes on this process's value, and `NAME=VALUE` sets a value.
  public mutating func add(variables: [String]) {
    for variable in variables {
      let parts = variable.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      if parts.count == 2 {
        environment[parts[0]] = parts[1]
      } else {
        environment.merge(Self.inherited { $0 == parts[0] }) { $1 }
      }
    }
  }

  /// The environment variables of this process that every program receives; `LC_` stands for all variables with that
  /// prefix.
  ///
  /// All other variables, such as tokens and passwords, are hidden from programs, which may handle untrusted bytes.
  public static let usualVariables = [
    "HOME", "LANG", "LANGUAGE", "LC_", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER",
  ]

  private static func isUsual(_ name: String) -> Bool {
    usualVariables.contains { $0.hasSuffix("_") ? name.hasPrefix($0) : name == $0 }
  }

  var searchPath: String { environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin" }

  private static func inherited(_ isWanted: (String) -> Bool) -> [String: String] {
    var variables: [String: String] = [:]
    var next = clinux_environment()
    while let variable = next?.pointee {
      let parts = String(cString: variable).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      if parts.count == 2, isWanted(String(parts[0])) { variables[String(parts[0])] = String(parts[1]) }
      next = next?.advanced(by: 1)
    }
    return variables
  }

  /// Starts the program. It gets exactly three pipes and no other descriptors, and starts with no signals blocked or
  /// ignored, even if this process blocks or ignores some.
  ///
  /// A guardian process (`CLinux/guardian.c`) runs between this process and the program; when either of them ends, the
  /// guardian ends everything that the program started.
  ///
  /// - Returns: the guardian's process ID, this process's ends of the pipes, and the pipe that carries signals for the
  ///   program. Closing that pipe ends everything immediately.
  func start() throws(SystemError) -> (processID: Int32, input: Int32, output: Int32, errors: Int32, leash: Int32) {
    let path = try ProgramFinder.find(program, beside: folder, path: searchPath)
    let input = try Pipe(keepsReading: false)
    let output = try Pipe(keepsReading: true)
    let errors = try Pipe(keepsReading: true)
    let words = CStrings([program] + arguments)
    let variables = CStrings(environment.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" })
    let texts = CStrings([path] + (folder.map { [$0] } ?? []))
    var (processID, leash): (Int32, Int32) = (0, -1)
    let code = words.pointers.withUnsafeBufferPointer { words in
      variables.pointers.withUnsafeBufferPointer { variables in
        clinux_start_guarded(
          texts.pointers[0], words.baseAddress, variables.baseAddress, texts.pointers[1], input.theirs.number,
          output.theirs.number, errors.theirs.number, &processID, &leash)
      }
    }
    guard code == 0 else { throw SystemError("start \(program)", code: code) }
    let reins = try OwnedDescriptor(leash, "start \(program)")
    return (
      processID, input.takeOurs().release(), output.takeOurs().release(), errors.takeOurs().release(), reins.release()
    )
  }
}

/// Finds a program's executable file.
public enum ProgramFinder {
  /// Returns the file that `program` refers to. A path is relative to `folder`; a name is looked up first in `folder`
  /// and then on PATH.
  ///
  /// - Throws: an error that states why the most likely candidate cannot be run, such as a missing file.
  static func find(_ program: String, beside folder: String?, path: String) throws(SystemError) -> String {
    func place(_ name: String, in folder: String?) -> String {
      name.hasPrefix("/") ? name : folder.map { "\($0)/\(name)" } ?? "./\(name)"
    }
    if program.contains("/") {
      let file = place(program, in: folder)
      let fault = fault(of: file)
      if fault != 0 { throw SystemError("start \(program)", code: fault) }
      return file
    }
    var code = ENOENT
    // An empty entry in PATH means the working directory.
    let entries = path.split(separator: ":", omittingEmptySubsequences: false).map { $0.isEmpty ? "." : String($0) }
    for entry in (folder.map { [$0] } ?? []) + entries {
      let file = "\(entry)/\(program)"
      switch fault(of: file) {
      case 0: return file
      case EACCES: code = EACCES
      default: break
      }
    }
    throw SystemError("start \(program)", code: code)
  }

  /// Returns the reason why a command cannot be started now, or nil if it can be started. For a shell command, only the
  /// first word is checked, and only if it is a path.
  public static func objection(to command: ProcessCommand) -> SystemError? {
    do {
      _ = try find(command.program, beside: command.folder, path: command.searchPath)
      guard command.program == "/bin/sh", command.arguments.count == 2, command.arguments[0] == "-c" else { return nil }
      let word = command.arguments[1].split(separator: " ").first.map(String.init) ?? ""
      let isPlain = word.utf8.allSatisfy { !"\"'\\$`*?[]{}()<>|&;~#=!".utf8.contains($0) }
      if word.contains("/"), isPlain { _ = try find(word, beside: command.folder, path: "") }
      return nil
    } catch {
      return error
    }
  }

  private static func fault(of file: String) -> Int32 {
    var status = stat()
    guard stat(file, &status) == 0 else { return errno }
    guard status.st_mode & S_IFMT == S_IFREG else { return EACCES }
    return faccessat(AT_FDCWD, file, X_OK, AT_EACCESS) == 0 ? 0 : errno
  }
}

private struct Pipe: ~Copyable {
  let ours: OwnedDescriptor
  /// The program's end of the pipe, in blocking mode, as programs expect. This process closes its copy of the end once
  /// the program has started.
  let theirs: OwnedDescriptor

  init(keepsReading: Bool) throws(SystemError) {
    var ends: [Int32] = [-1, -1]
    guard clinux_pipe(&ends) == 0 else { throw .last("make a pipe") }
    // If this process's standard descriptors are closed, the pipes could get numbers below 3 and overwrite each other
    // when they become the program's standard descriptors.
    let reading = try OwnedDescriptor(Self.aboveStandard(ends[0]), "make a pipe")
    let writing = try OwnedDescriptor(Self.aboveStandard(ends[1]), "make a pipe")
    let number = keepsReading ? reading.number : writing.number
    guard fcntl(number, F_SETFL, O_NONBLOCK) == 0 else { throw .last("make a pipe non-blocking") }
    if keepsReading {
      ours = reading
      theirs = writing
    } else {
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

private struct CStrings: ~Copyable {
  let pointers: [UnsafeMutablePointer<CChar>?]

  init(_ texts: [String]) {
    pointers = texts.map { strdup($0) } + [nil]
  }

  deinit { for pointer in pointers { free(pointer) } }
}

/// How a program ended.
public enum ProcessEnding: Equatable, Sendable, CustomStringConvertible {
  case exited(Int32)
  case killed(signal: Int32)

  /// Text such as "the program ended with status 3".
  public var description: String {
    switch self {
    case .exited(0): "the program ended"
    case .exited(let status): "the program ended with status \(status)"
    case .killed(let signal): "the program was ended by signal \(signal)\(Self.name(of: signal))"
    }
  }

  private static func name(of signal: Int32) -> String {
    sigabbrev_np(signal).map { " (SIG\(String(cString: $0)))" } ?? ""
  }
}
