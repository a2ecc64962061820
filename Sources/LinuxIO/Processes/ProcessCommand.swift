import Glibc

/// A program to start, with its arguments, without a shell.
public struct ProcessCommand: Equatable, Sendable {
  /// The program: a path, or a name that is looked for in ``folder`` and on PATH.
  public var program: String
  /// Its arguments, without its own name.
  public var arguments: [String]
  /// Its whole environment.
  public var environment: [String: String]
  /// The folder that it is looked for in, and runs in; nil for this process's own folder.
  public var folder: String?

  /// A command. `environment` is added to the short list of variables that every program gets (``usualVariables``).
  public init(
    _ program: String, _ arguments: [String] = [], environment: [String: String] = [:], in folder: String? = nil
  ) {
    self.program = program
    self.arguments = arguments
    self.folder = folder
    self.environment = Self.inherited { Self.isUsual($0) }.merging(environment) { $1 }
    if let folder { self.environment["PATH"] = "\(searchPath):\(folder)" }
  }

  /// Adds variables as profiles name them: `NAME` passes this process's own on, `NAME=VALUE` sets it.
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

  /// The variables of this process that every program gets if they are set; `LC_` matches all that begin so.
  ///
  /// Other variables, such as tokens and passwords, are kept from a program that handles bytes from outside.
  public static let usualVariables = [
    "HOME", "LANG", "LANGUAGE", "LC_", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER",
  ]

  private static func isUsual(_ name: String) -> Bool {
    usualVariables.contains { $0.hasSuffix("_") ? name.hasPrefix($0) : name == $0 }
  }

  /// Where names are looked for.
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
}

/// Finds the file of a program.
public enum ProgramFinder {
  /// The file that `program` names. A path is relative to `folder`; a name is searched in `folder` first and then on
  /// PATH.
  ///
  /// - Throws: the system's reason for the best candidate: that it does not exist, or that it may not be executed.
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
    // An empty entry of PATH means this process's folder.
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

  /// Why a command could not be started as things are; nil when it could. Of a shell command its first word is examined,
  /// if that is a path.
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
