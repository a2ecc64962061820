import AccessoryFormats
import AccessoryRuns
import IAP2

extension BurstReport {
  /// The page's title, which contains the accessory's name or the number of accessories.
  public var title: String {
    let names = Set(sites.map { $0.accessory.isEmpty ? $0.name : $0.accessory })
    return switch names.count {
    case 0: "easim burst"
    case 1: "easim burst: \(names.joined())\(sites.count > 1 ? ", \(sites.count) of them" : "")"
    default: "easim burst: \(sites.count.counted("accessory", "accessories"))"
    }
  }

  /// Always nil. A stopped load test's measurements are still valid and can be merged with others.
  public var unfinished: String? { nil }

  /// The date on which the run began.
  public var date: String { made.date }

  /// Returns the differences between the plans, as one sentence per difference.
  public func differences(from other: BurstReport) -> [String] { plan.differences(from: other.plan) }

  /// Compares throughput, latencies and errors with those of an earlier run.
  public mutating func compare(with earlier: BurstReport, tolerance: Double) -> Bool {
    comparison = BaselineComparison(of: self, with: earlier, tolerance: tolerance)
    return true
  }

  /// The throughput, latency and error figures.
  public var figures: [ReportFigure] {
    [
      ReportFigure("throughput", bytesPerSecond, .rate, moreIsBetter: true),
      ReportFigure("bursts/s", burstsPerSecond, .number, moreIsBetter: true, isMain: false),
    ]
      + (Histogram.shownPercentiles + [("max", 100)]).map { name, percentile in
        ReportFigure(
          name, Double(latency.value(atPercentile: percentile)), .time, moreIsBetter: false,
          isMain: name == "p50" || name == "p99")
      } + [
        ReportFigure("errors", errorCount, moreIsBetter: false),
        ReportFigure("lost", lost, moreIsBetter: false, isMain: false),
        ReportFigure("overdue", overdue, moreIsBetter: false, isMain: false),
      ]
  }

  /// The test cases: one for the bursts, one for the rate, and one for each kind of error, limit, and
  /// figure that is compared with a baseline.
  public var suite: ReportSuite {
    var cases: [ReportCase] = []
    func add(_ name: String, _ failure: String?, _ note: String = "") {
      cases.append(ReportCase("burst", name, time: measured, failure.map { .failed($0) } ?? .passed, note: note))
    }
    // The test case for the bursts ignores limits that were not met, because each limit has its own test case.
    let verdict = verdict
    let others = ErrorKind.allCases.contains { failing($0) != nil } || checks.contains { !$0.passed }
    let isOver = ending == Self.doneEnding && others
    add(
      "bursts: \(plan.size > 0 ? "\(plan.size) bytes" : plan.sizeText), \(plan.verification)",
      verdict.isPassed || isOver
        ? nil : ending == Self.doneEnding ? verdict.reasons.joined(separator: "; ") : ending)
    for kind in ErrorKind.allCases {
      add("no burst \(kind.title)", failing(kind).map { "\($0.count); the first: \($0.first)" })
    }
    for check in checks { add(check.goal, check.passed ? nil : check.line, check.result) }
    for figure in comparison?.figures ?? [] {
      add("baseline: \(figure.name)", figure.isRegression ? figure.description : nil, figure.description)
    }
    return ReportSuite("easim burst", time: measured, cases, output: text)
  }

  /// Returns the report in the given format.
  public func text(as form: ReportForm) -> String {
    switch form {
    case .csv: csv
    // Tools that plot these files expect microseconds, and ignore lines that begin with #.
    case .hgrm: latency.percentileText(unit: 1_000) + (comparison?.commentLines ?? "")
    case .om: metrics(isOpen: true)
    case .prom: metrics(isOpen: false)
    default: commonText(as: form)
    }
  }

