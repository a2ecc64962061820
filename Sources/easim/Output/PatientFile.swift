import AccessoryCore
import AccessoryProfiles
import Glibc
import LinuxIO

/// Opens, reads and writes files even if system calls on them block forever, as with a FIFO without a reader or an
/// unresponsive disk.
///
/// The system calls run on a separate thread. The caller waits until the system call has returned, a stop signal
/// arrives, or the time limit passes.
enum PatientFile {
  /// The time limit for opening a group of files.
  static let limit = Duration.seconds(10)
  private static let left = Locked(limit)
  /// The extra time allowed per file. On a busy machine, opening a thousand files can take as long as the total limit.
  private static let grace = Duration.milliseconds(100)

  private enum Ending<Result> {
    case done(Result)
    case stopped
    case timeIsOver
  }

  static func open(_ path: String, _ flags: Int32, named name: String) throws -> Int32 {
    try opened(path, forReading: flags & O_ACCMODE == O_RDONLY, named: name, late: { _ = close($0) }) {
      let descriptor = Glibc.open(path, flags | O_CLOEXEC, 0o644)
      return descriptor >= 0 ? .success(descriptor) : .failure(SystemError("open \(path)", code: errno))
    }
  }

  static func whole(_ path: String, named name: String) throws -> WholeFile {
    try opened(path, forReading: false, named: name, late: { _ in }) {
      Result { () throws(SystemError) in try WholeFile(path) }
    }
  }

  private static func opened<Opened: Sendable>(
    _ path: String, forReading: Bool, named name: String,
    late: @escaping @Sendable (Opened) -> Void, _ work: @escaping @Sendable () -> Result<Opened, SystemError>
  ) throws -> Opened {
    let began = ContinuousClock.now
    let ending = perform(
      atMost: left.withLock { $0 }, late: { if case .success(let opened) = $0 { late(opened) } }, work)
    let waited = max(.zero, ContinuousClock.now - began - grace)
    left.withLock { $0 = max(.zero, $0 - waited) }
    switch ending {
    case .done(.success(let opened)): return opened
    case .done(.failure(let error)): throw UsageError("\(name): \(error.reason)")
    case .stopped:
      throw CommandFailure(code: .checkFailed, message: "\(name): stopped before it could be opened")
    case .timeIsOver:
      let other = forReading ? "writing" : "reading"
      let reason = isPipe(path) ? "no program opened it for \(other)" : "it could not be opened"
      throw UsageError("\(name): \(reason) within \(limit.components.seconds) s")
    }
  }

  /// Reads a file. Reading may block, for example if nothing is being written to a pipe. A stop signal ends the wait.
  static func read<Content: Sendable>(
    named name: String, atMost limit: Duration? = limit * 2, _ read: @escaping @Sendable () throws -> Content
  ) throws -> Content {
    // A time limit of a year stands for no limit.
    let limit = limit ?? .seconds(31_536_000)
    switch perform(atMost: limit, late: { _ in }, { Result { try read() } }) {
    case .done(let content): return try content.get()
    case .stopped: throw CommandFailure(code: .checkFailed, message: "\(name): stopped before it was read")
    case .timeIsOver: throw UsageError("\(name): it could not be read within \(limit.components.seconds) s")
    }
  }

  private static func isPipe(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO
  }

  /// Creates a folder, or checks that an existing one is writable.
  static func makeFolder(_ path: String, named name: String) throws(UsageError) {
    if mkdir(path, 0o755) == 0 { return }
    // If the path ends with a slash, the system accepts only a folder.
    guard errno != EEXIST || access(path + "/.", W_OK | X_OK) != 0 else { return }
    throw UsageError("\(name): \(String(cString: strerror(errno)))")
  }

  /// Writes a complete file. On failure, returns the error as text and leaves the existing file unchanged.
  static func write(_ bytes: [UInt8], to file: WholeFile) -> String? {
    let ending = perform(atMost: limit, late: { _ in }) { () -> Int32? in
      do throws(SystemError) { try file.write(bytes) } catch { return error.code }
      return nil
    }
    return switch ending {
    // It is not an error if the reader of a pipe has exited.
    case .done(nil), .done(EPIPE?): nil
    case .done(let code?): String(cString: strerror(code))
    case .stopped: "stopped"
    case .timeIsOver: "it accepted no bytes for \(limit.components.seconds) s"
    }
  }

  private static func perform<Result: Sendable>(
    atMost limit: Duration, late: @escaping @Sendable (Result) -> Void, _ work: @escaping @Sendable () -> Result
  ) -> Ending<Result> {
    let signals = StopSignals.count
    let answer = Locked<(result: Result?, isGivenUp: Bool)>((nil, false))
    do {
      try Worker.start {
        let result = work()
        let isLate = answer.withLock { answer in
          if !answer.isGivenUp { answer.result = result }
          return answer.isGivenUp
        }
        if isLate { late(result) }
        OutputLane.news.change { $0 &+= 1 }
      }
    } catch {
      return .done(work())
    }
    let wasStopped = OutputLane.news.wait(atMost: limit) { _ -> Bool? in
      if answer.withLock({ $0.result != nil }) { return false }
      return StopSignals.count > signals ? true : nil
    }
    return answer.withLock { answer in
      answer.isGivenUp = true
      if let result = answer.result { return .done(result) }
      return wasStopped == true ? .stopped : .timeIsOver
    }
  }
}

/// Reads files that the user has named; `-` means stdin.
enum InputFile {
  /// The maximum file size. No profile, capture or payload is larger.
  static let sizeLimit = 256 << 20

  /// Reads a file of any size in parts, until `take` returns false.
  static func read(_ path: String, named given: String? = nil, _ take: ([UInt8]) throws -> Bool) throws {
    let name = given ?? (path == "-" ? "stdin" : path.isEmpty ? "''" : path)
    let descriptor = path == "-" ? STDIN_FILENO : try PatientFile.open(path, O_RDONLY, named: name)
    defer { if descriptor != STDIN_FILENO { close(descriptor) } }
    var block = [UInt8](repeating: 0, count: 1 << 18)
    while true {
      let count = Glibc.read(descriptor, &block, block.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw UsageError("\(name): \(String(cString: strerror(errno)))") }
      guard count > 0, try take(Array(block[..<count])) else { return }
    }
  }

  /// The time limit for reading a file other than stdin.
  private static let patience = Duration.seconds(60)

  /// Reads a file. Errors mention `option` if the path came from an option. A stop signal ends the wait for a file.
  /// There is no time limit for reading stdin.
  static func read(_ path: String, option: String? = nil) throws -> [UInt8] {
    let isStandard = path == "-" || path == "/dev/stdin"
    let name = (option.map { "\($0) " } ?? "") + (isStandard ? "stdin" : path.isEmpty ? "''" : path)
    guard isStandard else {
      return try PatientFile.read(named: name, atMost: patience) {
        do throws(TextFileError) { return try TextFile.read(path, limit: sizeLimit, within: patience) } catch {
          throw UsageError("\(name): \(error.reason)")
        }
      }
    }
    return try PatientFile.read(named: name, atMost: nil) {
      var bytes: [UInt8] = []
      try read("-", named: name) { block in
        bytes += block
        if bytes.count > sizeLimit { throw UsageError("\(name) is larger than 256 MiB") }
        return true
      }
      return bytes
    }
  }
}
