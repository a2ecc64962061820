import AccessoryCore
import AccessoryFormats
import AccessoryRuns
import IAP2

extension BurstReport: Report {
  /// The keys that identify a report file of this kind.
  public static let kind = "burst report"
  /// The formats of a report, including those for the tables that only load tests have.
  public static let forms = ReportForm.allCases.filter { $0 != .text }

  /// The report as a single JSON object. If the run was compared with a baseline, `baseline` contains the comparison.
  public var json: JSONObject {
    var object = JSONObject(Self.format.tree(self))
    object.add("baseline", comparison?.json)
    return object
  }

  /// The limits for report files. Two full histograms take up 3 MB, and an accessory with all its attachments takes up
  /// 0.2 MB.
  public static let limits = JSON5.Limits(bytes: 8 << 20, depth: 16)

  /// The format of report files. Report files also contain derived figures, which easim writes for other readers but
  /// does not read back.
  public static let format = Record(
    kind, "the measurements of an `easim burst` run", BurstReport(plan: Plan())
  ) {
    headerFields
    Field(confirmed: "passed", .boolean, "whether the run passed") { $0.passed }
    Field(confirmed: "verdict", .text, "`passed`, `failed`, `stopped` or `empty`") { $0.verdict.word }
    Field("ending", \.ending, .bounded, "how it ended", isRequired: true)
    Field("runs", \.runs, .tally, "number of runs merged into the report", isRequired: true)
    Field("plan", \.plan, .object(Plan.format), "what was done", isRequired: true)
    Field("measuredNanoseconds", \.measured, .nanoseconds, "how long was measured", isRequired: true)
    Field(derived: "bytesPerSecond", .figure, "payload bytes per second in one direction") { $0.bytesPerSecond }
    Field(derived: "burstsPerSecond", .figure, "bursts a second") { $0.burstsPerSecond }
    countFields.map { Field($0.name, $0.path, .tally, "", isRequired: true) }
    Field(
      "latency", \.latency, .histogram, "the time from when a burst was due until it was complete", isRequired: true)
    Field("service", \.service, .histogram, "with a rate: the time from when a burst began until it was complete")
    Field("series", \.series, .series, "what happened when", isRequired: true)
    Field("errors", \.errors, .errors, "what went wrong", isRequired: true)
    Field(
      "mismatches", \.mismatches, .object(mismatches), "errors in the returned bytes, by kind",
      isAlwaysWritten: true)
    Field("sites", \.sites, .list(of: .object(Site.format), count: 0...mostSites), "each accessory", isRequired: true)
    Field("made", \.made, .object(Making.format), "when, where and how", isAlwaysWritten: true)
    Field("startedNanoseconds", \.started, .instant, "when bursts began", isAlwaysWritten: true)
    Field(
      "warmUpNanoseconds", \.warmUpTime, .nanoseconds, "how long bursts were sent before measuring began",
      isAlwaysWritten: true)
    Field(
      "phases", \.phases, .list(of: .object(PhaseTally.format), count: 0...50), "the phases of the plan",
      isAlwaysWritten: true)
    Field("sizes", \.sizes, .sizeHistogram, "the sizes of completed bursts", isAlwaysWritten: true)
    Field(
      "payloads", \.payloads, .list(of: .object(PayloadTally.format), count: 0...1_000),
      "the payloads or requests of the plan", isAlwaysWritten: true)
    Field("latencyMap", \.map, .latencyMap, "durations of bursts over time", isAlwaysWritten: true)
    Field("allowsOverdue", \.allowsOverdue, .boolean, "whether overdue bursts were allowed", isAlwaysWritten: true)
    Field("allowsLost", \.allowsLost, .boolean, "whether lost bursts were allowed", isAlwaysWritten: true)
    Field("allowsEmpty", \.allowsEmpty, .boolean, "whether an empty run was allowed", isAlwaysWritten: true)
    Field("failIf", \.limits, .list(of: .limit, count: 0...mostLimits), "when the run fails", isAlwaysWritten: true)
    Field("shards", \.shards, .shards, "the shards in the report; absent for a whole run")
    Field("start", \.start, .optional(.object(Start.format)), "when bursts began, for runs that start at the same time")
    Field(derived: "checks", .list(of: .object(ReportCheck.format)), "the checks made besides verifying bytes") {
      $0.checks
    }
    Field(derived: "reasons", .list(of: .bounded), "why the run did not pass") { $0.reasons }
  }.checked { report, object in
    if report.counted == nil {
      object.problems.error(at: object.tree.position, "the counts of the report add up to more than \(CountSum.most)")
    } else {
      for (key, text) in report.contradictions { object.error(key, text) }
      ReportCheck.compare(report.checks, with: object, under: "checks")
    }
  }

