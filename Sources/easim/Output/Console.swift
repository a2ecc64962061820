import AccessoryCore
import AccessorySessions
import Glibc

/// Where easim speaks: the result on stdout, progress and complaints on stderr.
final class Console {
  /// Whether stdout carries JSON lines instead of text.
  var isJSON = false
  /// Whether whoever read stdout has left, as `head` does.
  private(set) var hasNoReader = false
  private var lost: Set<String> = []
  private let colors: Bool

  init() {
    colors = isatty(STDOUT_FILENO) == 1 && getenv("NO_COLOR") == nil
  }

  /// A line of the result; a text that ends in a line end already is given with an empty `ending`.
  func out(_ line: String, ending: String = "\n") {
    write(line + ending, to: STDOUT_FILENO, named: "stdout")
  }

  /// Whether all that was to be kept, on stdout or in a file, could be written. A command is not done otherwise.
  var isComplete: Bool { lost.isEmpty }

  /// Writes to stdout or to a file that the user named. The first failure is told, and nothing is written there any
  /// more: a file with a hole in it would lie.
  func write(_ text: String, to descriptor: Int32, named name: String) {
    guard !lost.contains(name), let code = Self.write(text, to: descriptor) else { return }
    // Nobody reads, by choice: nothing that anybody wants is lost.
    if code == EPIPE {
      hasNoReader = hasNoReader || descriptor == STDOUT_FILENO
      return
    }
    lost.insert(name)
    err("easim: \(name): \(String(cString: strerror(code))); what was to be written there is incomplete")
  }

  /// A line of progress or complaint.
  func err(_ line: String) {
    Self.write(line + "\n", to: STDERR_FILENO)
  }

  /// An event, in the form asked for.
  func show(_ event: TimelineEvent) {
    out(isJSON ? event.json : TimelineText.line(event, colors: colors))
  }

  /// An event as progress, on stderr: for commands whose result is something else.
  func showProgress(_ event: TimelineEvent) {
    err(TimelineText.line(event, colors: false))
  }

  /// What a command found out, in the form asked for.
  func result(passed: Bool, _ text: String, at time: Instant) {
    show(TimelineEvent(time: time, side: .app, kind: .result(passed: passed, text)))
  }

  /// Every line goes out whole and at once, so that a pipe sees it when it happens. Returns what was in the way.
  @discardableResult
  static func write(_ text: String, to descriptor: Int32) -> Int32? {
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count >= 0 {
        bytes = bytes.dropFirst(count)
        continue
      }
      let code = errno
      switch code {
      case EINTR: break
      // A terminal or pipe that somebody else made non-blocking.
      case EAGAIN:
        var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        poll(&waiting, 1, -1)
      default: return code
      }
    }
    return nil
  }
}