  /// The sections of the page other than the checks: details of the run, tables of figures, and charts.
  public var sections: [PageSection] {
    let shades = (1...Self.shades).map {
      ("heat s\($0)", $0 == 1 ? "few bursts" : $0 == Self.shades ? "many bursts" : "")
    }
    let attachments =
      figure(
        "attachments",
        [("whole", "connected, with protocols"), ("empty", "connected without protocols, as in a flicker")]
          + markLegend.filter { $0.0.hasSuffix("error") || $0.0.hasSuffix("warm") }
      ) { attachmentChart($0) } + hiddenSites
    return [
      PageSection(
        "Throughput over time",
        figure("throughput", flowLines.map { ($0.style, $0.name) } + markLegend) { throughputChart($0) }, isChart: true),
      PageSection("Latency over time", figure("map", shades + markLegend) { latencyMapChart($0) }, isChart: true),
      PageSection(
        "Latency by percentile",
        figure("percentiles", percentileSeries.map { ($0.style, $0.name) }) { percentileChart($0) }, isChart: true),
      PageSection("Attachments", attachments, isChart: true),
      PageSection("To try", advice.map { "<p>\(MarkupText.escaped($0))</p>" }),
      PageSection("The run", PageTable.facts(runFacts)),
      PageSection("Phases", phaseTable),
      PageSection(plan.isScript ? "Requests" : "Payloads", payloadTable),
      PageSection("Accessories", accessoryTable),
      PageSection("Latency", latencyTable),
      PageSection("Errors", errorTable),
      PageSection("Sizes", sizeTable),
      PageSection("Sessions", sessionTable),
      PageSection("Link", linkTable),
    ].compactMap(\.self)
  }

  // MARK: Words

  private var runFacts: [(String, String)] {
    var facts = [
      ("date", made.date), ("host", made.host), ("program", made.program), ("command", made.command),
      ("plan", planText),
      ("bursts", "\(plan.sizeText), pattern \(plan.pattern), verified: \(plan.verification)"),
      ("ended", ending), ("measured", FixedText.span(measured)),
      (
        "throughput", "\(FixedText.rate(bytesPerSecond)), \(FixedText.text(burstsPerSecond, places: 1)) bursts a second"
      ),
      (
        "completed",
        "\(FixedText.grouped(completed)), \(FixedText.grouped(lost)) lost, \(FixedText.grouped(overdue)) overdue"
      ),
    ]
    if !shards.isComplete { facts.append(("part", shards.text)) }
    if let start { facts.append(("began", start.text)) }
    if runs > 1 { facts.append(("merged", "\(runs) runs; the date, host and command are from the first")) }
    if warmUp > 0 || warmUpTime > .zero {
      facts.append(("warm-up", "\(FixedText.span(warmUpTime)), \(warmUp.counted("burst")), not measured"))
    }
    if reconnections > 0 { facts.append(("reconnected", reconnections.counted("time"))) }
    if unaskedBytes > 0 {
      facts.append(("received", "\(FixedText.grouped(unaskedBytes)) bytes that were not verified"))
    }
    return facts.filter { !$0.1.isEmpty }
  }

  // MARK: Tables

  private static let mostRows = 200

  private var accessoryTable: String {
    let rows = sites.prefix(Self.mostRows).map { site in
      [
        site.accessory.isEmpty ? "–" : site.accessory, site.serial, site.firmware, site.name, site.transport,
        FixedText.grouped(site.attachments.count + site.more), FixedText.grouped(site.completed),
        FixedText.grouped(site.lost), FixedText.grouped(site.sessions.reduce(0) { $0 + $1.errors }),
      ]
    }
    let titles = [
      "name", "serial", "firmware", "address", "transport", "attachments", "completed", "lost", "errors",
    ]
    return PageTable.table(titles, rows, numbers: 5, isPlain: true)
      + PageTable.more(sites.count - rows.count, "accessory", "accessories")
  }

  private var phaseTable: String? {
    if phases.isEmpty { return nil }
    let rows = phases.map { phase in
      let seconds = phase.length.inSeconds
      return [
        phase.pace, FixedText.span(phase.from), FixedText.grouped(phase.completed),
        "\(FixedText.text(Double(phase.completed) / max(seconds, 1e-9), places: 1))/s",
      ]
        + Self.middleAndEnds(phase.latency)
    }
    return PageTable.table(
      ["phase", "from", "completed", "came", "p50", "p99", "max"], rows, numbers: 1, isPlain: true)
  }

  private static func middleAndEnds(_ latency: Histogram) -> [String] {
    [50.0, 99, 100].map { latency.total > 0 ? FixedText.time(Double(latency.value(atPercentile: $0))) : "–" }
  }

