import AccessoryFormats

/// A comparison of several runs in the given order. Changes are measured from the first run to the last.
///
/// ```swift
/// let trend = ReportTrend([("monday.json", monday), ("tuesday.json", tuesday)])
/// print(trend.text)
/// ```
public struct ReportTrend: WritableReport {
  /// The formats in which a comparison can be written.
  public static let forms = [ReportForm.json, .html, .csv]

  /// One figure's values in all runs.
  public struct Row: Sendable {
    /// The name of the figure.
    public let name: String
    /// The value in each run.
    public let values: [Double]
    let moreIsBetter: Bool?
    let unit: ReportFigure.Unit
    let isMain: Bool

    func show(_ value: Double) -> String { unit.text(value) }

    /// The change from the first run to the last, such as "+3.1 %", or an empty string if there is only one run.
    public var change: String {
      guard let first = values.first, let last = values.last, values.count > 1 else { return "" }
      if first == last { return "0 %" }
      // A change in a count, or a change from zero, is shown as a number rather than a percentage.
      let isCount = unit == .count || first <= 0
      let by = isCount ? (last > first ? "+\(show(last - first))" : "−\(show(first - last))") : ""
      guard first > 0 else { return by }
      let percent = ReportTrend.percent(ReportTrend.change(from: first, to: last), places: 1)
      return isCount ? "\(by), \(percent)" : percent
    }

    /// "better" or "worse", or an empty string if the figure is neither.
    public var verdict: String {
      guard let first = values.first, let last = values.last, first != last, let moreIsBetter else { return "" }
      return (last > first) == moreIsBetter ? "better" : "worse"
    }
  }

  private struct Run {
    let name: String
    let date: String
    let passed: Bool
    let failed: [String]
    let differences: [String]
  }

  private let kind: String
  private let runs: [Run]
  /// The compared figures.
  public let rows: [Row]
  let limits: [ChangeLimit]

  /// Compares runs of the same kind. File names can be used as the names of the runs.
  public init<Result: Report>(_ runs: [(name: String, report: Result)], limits: [ChangeLimit] = []) {
    kind = Result.kind.split(separator: " ").first.map(String.init) ?? ""
    self.runs = runs.map { name, report in
      Run(
        name: name, date: report.date, passed: report.passed,
        failed: report.suite.cases.filter(\.isFailed).map(\.name),
        differences: runs.first.map { report.differences(from: $0.report) } ?? [])
    }
    let figures = runs.map(\.report.figures)
    rows = (figures.first ?? []).enumerated().map { index, figure in
      Row(
        name: figure.name, values: figures.map { $0[index].value }, moreIsBetter: figure.moreIsBetter,
        unit: figure.unit, isMain: figure.isMain)
    }
    self.limits = limits
  }

  /// The result of checking each limit.
  public var checks: [ReportCheck] { limits.map { $0.check(self) } }

  private var names: [String] { runs.map(\.name) }

  /// The differences between each run's plan and the first run's plan, with one line per run.
  public var warnings: [String] {
    runs.filter { !$0.differences.isEmpty }.map {
      "\($0.name) has a different plan from \(names[0]): \($0.differences.joined(separator: "; "))"
    }
  }

  /// Two lines: the test cases that fail only in the last run, and those that fail only in the first.
  private var changedCases: [String] {
    guard let first = runs.first, let last = runs.last else { return [] }
    return [("fails now", last, first), ("no longer fails", first, last)].compactMap { what, one, other in
      let names = one.failed.filter { !other.failed.contains($0) }
      return names.isEmpty ? nil : "\(what): \(names.joined(separator: ", "))"
    }
  }

  private static let slight = 0.05

  /// The changes from the first run to the last, such as "worse: p50 +59 %, throughput −39 %", or the reason the
  /// runs cannot be compared.
  public var headline: String {
    if runs.count < 2 { return "there is only one run, so there is nothing to compare" }
    if !warnings.isEmpty { return "not comparable: \(warnings.joined(separator: "; "))" }
    let parts = ["worse", "better"].compactMap { word in
      let texts = changes(word)
      return texts.isEmpty ? nil : "\(word): \(texts.joined(separator: ", "))"
    }
    return parts.isEmpty
      ? "about the same: nothing changed by more than \(Int(Self.slight * 100)) %" : parts.joined(separator: "; ")
  }

  /// Describes the figures that became "better" or "worse" (the value of `verdict`) by at least ``slight``.
  private func changes(_ verdict: String) -> [String] {
    rows.compactMap { row in
      guard row.verdict == verdict, row.unit != .number, let first = row.values.first, let last = row.values.last
      else { return nil }
      // For a count, even a change of one is mentioned.
      if row.unit == .count {
        return "\(row.name) \(row.show(first)) → \(row.show(last))"
      }
      guard first > 0 else { return nil }
      let change = Self.change(from: first, to: last)
      return abs(change) < Self.slight ? nil : "\(row.name) \(Self.percent(change))"
    }
  }

