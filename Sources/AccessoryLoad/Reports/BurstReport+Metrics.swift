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

  /// Returns the report as metrics. If `isOpen` is true, the text ends with a marker, which OpenMetrics requires but
  /// Prometheus does not.
  ///
  /// The counts no longer rise after the run, so all metrics are gauges and histograms, which are written the same way
  /// in both formats.
  public func metrics(isOpen: Bool) -> String {
    var metrics = MetricsText()
    // There is no verdict until the run ends.
    if ending == BurstRunner.stillRunning {
      metrics.gauge("easim_burst_running", "Whether the load test is still running.", "1")
    } else {
      metrics.gauge("easim_burst_passed", "Whether the load test passed.", outcome.isPassed ? "1" : "0")
    }
    metrics.gauge("easim_burst_measured_seconds", "How long was measured.", "\(measured.inSeconds)")
    metrics.gauge("easim_burst_bytes_per_second", "Payload bytes per second in one direction.", "\(bytesPerSecond)")
    metrics.gauge("easim_burst_rate", "Bursts a second.", "\(burstsPerSecond)")
    metrics.family(
      "easim_burst_bursts", "gauge", "Bursts by outcome.",
      [("completed", completed), ("lost", lost), ("overdue", overdue), ("warm-up", warmUp)].map {
        ([("state", $0.0)], "\($0.1)")
      })
    metrics.gauge("easim_burst_bytes", "Payload bytes of completed bursts.", "\(bytes)")
    metrics.gauge("easim_burst_reconnections", "Number of times sessions were reopened.", "\(reconnections)")
    metrics.family(
      "easim_burst_errors", "gauge", "Errors, by kind.",
      ErrorKind.allCases.map { ([("kind", $0.rawValue)], "\(errors[$0]?.count ?? 0)") })
    metrics.family(
      "easim_burst_check_passed", "gauge", "Whether a check passed.",
      checks.map { ([("check", $0.name), ("goal", $0.goal)], $0.passed ? "1" : "0") })
    metrics.family(
      "easim_burst_baseline_passed", "gauge", "Whether a figure is at least as good as in the baseline.",
      (comparison?.figures ?? []).map { ([("figure", $0.name)], $0.isRegression ? "0" : "1") })
    metrics.histogram("easim_burst_latency_seconds", "Time from a burst's due time to its completion.", [([], latency)])
    if service.total > 0 {
      metrics.histogram("easim_burst_service_seconds", "Time from a burst's start to its completion.", [([], service)])
    }
    metrics.sizes("easim_burst_size_bytes", "Bytes of completed bursts.", sizes, sum: bytes)
    if !payloads.isEmpty {
      metrics.histogram(
        "easim_burst_payload_seconds", "Latency of the bursts of each payload of the plan.",
        payloads.map { ([("payload", $0.name)], $0.latency) })
    }
    metrics.family(
      "easim_burst_link", "gauge", "Counters of the links.",
      LinkCounters.reportFields.map { ([("counter", $0.name)], "\(link[keyPath: $0.path])") })
    return metrics.text + (isOpen ? "# EOF\n" : "")
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

/// Builds metrics in the Prometheus and OpenMetrics formats. Metrics consist of families of samples, and samples have
/// labels.
package struct MetricsText: Sendable {
  package static let bounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

  private static let sizeBounds = [16.0, 64, 256, 1_024, 4_096, 16_384, 65_536, 1_048_576]

  package private(set) var text = ""

  package init() {}

  package mutating func family(
    _ name: String, _ type: String, _ help: String, _ samples: [(labels: [(String, String)], value: String)]
  ) {
    head(name, type, help)
    for sample in samples { text += "\(name)\(Self.labels(sample.labels)) \(sample.value)\n" }
  }

  package mutating func gauge(_ name: String, _ help: String, _ value: String) {
    family(name, "gauge", help, [([], value)])
  }

  /// Adds latencies in seconds. For each set of labels, there is one histogram in nanoseconds.
  package mutating func histogram(
    _ name: String, _ help: String, _ samples: [(labels: [(String, String)], times: Histogram)]
  ) {
    head(name, "histogram", help)
    for (labels, times) in samples {
      buckets(name, labels, times, Self.bounds, unit: 1e9, sum: "\(times.mean * Double(times.total) / 1e9)")
    }
  }

  package mutating func sizes(_ name: String, _ help: String, _ sizes: Histogram, sum: Int) {
    head(name, "histogram", help)
    buckets(name, [], sizes, Self.sizeBounds, unit: 1, sum: "\(sum)")
  }

  private mutating func buckets(
    _ name: String, _ labels: [(String, String)], _ values: Histogram, _ bounds: [Double], unit: Double, sum: String
  ) {
    let steps = values.steps
    for bound in bounds {
      let count = steps.reduce(0) { Double($1.highest) <= bound * unit ? $0 + $1.count : $0 }
      text += "\(name)_bucket\(Self.labels(labels + [("le", "\(bound)")])) \(count)\n"
    }
    text += "\(name)_bucket\(Self.labels(labels + [("le", "+Inf")])) \(values.total)\n"
    text += "\(name)_sum\(Self.labels(labels)) \(sum)\n"
    text += "\(name)_count\(Self.labels(labels)) \(values.total)\n"
  }

  private mutating func head(_ name: String, _ type: String, _ help: String) {
    text += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
  }

  private static func labels(_ pairs: [(String, String)]) -> String {
    if pairs.isEmpty { return "" }
    let escaped = pairs.map { name, value in
      "\(name)=\"\(value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n"))\""
    }
    return "{\(escaped.joined(separator: ","))}"
  }
}
