import AccessoryFormats
import AccessoryRuns

/// A comparison with an earlier run, which finds figures that are worse by more than a tolerance.
///
/// ```swift
/// let comparison = BaselineComparison(of: report, with: baseline, tolerance: 0.1)
/// comparison.passed   // false when throughput fell or latency rose by more than a tenth
/// ```
public struct BaselineComparison: Equatable, Sendable {
  /// A figure that appears in both runs.
  public struct Figure: Equatable, Sendable {
    /// The figure's name.
    public let name: String
    /// The value in the baseline.
    public let before: Double
    /// The value in this run.
    public let now: Double
    /// Whether a higher value is better.
    public let moreIsBetter: Bool
    /// Whether the figure is worse by more than the tolerance.
    public let isRegression: Bool
    let unit: ReportFigure.Unit
    let tolerance: Double

    /// Text such as "p99: 4.11 ms, was 3.02 ms (+36.1 %)".
    public var description: String {
      let change = before > 0 ? ReportTrend.change(from: before, to: now) * 100 : 0
      let percent = FixedText.text(change, places: 1, unlike: (moreIsBetter ? -100 : 100) * tolerance)
      return "\(name): \(unit.text(now)), was \(unit.text(before)) (\(change < 0 ? "" : "+")\(percent) %)"
    }

    /// Figures are equal if they are printed the same way.
    public static func == (left: Figure, right: Figure) -> Bool {
      left.description == right.description && left.isRegression == right.isRegression
    }
  }

  /// The fraction by which a figure may be worse than in the baseline.
  public let tolerance: Double
  /// The compared figures.
  public let figures: [Figure]

  /// Compares two runs by their throughput, their p50, p90 and p99 latencies, and their errors.
  public init(of report: BurstReport, with baseline: BurstReport, tolerance: Double) {
    self.tolerance = tolerance
    let before = baseline.figures
    // Even one additional error is a regression.
    figures = report.figures.filter { ["throughput", "p50", "p90", "p99", "errors"].contains($0.name) }.map { now in
      let was = before.first { $0.name == now.name }?.value ?? 0
      let moreIsBetter = now.moreIsBetter == true
      let tolerance = now.name == "errors" ? 0 : tolerance
      let change = was > 0 ? ReportTrend.change(from: was, to: now.value) : now.value > 0 ? .infinity : 0
      return Figure(
        name: now.name, before: was, now: now.value, moreIsBetter: moreIsBetter,
        isRegression: moreIsBetter ? change < -tolerance : change > tolerance,
        unit: now.unit, tolerance: tolerance)
    }
  }

  /// Whether no figure is worse by more than the tolerance.
  public var passed: Bool { !figures.contains(where: \.isRegression) }

  /// The comparison as a JSON object.
  public var json: JSONObject {
    let rows = figures.map { figure -> JSONObject in
      ["name": figure.name, "before": figure.before, "now": figure.now, "isRegression": figure.isRegression]
    }
    return ["passed": passed, "tolerance": tolerance, "figures": rows]
  }

  /// The comparison as comments, which are lines that begin with `#`.
  public var commentLines: String { text.split(separator: "\n").map { "# \($0)\n" }.joined() }

  /// The comparison as text, with one line for each figure.
  public var text: String {
    let title = "compared with the baseline, \(FixedText.text(tolerance * 100, places: 1)) % tolerated"
    return ([title] + figures.map { "  \($0.isRegression ? "worse   " : "within  ")\($0.description)" })
      .joined(separator: "\n")
  }
}
