import Glibc
import TestSupport

/// A program that a test runs as a user would. The test starts the program, reads its output line by line, interrupts
/// it, and waits for it to end.
///
/// Tests never wait for a fixed time, only for a line of output or for the program's end. If a wait exceeds a time
/// limit, the test fails and shows all output. The program is killed when this object is released.
///
/// ```swift
/// let run = try Program("run", "lawk-view", "--on", "unix:\(path)")
/// try run.line("plugged in")
/// run.send(SIGINT)
/// #expect(try run.wait().ending == .exit(0))
/// ```
final class Program {
  enum Ending: Equatable {
    case exit(Int32)
    case killed(by: Int32)
  }

  struct Remains {
    let ending: Ending
    let out: String
    let err: String

    var outLines: [String] { out.split(separator: "\n").map(String.init) }
  }

  /// The time after which a wait is considered hung. The limit is generous, because sanitizers and busy machines are
  /// slow.
  static let hangLimit = 60_000

  private let command: String
  private let pid: pid_t
  var number: Int32 { pid }
  private var out: OutputPipe
  private var err: OutputPipe
  private var ending: Ending?

  convenience init(_ words: String...) throws { try self.init(words) }

  /// Starts a program.
  ///
  /// - Parameters:
  ///   - environment: environment variables in addition to the few that every program gets.
  ///   - stdin: the file that the program reads. By default, it is empty.
  ///   - stdout: the descriptor to which the program's output goes. The caller owns the descriptors in `stdout` and
  ///   `stderr`.
  init(
    path: String = BuiltProducts.easim, _ words: [String], environment: [String: String] = [:],
    stdin: String = "/dev/null", stdout: Int32? = nil, stderr: Int32? = nil
  ) throws {
    command = ([path] + words).joined(separator: " ")
    out = try OutputPipe()
    err = try OutputPipe()
    pid = try Spawn(
      path, words, environment: environment, input: stdin, out: stdout ?? out.writingEnd, err: stderr ?? err.writingEnd
    )
    .pid
    out.closeWritingEnd()
    err.closeWritingEnd()
  }

  deinit {
    if ending == nil {
      kill(pid, SIGKILL)
      var status: Int32 = 0
      while waitpid(pid, &status, 0) < 0, errno == EINTR {}
    }
    out.stopReading()
    err.stopReading()
  }

  static func run(_ words: String...) throws -> Remains { try run(words) }

  static func run(_ words: [String], environment: [String: String] = [:]) throws -> Remains {
    try Program(words, environment: environment).wait()
  }

  @discardableResult
  func interrupt() throws -> Remains {
    send(SIGINT)
    return try wait()
  }

  func send(_ signal: Int32) {
    precondition(ending == nil, "the number of a program that was waited for may be somebody else's")
    kill(pid, signal)
  }

  @discardableResult
  func line(_ text: String) throws -> String {
    while true {
      while let line = out.nextLine() {
        if line.contains(text) { return line }
      }
      if out.isOver { throw failure("ended without a line with '\(text)'") }
      try pump("a line with '\(text)'")
    }
  }

  /// Reads whatever output there is, so that a running program never has to wait for a reader.
  func catchUp() throws {
    while try pump(nil) {}
  }

  func wait() throws -> Remains {
    while !out.isOver || !err.isOver { try pump("its end") }
    var status: Int32 = 0
    while waitpid(pid, &status, 0) < 0 {
      guard errno == EINTR else { throw failure("cannot be waited for: \(String(cString: strerror(errno)))") }
    }
    let signal = status & 0x7F
    let ending: Ending = signal == 0 ? .exit(status >> 8 & 0xFF) : .killed(by: signal)
    self.ending = ending
    return Remains(ending: ending, out: out.text, err: err.text)
  }

  /// Reads the available output of both streams. If `what` is given, first waits for output. Returns true if there was
  /// any output.
  @discardableResult
  private func pump(_ what: String?) throws -> Bool {
    var polls = [
      pollfd(fd: out.isOver ? -1 : out.readingEnd, events: Int16(POLLIN), revents: 0),
      pollfd(fd: err.isOver ? -1 : err.readingEnd, events: Int16(POLLIN), revents: 0),
    ]
    let count = poll(&polls, 2, what == nil ? 0 : Int32(Self.hangLimit))
    if count == 0, let what { throw failure("said nothing for \(Self.hangLimit / 1_000) s; waited for \(what)") }
    if polls[0].revents != 0 { out.read() }
    if polls[1].revents != 0 { err.read() }
    return count > 0
  }

  private func failure(_ what: String) -> ProgramFailure {
    ProgramFailure(description: "\(command)\n\(what)\nstdout:\n\(out.text)\nstderr:\n\(err.text)")
  }
}

/// The error for a program that did not do what the test was waiting for. The error contains the program's output.
struct ProgramFailure: Error, CustomStringConvertible {
  let description: String
}

/// One output stream of a program, and the text read from it.
///
/// The pipe is a pair of sockets, which can be created close-on-exec, so that no other test's program inherits them.
struct OutputPipe {
  let readingEnd: Int32
  private(set) var writingEnd: Int32
  private(set) var isOver = false
  private var bytes: [UInt8] = []
  private var lineStart = 0

  init() throws {
    var ends: [Int32] = [-1, -1]
    guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
      throw ProgramFailure(description: "an output cannot be made: \(String(cString: strerror(errno)))")
    }
    (readingEnd, writingEnd) = (ends[0], ends[1])
  }

  var text: String { String(decoding: bytes, as: UTF8.self) }

  mutating func closeWritingEnd() {
    close(writingEnd)
    writingEnd = -1
  }

  mutating func nextLine() -> String? {
    guard let end = bytes[lineStart...].firstIndex(of: UInt8(ascii: "\n")) else { return nil }
    defer { lineStart = end + 1 }
    return String(decoding: bytes[lineStart..<end], as: UTF8.self)
  }

  mutating func read() {
    var block = [UInt8](repeating: 0, count: 65_536)
    let count = Glibc.read(readingEnd, &block, block.count)
    if count > 0 { bytes += block[..<count] }
    if count == 0 { stopReading() }
  }

  mutating func stopReading() {
    guard !isOver else { return }
    isOver = true
    close(readingEnd)
  }
}

extension TemporaryFolder {
  /// Returns a file's text, or an empty string if the file does not exist.
  func text(_ name: String) -> String { String(decoding: bytes(name) ?? [], as: UTF8.self) }
}
