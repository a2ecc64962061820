import AccessoryCore
import AccessoryFormats

/// Shows the progress of a run: one JSON line each second with `--json`, otherwise a bar.
final class RunProgress {
  private static let barPeriod = Duration.milliseconds(100)
  private static let linePeriod = Duration.seconds(1)

  private let bar: ProgressBar
  private var timer: LoopTimer?

  /// - Parameters:
  ///   - show: returns the bar's fraction and text, given the time since the bar was last drawn; nil if there is
  ///     nothing to show yet.
  ///   - line: returns the JSON line; nil if there is nothing to report yet.
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