  /// The counts that ``add(_:)`` adds up, and their names in files.
  static let countFields: [(name: String, path: Property<BurstReport, Int>)] = [
    ("begun", \.begun), ("warmUp", \.warmUp), ("completed", \.completed), ("lost", \.lost), ("overdue", \.overdue),
    ("bytes", \.bytes), ("unaskedBytes", \.unaskedBytes), ("reconnections", \.reconnections),
  ]

  static let mostLimits = 1_000

  private static let mismatches = Record("mismatches", "the number of each", [StreamFinding.Kind: Int]()) {
    StreamFinding.Kind.allCases.map { Field($0.rawValue, \.[$0], .optional(.tally), "") }
  }
}

extension BurstReport.Making {
  fileprivate static let format = Record("made", "when, where and how the run was made", Self()) {
    Field("date", \.date, .bounded, "when it started", isAlwaysWritten: true)
    Field("host", \.host, .bounded, "the machine", isAlwaysWritten: true)
    Field("program", \.program, .bounded, "the program and its version", isAlwaysWritten: true)
    Field("command", \.command, .bounded, "the command line", isAlwaysWritten: true)
  }
}

extension BurstReport.Start {
  fileprivate static let format = Record("start", "when bursts began", Self()) {
    Field("plannedMicroseconds", \.planned, .microseconds, "the time of `--start-at`, since 1970", isRequired: true)
    Field("firstMicroseconds", \.first, .microseconds, "when the first run began", isRequired: true)
    Field("lastMicroseconds", \.last, .microseconds, "when the last run began", isRequired: true)
    Field(
      "clockErrorMicroseconds", \.clockError, .optional(.microseconds),
      "the largest error of a synchronized clock, as estimated by its kernel")
    Field(
      "unsynchronized", \.unsynchronized, .tally, "number of clocks that are not synchronized", isAlwaysWritten: true)
  }.checked { start, object in
    if start.last < start.first { object.error("lastMicroseconds", "is before firstMicroseconds") }
  }
}

extension BurstReport.PhaseTally {
  fileprivate static let format = Record("phase", "a phase", Self()) {
    Field("name", \.name, .bounded, "its name", isAlwaysWritten: true)
    Field("fromNanoseconds", \.from, .nanoseconds, "when it began", isAlwaysWritten: true)
    Field("nanoseconds", \.length, .nanoseconds, "how long it took", isAlwaysWritten: true)
    Field("pace", \.pace, .bounded, "the requested rate", isAlwaysWritten: true)
    Field("completed", \.completed, .tally, "bursts completed and measured", isAlwaysWritten: true)
    Field(
      "latency", \.latency, .histogram, "the time from when a burst was due until it was complete", isRequired: true)
  }
}

extension BurstReport.PayloadTally {
  fileprivate static let format = Record("payload tally", "the bursts of one payload", Self()) {
    Field("name", \.name, .bounded, "its name", isAlwaysWritten: true)
    Field("completed", \.completed, .tally, "bursts completed and measured", isAlwaysWritten: true)
    Field("bytes", \.bytes, .tally, "bytes of them", isAlwaysWritten: true)
    Field(
      "latency", \.latency, .histogram, "the time from when a burst was due until it was complete", isRequired: true)
  }
}

