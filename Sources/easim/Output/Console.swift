import AccessoryCore
import AccessorySessions
import Glibc

/// Where easim speaks: the result on stdout, progress and complaints on stderr.
final class Console {
  /// Whether stdout carries JSON lines instead of text.
  var isJSON = false
  private let colors: Bool

  init() {
    colors = isatty(STDOUT_FILENO) == 1 && getenv("NO_COLOR") == nil
  }

  /// A line of the result; a text that ends in a line end already is given with an empty `ending`.
  func out(_ line: String, ending: String = "\n") {
    Self.write(line + ending, to: STDOUT_FILENO)
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

  /// Every line goes out whole and at once, so that a pipe sees it when it happens.
  static func write(_ text: String, to descriptor: Int32) {
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR || errno == EAGAIN { continue }
      // Nobody reads: there is nobody to complain to either.
      guard count > 0 else { return }
      bytes = bytes.dropFirst(count)
    }
  }
}