  private var payloadTable: String? {
    if payloads.isEmpty { return nil }
    let rows = zip(payloads, plan.bursts).map { payload, text in
      [text, FixedText.grouped(payload.completed), FixedText.grouped(payload.bytes)]
        + Self.middleAndEnds(payload.latency)
    }
    return PageTable.table(["burst", "completed", "bytes", "p50", "p99", "max"], rows, numbers: 1)
  }

  private var latencyTable: String {
    let (all, served) = (latency.shownFigures, service.shownFigures)
    guard !all.isEmpty else { return "<p>No burst was completed.</p>" }
    let rows = all.enumerated().map { index, row in
      [row.name, FixedText.time(row.value)] + (served.isEmpty ? [] : [FixedText.time(served[index].value)])
    }
    let explained =
      served.isEmpty
      ? "<p>From the start of a burst to its last byte.</p>"
      : "<p>Latency counts from when a burst was due, service from when it really started.</p>"
    return PageTable.table(["", "latency"] + (served.isEmpty ? [] : ["service"]), rows, numbers: 1) + explained
  }

  private var sessionTable: String? {
    let all = sites.flatMap { site in site.sessions.enumerated().map { (site, $0.offset, $0.element) } }
    guard all.count > 1 else { return nil }
    let rows = all.prefix(Self.mostRows).map { site, index, session in
      let mean = session.completed > 0 ? FixedText.time(Double(session.time) / Double(session.completed)) : "–"
      return [
        site.serial.isEmpty ? site.name : site.serial, "\(index + 1)", FixedText.grouped(session.completed),
        FixedText.grouped(session.lost), FixedText.grouped(session.errors), mean,
        session.completed > 0 ? FixedText.time(Double(session.longest)) : "–",
      ]
    }
    let titles = ["accessory", "session", "completed", "lost", "errors", "mean latency", "longest"]
    return PageTable.table(titles, rows, numbers: 1, isPlain: true)
      + PageTable.more(all.count - rows.count, "session", "sessions")
  }

  private var linkTable: String {
    PageTable.table(
      ["counter", "value", "meaning"],
      LinkCounters.reportFields.map { [$0.name, FixedText.grouped(link[keyPath: $0.path]), $0.meaning] }, numbers: 1,
      upTo: 2)
  }

  private var errorTable: String? {
    let rows = ErrorKind.allCases.compactMap { kind in
      errors[kind].map { [kind.title, FixedText.grouped($0.count), $0.first] }
    }
    guard !rows.isEmpty else { return nil }
    let wrong = mismatchText.map { "<p>Wrong bytes: \(MarkupText.escaped($0)).</p>" } ?? ""
    return PageTable.table(["error", "count", "the first"], rows, numbers: 1, upTo: 2) + wrong
  }

  private var sizeTable: String? {
    guard sizes.minimum != sizes.maximum else { return nil }
    let rows = sizes.shownFigures.map { [$0.name, FixedText.grouped(Int($0.value.rounded()))] }
    return PageTable.table(["", "bytes"], rows, numbers: 1)
  }

  private var hiddenSites: String {
    PageTable.more(sites.count - shownSites.count, "accessory", "accessories")
      + PageTable.more(sites.reduce(0) { $0 + $1.more }, "attachment", "attachments")
  }

  // MARK: Charts

  func goals(onTimes: Bool) -> [(at: Double, text: String, isMet: Bool)] {
    judgedLimits.compactMap { limit in
      guard let at = limit.line(onTimes: onTimes, size: plan.size) else { return nil }
      return (at, limit.goal, limit.check(self).passed)
    }
  }

  private var markLegend: [(String, String)] {
    let kinds = Set(timeMarks.filter { 0...span ~= $0.time }.map(\.kind))
    return TimeMark.Kind.allCases.filter(kinds.contains).map { ("sign \($0.rawValue)", $0.title) }
  }

  /// Returns a chart with a legend that explains its colors. The chart is drawn once for each width, and the page shows
  /// the drawing that fits.
  private func figure(_ id: String, _ legend: [(String, String)], _ chart: (Plot.Width) -> String) -> String {
    let keys = legend.map { style, name in
      "<span class=\"key \(style)\">\(MarkupText.escaped(name))</span>"
    }
    return "<figure id=\"\(id)\">\n\(Plot.Width.allCases.map(chart).joined(separator: "\n"))\n"
      + "<p class=\"legend\">\(keys.joined(separator: "\n"))</p>\n</figure>"
  }
}