extension BurstReport.Site.SessionTally {
  fileprivate static let format = Record("session", "a session", Self()) {
    Field("completed", \.completed, .tally, "bursts completed and measured", isAlwaysWritten: true)
    Field("lost", \.lost, .tally, "bursts lost", isAlwaysWritten: true)
    Field("errors", \.errors, .tally, "what went wrong", isAlwaysWritten: true)
    Field("nanoseconds", \.time, .tally, "the sum of the latencies", isAlwaysWritten: true)
    Field("longestNanoseconds", \.longest, .tally, "the longest latency", isAlwaysWritten: true)
  }
}

extension Format<BurstLimit> {
  /// A limit as written by users.
  public static let limit = parsed(
    .text(TextShape("limit")), expected: "a limit such as 'p99>50ms'", throwing: { try BurstLimit($0) },
    text: \.description)
}

extension BurstReport.Site {
  fileprivate static let format = Record("site", "an accessory", Self()) {
    Field("name", \.name, .bounded, "its address, as given", isRequired: true)
    Field("accessory", \.accessory, .bounded, "what it is called", isRequired: true)
    Field("serial", \.serial, .bounded, "its serial number", isRequired: true)
    Field(
      "attachments", \.attachments, .list(of: .object(Attachment.format), count: 0...attachmentLimit),
      "the accessory's connections, in order",
      isRequired: true)
    Field("moreAttachments", \.more, .tally, "number of connections that are not listed", isRequired: true)
    Field("link", \.link, .object(LinkCounters.format), "what its links did", isRequired: true)
    Field("manufacturer", \.manufacturer, .bounded, "who made it", isAlwaysWritten: true)
    Field("model", \.model, .bounded, "its model", isAlwaysWritten: true)
    Field("firmware", \.firmware, .bounded, "its firmware version", isAlwaysWritten: true)
    Field(derived: "transport", .bounded, "the kind of connection") { $0.transport }
    Field(
      "sessions", \.sessions, .list(of: .object(SessionTally.format), count: 0...sessionLimit), "its sessions",
      isAlwaysWritten: true)
  }
}

extension BurstReport.Site.Attachment {
  fileprivate static let format = Record(
    "attachment", "", Self(connectionID: 0, offeredProtocols: false, from: .origin)
  ) {
    Field("connectionID", \.connectionID, .tally, "the publication's connection ID", isRequired: true)
    Field("offeredProtocols", \.offeredProtocols, .boolean, "whether it offered protocols", isRequired: true)
    Field("fromNanoseconds", \.from, .instant, "when it appeared", isRequired: true)
    Field("toNanoseconds", \.lastSeen, .instant, "when it disappeared", isRequired: true)
    Field("end", \.end, .bounded, "why it ended", isRequired: true)
    Field("completed", \.completed, .tally, "bursts completed with it", isRequired: true)
    Field("lost", \.lost, .tally, "bursts lost with it", isRequired: true)
  }

  private var lastSeen: Instant {
    get { to ?? from }
    set { to = newValue }
  }
}

