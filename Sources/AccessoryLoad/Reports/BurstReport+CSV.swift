import AccessoryCore
import AccessoryRuns
import IAP2

extension BurstReport {
  /// The report as CSV. Each line contains one figure and the name of its section, so that a filter or a pivot table
  /// can select figures.
  ///
  /// ```
  /// section,at_seconds,name,value,unit
  /// summary,,completed,100,bursts
  /// latency,,p99,4110000,ns
  /// series,0.1,received,120000,bytes
  /// ```
  public var csv: String {
    var lines = ["section,at_seconds,name,value,unit"]
    func add(_ section: String, at seconds: String = "", _ name: String, _ value: String, _ unit: String = "") {
      lines.append([section, seconds, name, value, unit].map(CSVText.cell).joined(separator: ","))
    }
    add("summary", "passed", "\(outcome.isPassed)")
    add("summary", "verdict", verdict.word)
    add("summary", "ending", ending)
    for reason in reasons { add("summary", "reason", reason) }
    add("summary", "plan", planText)
    add("summary", "measured", FixedText.text(measured.inSeconds, places: 6), "s")
    add("summary", "throughput", FixedText.text(bytesPerSecond, places: 3), "bytes/s")
    add("summary", "rate", FixedText.text(burstsPerSecond, places: 3), "bursts/s")
    for field in Self.countFields {
      let unit = field.name.lowercased().hasSuffix("bytes") ? "bytes" : field.name == "reconnections" ? "" : "bursts"
      add("summary", field.name, "\(self[keyPath: field.path])", unit)
    }
    for check in checks { add("check", check.goal, check.passed ? "passed" : "failed", check.text) }
    for (section, times) in [("latency", latency), ("service", service)] where times.total > 0 {
      for row in times.shownFigures { add(section, row.name, FixedText.text(row.value, places: 0), "ns") }
    }
    for step in sizes.steps { add("size", "\(step.lowest)", "\(step.count)", "bursts") }
    for payload in payloads {
      add("payload", "\(payload.name) completed", "\(payload.completed)", "bursts")
      add("payload", "\(payload.name) bytes", "\(payload.bytes)", "bytes")
      for row in payload.latency.shownFigures {
        add("payload", "\(payload.name) \(row.name)", FixedText.text(row.value, places: 0), "ns")
      }
    }
    let length = series.length.inSeconds
    for (index, slice) in series.slices.enumerated() {
      let at = FixedText.text(Double(index) * length, places: 1)
      add("series", at: at, "completed", "\(slice.bursts)", "bursts")
      add("series", at: at, "bytes", "\(slice.bytes)", "bytes")
      add("series", at: at, "sent", "\(slice.sent)", "bytes")
      add("series", at: at, "received", "\(slice.received)", "bytes")
      add("series", at: at, "errors", "\(slice.errors)", "errors")
    }
    for kind in ErrorKind.allCases {
      if let tally = errors[kind] { add("errors", kind.title, "\(tally.count)", tally.first) }
    }
    for site in sites {
      let name = "\(site.name) \(site.serial)"
      add("accessory", "\(name) completed", "\(site.completed)", "bursts")
      add("accessory", "\(name) lost", "\(site.lost)", "bursts")
    }
    for field in LinkCounters.reportFields { add("link", field.name, "\(link[keyPath: field.path])") }
    for figure in comparison?.figures ?? [] {
      add("baseline", figure.name, figure.isRegression ? "worse" : "within", figure.description)
    }
    return lines.joined(separator: "\r\n") + "\r\n"
  }
}

extension Histogram {
  /// The latency figures that reports contain: minimum, mean, percentiles and maximum, or none if nothing was measured.
  var shownFigures: [(name: String, value: Double)] {
    guard let minimum, let maximum else { return [] }
    let percentiles = Self.shownPercentiles.map { ($0.0, Double(value(atPercentile: $0.1))) }
    return [("min", Double(minimum)), ("mean", mean)] + percentiles + [("max", Double(maximum))]
  }
}

extension BurstReport.Site {
  var completed: Int { attachments.reduce(0) { $0 + $1.completed } }
  var lost: Int { attachments.reduce(0) { $0 + $1.lost } }
}