  /// Returns the relative change of a figure, such as 0.1 for 10 % more. The result is rounded, so that a change of
  /// exactly 10 % equals a limit of 10 %.
  package static func change(from first: Double, to last: Double) -> Double {
    ((last / first - 1) * 1e12).rounded() / 1e12
  }

  /// Returns text such as "+59 %" or "−3.1 %", with enough decimal places to distinguish it from `other`.
  static func percent(_ change: Double, unlike other: Double? = nil, places: Int? = nil) -> String {
    let size = abs(change * 100)
    let digits = FixedText.text(size, places: places ?? (size < 10 ? 1 : 0), unlike: other.map { abs($0 * 100) })
    return "\(change < 0 ? "−" : "+")\(digits) %"
  }

  // MARK: Formats

  private var titles: [String] { [""] + names + (runs.count > 1 ? ["change", ""] : []) }

  private var cells: [[String]] {
    let passed = ["passed"] + runs.map { $0.passed ? "yes" : "no" } + (runs.count > 1 ? ["", ""] : [])
    let dates = ["date"] + runs.map(\.date) + (runs.count > 1 ? ["", ""] : [])
    let figures = rows.map { row in
      [row.name] + row.values.map(row.show) + (runs.count > 1 ? [row.change, row.verdict] : [])
    }
    return (runs.contains { !$0.date.isEmpty } ? [dates] : []) + [passed] + figures
  }

  /// The comparison as a table with one column per run, followed by the results for the limits.
  public var text: String { ([headline, table] + changedCases + checks.map(\.line)).joined(separator: "\n") }

  private var table: String {
    let lines = [titles] + cells
    let widths = titles.indices.map { column in lines.map { $0[column].count }.max() ?? 0 }
    return lines.map { line in
      let texts = line.enumerated().map { column, text in
        column == 0 ? text.padded(to: widths[column]) : text.rightAligned(in: widths[column])
      }
      let joined = texts.joined(separator: "   ")
      return String(joined.reversed().drop { $0 == " " }.reversed())
    }.joined(separator: "\n")
  }

  /// The comparison as JSON, for use by programs.
  public var json: JSONObject {
    let judged = checks.map { check -> JSONObject in
      ["goal": check.goal, "passed": check.passed, "text": check.text]
    }
    var figures = JSONObject()
    for row in rows { figures.add(row.name, row.values) }
    return [
      "easim": "\(kind) trend", "version": 1, "runs": names, "passed": runs.map(\.passed), "headline": headline,
      "comparable": runs.count > 1 && warnings.isEmpty, "warnings": warnings, "checks": judged, "figures": figures,
      "cases": changedCases.isEmpty ? nil : changedCases,
    ]
  }

  /// The comparison as CSV, with one line per figure and run.
  public var csv: String {
    var lines = ["run,date,figure,value"]
    for row in rows {
      for (index, value) in row.values.enumerated() {
        lines.append(
          [names[index], runs[index].date, row.name, FixedText.text(value, places: 3)].map(CSVText.cell)
            .joined(separator: ","))
      }
    }
    return lines.joined(separator: "\r\n") + "\r\n"
  }

  /// The comparison as an HTML page, with the table and a chart for each main figure.
  public var html: String {
    let failed = runs.count { !$0.passed }
    let checks = checks
    let isWorse = failed > 0 || checks.contains { !$0.passed } || !changes("worse").isEmpty
    var page = ReportPage(
      "easim \(kind): \(names.count > 1 ? "\(names[0]) to \(names[names.count - 1])" : names.joined())",
      headline.prefix(1).uppercased() + headline.dropFirst() + ".",
      isGood: isWorse ? false : warnings.isEmpty && runs.count > 1 ? true : nil)
    page.remark = "\(runs.count.counted("run")), \(failed) failed."
    page.reasons = changedCases + checks.map(\.line)
    let styles = Array(repeating: "", count: cells.count - rows.count) + rows.map(\.verdict)
    page.sections = [
      PageSection(
        "Figures", PageTable.table(titles, cells, numbers: 1, upTo: runs.count + 2, isPlain: true, styles: styles))
    ]
    for row in rows where runs.count > 1 && row.isMain {
      let charts = Plot.Width.allCases.map { chart(row, $0) }.joined(separator: "\n")
      page.sections.append(
        PageSection(row.name, "<figure id=\"trend-\(row.name)\">\n\(charts)\n</figure>", isChart: true))
    }
    return page.html
  }

  /// Returns a run's name with the date on a second line. The name is shortened to fit on an axis.
  private func label(_ run: Run) -> String {
    let name = run.name.hasSuffix(".json") ? String(run.name.dropLast(5)) : run.name
    let short = name.count > 14 ? "…\(name.suffix(13))" : name
    let date = run.date.prefix(16).replacing("T", with: " ")
    return date.isEmpty ? short : "\(short)\n\(date)"
  }