extension LinkCounters {
  /// The link counters that reports contain, and their names in files.
  static let reportFields: [(name: String, path: Property<LinkCounters, Int>, meaning: String)] = [
    ("packetsSent", \.packetsSent, "Packets sent, including retransmissions and bare acknowledgements."),
    ("packetsReceived", \.packetsReceived, "Packets received with correct checksums."),
    ("retransmissions", \.retransmissions, "Packets retransmitted because no acknowledgement arrived in time."),
    ("hastened", \.hastened, "Packets retransmitted early because the other end reported a gap."),
    ("duplicates", \.duplicates, "Packets received a second time."),
    ("ahead", \.ahead, "Packets received after a missing one."),
    ("outside", \.outside, "Packets received outside the window."),
    ("spoiled", \.spoiled, "Packets received with a wrong payload checksum."),
    ("refused", \.refused, "Packets dropped because their session was full."),
    ("skippedBytes", \.skippedBytes, "Bytes received outside packets."),
    ("acknowledgementsSent", \.acknowledgementsSent, "Acknowledgements sent in separate packets."),
    ("windowStalls", \.windowStalls, "Number of times a packet waited for a full window."),
    ("sequenceWraps", \.sequenceWraps, "Number of times the packet number wrapped from 255 to 0."),
    (
      "withholdings", \.withholdings,
      "Number of times acknowledgements were withheld because a session's bytes were not read."
    ),
    ("giveUps", \.giveUps, "Links given up because a packet was never acknowledged."),
    ("establishments", \.establishments, "Links established: one for each attachment."),
  ]

  fileprivate static let format = Record("link", "counters of a link", LinkCounters()) {
    reportFields.map { Field($0.name, $0.path, .tally, $0.meaning, isRequired: true) }
  }
}

// MARK: - Values

extension Format<Int> {
  /// The latest possible time is in the year 2112, so that sums and differences in nanoseconds do not overflow.
  fileprivate static let microseconds = integer(0...1 << 52)
}

extension Format<String> {
  /// easim itself never writes a longer string. The limit is needed because a merged report shows strings from many
  /// reports.
  static let bounded = Format(.text(TextShape(length: 0...longest))) { value, place in
    guard case .text(let text) = value.content else { return place.expected("text", value) }
    if text.utf8.count <= longest { return text }
    place.error(value, "expected text of at most \(longest) bytes, found \(text.utf8.count)")
    return nil
  } write: {
    .text($0)
  }

  private static let longest = 10_000
}

extension Format<Double> {
  /// A measured figure. A whole number such as 5 is written with a decimal place, as 5.0.
  fileprivate static let figure = Format(.number(0...Double.greatestFiniteMagnitude)) { value, place in
    if case .number(let number) = value.content { number.value } else { place.expected("a number", value) }
  } write: {
    JSON5Value(.number(JSON5Number(spelling: "\($0)", value: $0, integer: nil)))
  }
}

private struct ErrorEntry: Equatable {
  var kind = BurstReport.ErrorKind.lost
  var tally = BurstReport.ErrorTally()

  static let format = Record("error", "errors of one kind", ErrorEntry()) {
    Field("kind", \.kind, .choice, "which kind", isRequired: true)
    Field("count", \.tally.count, .tally, "how many", isRequired: true)
    Field("first", \.tally.first, .bounded, "the description of the first error", isRequired: true)
  }
}

extension Format<[BurstReport.ErrorKind: BurstReport.ErrorTally]> {
  fileprivate static let errors: Format = Format<[ErrorEntry]>.list(of: .object(ErrorEntry.format)).map { entries in
    Dictionary(entries.map { ($0.kind, $0.tally) }, uniquingKeysWith: { $1 })
  } back: { errors in
    BurstReport.ErrorKind.allCases.compactMap { kind in errors[kind].map { ErrorEntry(kind: kind, tally: $0) } }
  }
}

/// A histogram in a report, with figures for human readers and counts for ``Histogram/merge(_:)``. Each count is stored
/// with the lowest value of its step.
private struct HistogramSection: Equatable {
  var shown = Histogram()
  var total = 0
  var minimum: Int?
  var maximum: Int?
  var counts: [[Int]] = []

  static let format = format("histogram", "how long bursts took", unit: "ns")
  static let sizeFormat = format("size histogram", "how large bursts were", unit: "bytes")

