import AccessoryCore
import AccessoryFormats
import Glibc

/// A progress line on the terminal: `[###### ] 61 % 2.4 MB/s 0 errors 3 s left`.
///
/// The bar is not drawn if stderr is not a terminal.
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
    console.draw("\r\u{1B}[2K\(Self.line(fraction, text))")
    isShown = true
  }

  fileprivate static func line(_ fraction: Double, _ text: String) -> String {
    let filled = Int(min(max(fraction, 0), 1) * Double(width))
    return "[\(String(repeating: "#", count: filled))\(String(repeating: " ", count: width - filled))] \(text)"
  }

  func clear() {
    guard isShown else { return }
    console.draw("\r\u{1B}[2K")
    isShown = false
  }
}

/// Shows how much of a file has been read. The line stays below all other output. No progress is shown for small files,
/// because they are read so quickly.
final class ReadingProgress {
  private static let megabyte = 1_000_000

  private let console: Console
  /// The size of the file, or 0 if it is unknown, as for a pipe.
  private let size: Int
  private var done = 0
  private var shown = 0

  init(_ path: String, _ console: Console) {
    self.console = console
    var information = stat()
    size = path == "-" || stat(path, &information) != 0 ? 0 : Int(information.st_size)
  }

  func add(_ count: Int) {
    done += count
    guard done - shown >= Self.megabyte, isatty(STDERR_FILENO) == 1 else { return }
    shown = done
    let (read, all) = (done / Self.megabyte, size / Self.megabyte)
    console.footer =
      size > done ? ProgressBar.line(Double(done) / Double(size), "\(read) of \(all) MB") : "\(read) MB read"
  }

  func end() { if shown > 0 { console.footer = nil } }
}

/// Shows a run's progress as a bar, or with `--json` as one line of JSON per second.
final class RunProgress {
  private static let barPeriod = Duration.milliseconds(100)
  private static let linePeriod = Duration.seconds(1)

  private let bar: ProgressBar
  private var timer: LoopTimer?

  /// - Parameters:
  ///   - show: returns the fraction and text of the bar, given the time since the bar was last drawn; returns nil if
  ///     there is nothing to show yet.
  ///   - line: returns the JSON line, or nil if there is nothing to report yet.
  init(
    _ console: Console, on loop: any EventLoop, show: @escaping (Duration) -> (fraction: Double, text: String)?,
    line: @escaping (Duration) -> JSONObject?
  ) {
    bar = ProgressBar(console)
    let period = console.isJSON ? Self.linePeriod : Self.barPeriod
    timer = loop.makeTimer { [unowned self] in
      timer?.arm(at: loop.now + period)
      if console.isJSON {
        if let object = line(period) { console.out(object) }
      } else if let (fraction, text) = show(period) {
        bar.draw(fraction, "\(Int(min(fraction, 1) * 100)) %  \(text)")
      }
    }
    timer?.arm(at: loop.now + period)
  }

  func clear() { bar.clear() }

  func stop() {
    timer?.cancel()
    bar.clear()
  }
}