  /// Returns the contents of a file in the given format.
  public func text(as form: ReportForm) -> String {
    switch form {
    case .json: json.text + "\n"
    case .html: html
    case .csv: csv
    default: text + "\n"
    }
  }

  private func chart(_ row: Row, _ width: Plot.Width) -> String {
    // If there is no room for all names on the axis, leaves out at least every second name.
    let step = (runs.count + width.names - 1) / width.names
    let marks = runs.enumerated().compactMap { index, run in
      index % step == 0 ? (Double(index) + 0.5, label(run)) : nil
    }
    let goals = limits.filter { $0.figure == row.name }.compactMap { limit in
      row.values.first.map { (at: $0 * (1 + limit.bound), text: limit.goal, isMet: limit.check(self).passed) }
    }
    var plot = Plot(
      width, x: Axis(rows: marks, high: Double(runs.count)),
      y: Axis(to: (row.values + goals.map(\.at)).reduce(0, max) * 1.05, row.unit, marks: 4), height: 180)
    let points = row.values.enumerated().map { (x: Double($0.offset) + 0.5, y: $0.element) }
    plot.line("line0 \(row.name)", points)
    for (index, point) in points.enumerated() {
      plot.dot(
        "line0", x: point.x, y: point.y, data: " data-series=\"\(row.name)\" data-value=\"\(point.y)\"",
        "\(names[index]): \(row.show(point.y))")
    }
    for goal in goals { plot.goal(goal.at, goal.text, isMet: goal.isMet) }
    return plot.svg("\(row.name) over the runs")
  }
}

/// A condition for `easim report compare --fail-if`. A change limit restricts how much a figure may change from the
/// first report to the last. If the limit's condition is true, the comparison fails.
///
/// ```swift
/// try ChangeLimit("p50>+10%")          // more than 10% slower
/// try ChangeLimit("throughput<-5%")
/// ```
public struct ChangeLimit: Equatable, Sendable {
  let figure: String
  /// True if a change above the bound fails the comparison, or false if a change below the bound does.
  let isUpper: Bool
  /// The bound as a fraction, such as 0.1 for 10%.
  let bound: Double
  /// The condition that must be met to pass, such as "p50 ≤ +10 %".
  public let goal: String

  private static let examples = "'p50>+10%' or 'throughput<-5%'"

  /// Parses a limit. If the text is invalid, the error shows an example of a valid limit.
  public init(_ text: String) throws(OptionError) {
    let plain = String(text.filter { !$0.isWhitespace }).replacing("−", with: "-")
    let shown = Excerpt.of(text)
    guard let place = plain.firstIndex(where: { "<>".contains($0) }) else {
      throw OptionError("'\(shown)' contains no '>' or '<': write \(Self.examples)")
    }
    let (name, value) = (String(plain[..<place]), plain[plain.index(after: place)...])
    let digits = value.dropFirst().dropLast()
    guard let sign = value.first, "+-".contains(sign), value.last == "%", !digits.isEmpty,
      digits.allSatisfy({ $0.isASCII && ($0.isNumber || $0 == ".") }), let number = Double(digits), number <= 1e9
    else {
      throw OptionError("'\(shown)': in a comparison, limits are changes in percent: write \(Self.examples)")
    }
    (figure, isUpper) = (name, plain[place] == ">")
    bound = (sign == "-" ? -number : number) / 100
    goal = "\(name) \(isUpper ? "≤" : "≥") \(sign == "-" ? "−" : "+")\(digits) %"
  }

  /// Throws an error if the runs do not have the figure that is limited. The error suggests a figure with a similar
  /// name.
  public func check(among names: [String]) throws(OptionError) {
    if names.contains(figure) { return }
    let near = Suggestion.nearest(to: figure, in: names).map { "did you mean '\($0)'?" }
    throw OptionError(
      "'\(Excerpt.of(figure))' is not compared: \(near ?? "expected \(names.joined(separator: ", "))")")
  }

  func check(_ trend: ReportTrend) -> ReportCheck {
    func check(_ holds: Bool, _ text: String) -> ReportCheck {
      ReportCheck(name: goal, goal: goal, passed: holds, text: text)
    }
    guard trend.warnings.isEmpty else { return check(false, "the runs are not comparable") }
    guard let row = trend.rows.first(where: { $0.name == figure }), row.values.count > 1, let first = row.values.first,
      let last = row.values.last
    else { return check(false, "there is nothing to compare") }
    guard first > 0 else {
      // A rise from zero exceeds every upper limit, because the rise cannot be expressed as a percentage.
      return check(isUpper ? last <= 0 : true, "\(row.show(last)), was \(row.show(first))")
    }
    let change = ReportTrend.change(from: first, to: last)
    return check(isUpper ? change <= bound : change >= bound, ReportTrend.percent(change, unlike: bound))
  }
}