  private static func format(_ name: String, _ summary: String, unit: String) -> Record<Self> {
    Record(name, summary, HistogramSection()) {
      Field(derived: "unit", .text, "the unit of the values") { _ in unit }
      Field("total", \.total, .tally, "how many values", isRequired: true)
      Field("min", \.minimum, .optional(.tally), "the least")
      Field("max", \.maximum, .optional(.tally), "the greatest")
      Field(derived: "mean", .figure, "the mean") { $0.shown.mean }
      Histogram.shownPercentiles.map { name, percentile in
        Field(derived: name, .tally, "a percentile") { $0.shown.value(atPercentile: percentile) }
      }
      Field(
        "counts", \.counts, .list(of: .list(of: .tally, count: 2...2)), "values, each with its number of occurrences",
        isRequired: true)
    }
  }

  init() {}

  init(_ histogram: Histogram) {
    (shown, total) = (histogram, histogram.total)
    (minimum, maximum) = (histogram.minimum, histogram.maximum)
    counts = histogram.steps.map { [$0.lowest, $0.count] }
  }

  var histogram: Histogram? {
    // Counts that could not be read are missing from the list, and have already been reported as errors.
    guard counts.allSatisfy({ $0.count == 2 }) else { return nil }
    let histogram = Histogram(steps: counts.map { ($0[0], $0[1]) }, minimum: minimum, maximum: maximum)
    return histogram?.total == total ? histogram : nil
  }
}

extension Format<Histogram> {
  fileprivate static let histogram = histogram(HistogramSection.format)
  fileprivate static let sizeHistogram = histogram(HistogramSection.sizeFormat)

  private static func histogram(_ section: Record<HistogramSection>) -> Format {
    section.format.map {
      $0.histogram
    } otherwise: {
      "the counts, their total, the minimum and the maximum contradict each other"
    } back: {
      HistogramSection($0)
    }
  }
}

extension Histogram {
  static let shownPercentiles = [("p50", 50.0), ("p90", 90), ("p99", 99), ("p99.9", 99.9)]
}

private struct MapSection: Equatable {
  var length = LatencyMap.finest
  var cells: [[Int]] = []

  static let format = Record("latency map", "number of bursts by duration and time", MapSection()) {
    Field("sliceNanoseconds", \.length, .nanoseconds, "duration of a column", isAlwaysWritten: true)
    Field(
      "cells", \.cells, .list(of: .list(of: .tally, count: 3...3)), "the column, row and count of each cell",
      isAlwaysWritten: true)
  }
}

extension Format<LatencyMap> {
  fileprivate static let latencyMap: Format = MapSection.format.format.map {
    LatencyMap(length: $0.length, cells: $0.cells)
  } otherwise: {
    "the latency map contradicts itself"
  } back: { map in
    MapSection(length: map.length, cells: map.cells)
  }
}

private struct SeriesSection: Equatable {
  var length = ThroughputSeries.finest
  var slices: [[Int]] = []
  var flow: [[Int]] = []

  static let format = Record("series", "the events in each time slice", SeriesSection()) {
    Field("sliceNanoseconds", \.length, .nanoseconds, "duration of a slice", isRequired: true)
    Field(
      "slices", \.slices, .list(of: .list(of: .tally, count: 3...3)), "bursts, bytes and errors in each slice",
      isRequired: true)
    Field("flow", \.flow, .list(of: .list(of: .tally, count: 2...2)), "bytes sent and received in each slice")
  }
}

extension Format<ThroughputSeries> {
  fileprivate static let series: Format = SeriesSection.format.format.map { section in
    let pairs = zip(section.slices, section.flow)
    guard section.slices.count == section.flow.count, pairs.allSatisfy({ $0.count == 3 && $1.count == 2 }) else {
      return nil
    }
    let slices = pairs.map { events, flow in
      ThroughputSlice(bursts: events[0], bytes: events[1], errors: events[2], sent: flow[0], received: flow[1])
    }
    return ThroughputSeries(length: section.length, slices: slices)
  } otherwise: {
    "the time slices contradict each other"
  } back: { series in
    SeriesSection(
      length: series.length, slices: series.slices.map { [$0.bursts, $0.bytes, $0.errors] },
      flow: series.slices.map { [$0.sent, $0.received] })
  }
}
