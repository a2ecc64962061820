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
