import AccessoryCore
import CLinux
import Glibc
import LinuxIO

/// The terminal on which EADemo draws its screens and reads keys.
///
/// The terminal is restored by ``close()``, when the process exits, or after a crash. Ctrl-Z gives the terminal back to
/// the shell until easim is resumed.
final class Terminal: DescriptorHandler {
  /// How long to wait, after an escape byte, for the rest of an arrow key's sequence.
  private static let escapeTime = Duration.milliseconds(50)

  private static let patience = Duration.milliseconds(300)

  let console: Console
  private let loop: any PollingLoop
  private let onEvent: (Key) -> Void
  private let changed: () -> Void
  let colors: Bool
  private var keys = KeyReader()
  private var watch: (any DescriptorWatch)?
  private var signals: SignalWatch?
  private var escapeTimer: LoopTimer?

  /// Returns whether stdin is a terminal and whether `descriptor` is a terminal whose cursor can be moved.
  static func isThere(showingOn descriptor: Int32 = STDOUT_FILENO) -> Bool {
    let kind = getenv("TERM").map { String(cString: $0) } ?? "dumb"
    return isatty(STDIN_FILENO) == 1 && isatty(descriptor) == 1 && kind != "dumb"
  }

  /// Sets up the terminal. `onEvent` receives each key, and `changed` is called when the screen must be redrawn.
  init(
    _ console: Console, on loop: any PollingLoop, onEvent: @escaping (Key) -> Void, changed: @escaping () -> Void
  ) throws {
    self.console = console
    self.loop = loop
    self.onEvent = onEvent
    self.changed = changed
    colors = getenv("NO_COLOR") == nil
    guard clinux_terminal_hold(STDOUT_FILENO) == 0 else { throw SystemError("use the terminal", code: errno) }
    showScreen()
    escapeTimer = loop.makeTimer { [unowned self] in deliver(keys.finish()) }
    watch = try loop.watch(STDIN_FILENO, for: .readable, self)
    signals = try SignalWatch([SIGWINCH, SIGCONT], on: loop) { [unowned self] signal in
      // The shell may have changed the terminal's settings before it resumed easim.
      if signal == SIGCONT { takeAgain() }
      self.changed()
    }
  }

  func close() {
    watch?.cancel()
    watch = nil
    signals?.close()
    escapeTimer?.cancel()
    release()
  }

  private func showScreen() { console.out("\u{1B}[?1049h\u{1B}[?25l", ending: "") }

  private func release() {
    console.settle(atMost: Self.patience)
    Self.giveBack()
  }

  /// Restores the terminal if it was set up. Never blocks, even if the terminal is not accepting output.
  static func giveBack() {
    let isBack = Monitor(false)
    do {
      try Worker.start {
        clinux_terminal_release()
        isBack.change { $0 = true }
      }
    } catch {
      return clinux_terminal_release()
    }
    _ = isBack.wait(atMost: patience) { $0 ? true : nil }
  }

  func descriptorReady(_ readiness: Readiness) {
    var bytes = [UInt8](repeating: 0, count: 4_096)
    let count = read(STDIN_FILENO, &bytes, bytes.count)
    if count < 0, errno == EINTR || errno == EAGAIN { return }
    guard count > 0 else {
      // The terminal has been closed, so no more keys can arrive.
      watch?.cancel()
      watch = nil
      return onEvent(.control("d"))
    }
    escapeTimer?.cancel()
    deliver(keys.read(bytes[..<count]))
    if keys.isHolding { escapeTimer?.arm(at: loop.now + Self.escapeTime) }
  }

  private func deliver(_ keys: [Key]) {
    for key in keys {
      if key == .control("z") { suspend() } else { onEvent(key) }
    }
  }

  private func suspend() {
    release()
    raise(SIGSTOP)
    takeAgain()
    changed()
  }

  private func takeAgain() {
    release()
    // If the shell resumes easim in the background, the shell keeps the terminal until another SIGCONT brings easim to
    // the foreground.
    if clinux_terminal_hold(STDOUT_FILENO) == 0 { showScreen() }
  }

  /// Returns how many columns and lines a terminal has, or 80 and 24 if it does not report them.
  static func size(of descriptor: Int32) -> (width: Int, height: Int) {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return (80, 24) }
    return (Int(size.ws_col), Int(size.ws_row))
  }
}

enum Key: Equatable {
  case character(Character)
  case enter
  case escape
  case backspace
  case up
  case down
  case left
  case right
  case pageUp
  case pageDown
  /// A control key: `c` for Ctrl-C.
  case control(Character)
}

/// Recognizes keys in the input from a terminal.
///
/// The escape key sends the same byte that begins an arrow key's sequence. An escape byte at the end of the input is
/// therefore held back. If no byte follows, the caller soon calls ``finish()``, which treats the held byte as the
/// escape key. Sequences for unknown keys are dropped.
struct KeyReader: Equatable {
  private static let longestSequence = 16
  private var held: [UInt8] = []

  var isHolding: Bool { !held.isEmpty }

  mutating func read(_ bytes: some Sequence<UInt8>) -> [Key] {
    var keys: [Key] = []
    for byte in bytes {
      held.append(byte)
      while let (key, length) = first() {
        held.removeFirst(length)
        if let key { keys.append(key) }
      }
    }
    return keys
  }

  mutating func finish() -> [Key] {
    defer { held = [] }
    return held.first == 0x1B && held.count == 1 ? [.escape] : []
  }

  /// Returns the first key and its length in bytes. The key is nil if the bytes do not represent a known key. Returns
  /// nil if more bytes are needed.
  private func first() -> (Key?, Int)? {
    guard let byte = held.first else { return nil }
    switch byte {
    case 0x1B: return sequence()
    case 0x0D, 0x0A: return (.enter, 1)
    case 0x7F, 0x08: return (.backspace, 1)
    case 0x01...0x1A: return (.control(Character(UnicodeScalar(byte + 0x60))), 1)
    case 0x20...0x7E: return (.character(Character(UnicodeScalar(byte))), 1)
    case 0xC2...0xF4: return character()
    default: return (nil, 1)
    }
  }

  private func character() -> (Key?, Int)? {
    let length = held[0] >= 0xF0 ? 4 : held[0] >= 0xE0 ? 3 : 2
    guard held.dropFirst().prefix(length - 1).allSatisfy({ $0 & 0xC0 == 0x80 }) else { return (nil, 1) }
    guard held.count >= length else { return nil }
    let text = String(validating: held.prefix(length), as: UTF8.self)
    return (text?.first.map(Key.character), length)
  }

  /// Parses `ESC [ A` (with or without parameters) or `ESC O A`. If two escape bytes arrive in a row, the first one is
  /// the escape key.
  private func sequence() -> (Key?, Int)? {
    guard held.count >= 2 else { return nil }
    guard held[1] == UInt8(ascii: "[") || held[1] == UInt8(ascii: "O") else {
      return held[1] == 0x1B ? (.escape, 1) : (nil, 2)
    }
    guard let end = held.dropFirst(2).firstIndex(where: { 0x40...0x7E ~= $0 }) else {
      return held.count >= Self.longestSequence ? (nil, held.count) : nil
    }
    if held[end] == UInt8(ascii: "~") {
      let pages: [UInt8: Key] = [UInt8(ascii: "5"): .pageUp, UInt8(ascii: "6"): .pageDown]
      return (pages[held[2]], end + 1)
    }
    let arrows: [UInt8: Key] = [0x41: .up, 0x42: .down, 0x43: .right, 0x44: .left]
    return (arrows[held[end]], end + 1)
  }
}
