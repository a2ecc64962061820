import Glibc

/// One line on a terminal that is redrawn: `[######    ] 61 %  2.4 MB/s  0 errors  3 s left`.
///
/// Nothing is drawn if stderr is not a terminal.
final class ProgressBar {
  private static let width = 30
  private let console: Console
  private let isTerminal: Bool
  private var isShown = false

  init(_ console: Console) {
    self.console = console
    isTerminal = isatty(STDERR_FILENO) == 1
  }

  func draw(_ fraction: Double, _ text: String) {
    guard isTerminal else { return }
    let filled = Int(min(max(fraction, 0), 1) * Double(Self.width))
    let bar = String(repeating: "#", count: filled) + String(repeating: " ", count: Self.width - filled)
    console.draw("\r\u{1B}[2K[\(bar)] \(text)")
    isShown = true
  }

  /// Clears the bar, so that another line can be printed.
  func clear() {
    guard isShown else { return }
    console.draw("\r\u{1B}[2K")
    isShown = false
  }
}
