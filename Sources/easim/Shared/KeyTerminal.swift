import AccessoryCore
import CLinux
import Glibc
import LinuxIO

/// The terminal for a command that prints lines and also reads keys. Each key is read immediately and is not echoed.
/// The last line lists the keys. Ctrl-C still sends a signal. Ctrl-Z gives the terminal back to the shell until easim
/// is resumed. While easim is in the background, it reads no keys.
final class KeyTerminal: DescriptorHandler {
  /// How often easim, while in the background, checks whether it is back in the foreground.
  private static let period = Duration.milliseconds(500)

  private let console: Console
  private let loop: any PollingLoop
  private let line: (_ width: Int) -> String
  private let onKey: (Key) -> Void
  private var keys = KeyReader()
  private var watch: (any DescriptorWatch)?
  private var signals: SignalWatch?
  private var timer: LoopTimer?

  /// Whether there is a terminal for reading keys and showing the last line.
  static var isThere: Bool { Terminal.isThere(showingOn: STDERR_FILENO) }

  init(
    _ console: Console, on loop: any PollingLoop, line: @escaping (_ width: Int) -> String,
    onKey: @escaping (Key) -> Void
  ) throws {
    (self.console, self.loop, self.line, self.onKey) = (console, loop, line, onKey)
    timer = loop.makeTimer { [unowned self] in take() }
    signals = try SignalWatch([SIGTSTP, SIGCONT, SIGWINCH], on: loop) { [unowned self] signal in
      switch signal {
      case SIGTSTP: suspend()
      case SIGCONT:
        // The shell may have changed the terminal's settings before it resumed easim.
        release()
        take()
      default: show()
      }
    }
    take()
  }

  func close() {
    timer?.cancel()
    signals?.close()
    release()
  }

  func show() {
    if watch != nil { console.footer = line(max(1, Terminal.size(of: STDERR_FILENO).width - 1)) }
  }

  private func take() {
    guard watch == nil else { return }
    // Reading from the terminal in the background would stop easim.
    guard clinux_terminal_hold_keys(STDIN_FILENO) == 0 else {
      timer?.arm(at: loop.now + Self.period)
      return
    }
    watch = try? loop.watch(STDIN_FILENO, for: .readable, self)
    show()
  }

  private func release() {
    watch?.cancel()
    watch = nil
    console.footer = nil
    console.settle(errors: true, atMost: .milliseconds(300))
    Terminal.giveBack()
  }

  private func suspend() {
    release()
    raise(SIGSTOP)
    take()
  }

  func descriptorReady(_ readiness: Readiness) {
    guard clinux_terminal_is_ours(STDIN_FILENO) != 0 else {
      release()
      timer?.arm(at: loop.now + Self.period)
      return
    }
    var bytes = [UInt8](repeating: 0, count: 256)
    let count = read(STDIN_FILENO, &bytes, bytes.count)
    if count < 0, errno == EINTR || errno == EAGAIN { return }
    guard count > 0 else {
      // The terminal has been closed. Unless a signal ends the program, it keeps running but no longer reads key
      // presses.
      return release()
    }
    for key in keys.read(bytes[..<count]) { onKey(key) }
  }
}
