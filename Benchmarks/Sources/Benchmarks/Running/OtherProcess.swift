import Glibc

/// Another process that runs the same executable at the other end of a line.
final class OtherProcess {
  /// The first command-line word that makes the executable play a role instead of measuring.
  static let flag = "--part"
  /// The other process's descriptor for its end of the line.
  static let socket: Int32 = 3

  /// This end of the line, non-blocking.
  let socket: Int32
  /// The other process's ID.
  let process: pid_t

  /// Starts the executable with `--part` and `words`, and passes it the far end of a line of this kind.
  init(_ words: [String], over medium: LineMedium = .unix) throws(MeasuringError) {
    let pair = try medium.makePair()
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    posix_spawn_file_actions_adddup2(&actions, pair.far, Self.socket)
    defer {
      posix_spawn_file_actions_destroy(&actions)
      close(pair.far)
    }
    var arguments = ([CommandLine.arguments[0], Self.flag] + words).map { strdup($0) } + [nil]
    defer { arguments.forEach { free($0) } }
    var process: pid_t = 0
    let code = posix_spawn(&process, "/proc/self/exe", &actions, nil, &arguments, environ)
    guard code == 0 else {
      close(pair.near)
      throw .system("start a second process", code: code)
    }
    self.process = process
    socket = pair.near
  }

  /// The processor time that the process has used, in seconds.
  var processorTime: Double { Stopwatch.processorTime(of: process) }

  /// Waits for a message from the process. The message is empty if the process ended without sending one.
  func onEvent() throws(MeasuringError) -> String {
    var question = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
    while poll(&question, 1, -1) < 0 {
      if errno != EINTR { throw .system("wait for a word from another process", code: errno) }
    }
    var text = [UInt8](repeating: 0, count: 256)
    let count = recv(socket, &text, text.count, 0)
    return String(decoding: text.prefix(max(0, count)), as: UTF8.self)
  }

  /// Sends a message to the process that started this one. Called in the other process.
  static func tell(_ word: String) throws(MeasuringError) {
    let text = Array(word.utf8)
    guard send(socket, text, text.count, Int32(MSG_NOSIGNAL)) == text.count else {
      throw .system("tell the process that measures", code: errno)
    }
  }

  /// Waits until the process has ended, which it does when its socket is closed. Throws an error if it failed.
  func wait() throws(MeasuringError) {
    try ChildEnd.wait(for: process)
  }
}

/// Waits for processes that this one started.
enum ChildEnd {
  /// Waits until a process has ended. Throws an error if it failed.
  static func wait(for process: pid_t) throws(MeasuringError) {
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0 {
      if errno != EINTR { throw .system("wait for another process", code: errno) }
    }
    if status != 0 { throw .failed("another process ended with status \(status)") }
  }
}

/// Why a figure could not be measured.
enum MeasuringError: Error, CustomStringConvertible {
  case system(String, code: Int32)
  case failed(String)

  var description: String {
    switch self {
    case .system(let what, let code): "cannot \(what): \(String(cString: strerror(code)))"
    case .failed(let what): what
    }
  }
}
