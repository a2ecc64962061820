import AccessoryCore
import AccessoryFormats
import Glibc
import LinuxIO
import TestSupport

/// A process in the soak. The process's output goes to a file that the soak reads line by line. The soak ends the
/// process only by its process ID.
///
/// The file is kept until the soak has ended, so that the output can be examined no matter how the process ended.
final class Child {
  enum Ending: Equatable, CustomStringConvertible {
    case exit(Int32)
    case signal(Int32)

    var description: String {
      switch self {
      case .exit(let code): "exit \(code)"
      case .signal(let number): "signal \(number)"
      }
    }
  }

  let name: String
  let pid: pid_t
  private(set) var ending: Ending?
  private(set) var sent: Int32?
  private let lines: LineFile

  init(_ name: String, _ program: String, _ words: [String], environment: [String: String], in folder: String) throws {
    self.name = name
    let path = "\(folder)/\(name).jsonl"
    let out = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    let err = open("\(folder)/\(name).err", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    defer {
      close(out)
      close(err)
    }
    guard out >= 0, err >= 0 else { throw OptionError("\(path): \(String(cString: strerror(errno)))") }
    pid = try Spawn(program, words, environment: environment, out: out, err: err).pid
    lines = try LineFile(path)
  }

  deinit {
    guard ending == nil else { return }
    Glibc.kill(pid, SIGKILL)
    var status: Int32 = 0
    while waitpid(pid, &status, 0) < 0, errno == EINTR {}
  }

  func newLines() -> [String] { lines.read() }

  func send(_ signal: Int32) {
    guard ending == nil else { return }
    sent = signal
    Glibc.kill(pid, signal)
  }

  func kill() {
    send(SIGKILL)
    _ = hasEnded(options: 0)
  }

  /// Returns true if the process has ended. This function is called often, so it does not block.
  func hasEnded() -> Bool { hasEnded(options: WNOHANG) }

  /// Whether the process has come as far as to report a signal instead of dying of it, or has ended.
  var handlesInterrupt: Bool {
    let status = String(decoding: SmallFile.read("/proc/\(pid)/status") ?? [], as: UTF8.self)
    let caught = status.firstMatch(of: #/SigCgt:\s*([0-9a-f]+)/#).flatMap { UInt64($0.1, radix: 16) }
    return caught.map { $0 & 1 << (SIGINT - 1) != 0 } ?? true || hasEnded()
  }

  private func hasEnded(options: Int32) -> Bool {
    if ending != nil { return true }
    var status: Int32 = 0
    guard waitpid(pid, &status, options) == pid else { return false }
    ending = status & 0x7F == 0 ? .exit(status >> 8 & 0xFF) : .signal(status & 0x7F)
    return true
  }
}

final class LineFile {
  private let descriptor: Int32
  private var splitter = LineSplitter(longestLine: 1 << 24)

  init(_ path: String) throws {
    descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw OptionError("\(path): \(String(cString: strerror(errno)))") }
  }

  deinit { close(descriptor) }

  func read() -> [String] {
    var lines: [String] = []
    var block = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = Glibc.read(descriptor, &block, block.count)
      guard count > 0 else { return lines }
      splitter.take(block.span.bytes.extracting(0..<count)) { lines.append($0) }
    }
  }
}
