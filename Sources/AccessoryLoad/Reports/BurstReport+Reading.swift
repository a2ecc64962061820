import AccessoryCore
import AccessoryProfiles
import IAP2

extension BurstReport {
  /// More is no report of ours: two full histograms take 3 MB, and an accessory with all its attachments 0.2 MB.
  private static let limits = JSON5.Limits(bytes: 16 << 20, depth: 16)

  /// Reads a report that ``json`` wrote.
  ///
  /// - Throws: `SourceProblem`, with the place and what is wrong there.
  public init(json bytes: [UInt8], file: String) throws(SourceProblem) {
    let reader = ReportReader(value: try JSON5.read(bytes, file: file, limits: Self.limits))
    guard try reader.text("easim") == "burst report" else { throw reader.problem("this is no burst report of easim") }
    let version = try reader.count("version")
    guard version == Self.version else {
      throw reader.problem("the report has version \(version), and this easim reads version \(Self.version)")
    }
    let plan = try reader.member("plan")
    self.init(
      plan: Plan(
        size: try plan.count("size"), sessions: try plan.count("sessions"), inFlight: try plan.count("inFlight"),
        pace: try plan.text("pace"), verification: try plan.text("verification"),
        // What was written before bursts differed has none.
        pattern: plan.value["pattern"] == nil ? "fixed" : try plan.text("pattern"), faults: try plan.texts("faults")))
    passed = try reader.boolean("passed")
    ending = try reader.text("ending")
    runs = try reader.count("runs")
    measured = .nanoseconds(try reader.count("measuredNanoseconds"))
    for field in Self.countFields { self[keyPath: field.path] = try reader.count(field.name) }
    latency = try reader.member("latency").histogram()
    if reader.value["service"] != nil { service = try reader.member("service").histogram() }
    series = try reader.member("series").series()
    for entry in try reader.list("errors") {
      guard let kind = ErrorKind(rawValue: try entry.text("kind")) else {
        throw entry.problem("there is no such kind of error")
      }
      errors[kind] = ErrorTally(count: try entry.count("count"), first: try entry.text("first"))
    }
    if reader.value["mismatches"] != nil {
      let counts = try reader.member("mismatches")
      for kind in StreamFinding.Kind.allCases where counts.value[kind.rawValue] != nil {
        mismatches[kind] = try counts.count(kind.rawValue)
      }
    }
    let sites = try reader.member("sites")
    let entries = try sites.list()
    guard entries.count <= Self.mostSites else {
      throw sites.problem("expected at most \(Self.mostSites) accessories, found \(entries.count)")
    }
    self.sites = []
    for entry in entries { self.sites.append(try entry.site()) }
    if counted == nil { throw reader.problem("the counts of the report add up to more than \(Self.mostCounted)") }
  }
}

/// One value of a report's file, and its parts by name.
private struct ReportReader {
  let value: JSON5Value

  func problem(_ message: String) -> SourceProblem { SourceProblem(at: value.position, message) }

  func member(_ key: String) throws(SourceProblem) -> ReportReader {
    guard let member = value[key] else { throw problem("'\(key)' is missing") }
    return ReportReader(value: member)
  }

  func text(_ key: String) throws(SourceProblem) -> String { try member(key).text() }

  func text() throws(SourceProblem) -> String {
    guard case .text(let text) = value.content else { throw problem("expected text, found \(value.summary)") }
    guard text.utf8.count <= Self.longestText else {
      throw problem("expected text of at most \(Self.longestText) bytes, found \(text.utf8.count)")
    }
    return text
  }

  func texts(_ key: String) throws(SourceProblem) -> [String] {
    var texts: [String] = []
    for entry in try list(key) { texts.append(try entry.text()) }
    return texts
  }

  func boolean(_ key: String) throws(SourceProblem) -> Bool {
    let member = try member(key)
    guard case .boolean(let boolean) = member.value.content else {
      throw member.problem("expected true or false, found \(member.value.summary)")
    }
    return boolean
  }

  /// Longer texts are none of ours, and the texts of many reports are shown together.
  private static let longestText = 10_000
  private static let most = Int64(BurstReport.mostCounted)

  func count(_ key: String) throws(SourceProblem) -> Int { try member(key).count() }

  func count() throws(SourceProblem) -> Int {
    guard case .number(let number) = value.content, let count = number.integer, 0...Self.most ~= count else {
      throw problem("expected a count from 0 to \(Self.most), found \(value.summary)")
    }
    return Int(count)
  }

  func list(_ key: String) throws(SourceProblem) -> [ReportReader] { try member(key).list() }

  func list() throws(SourceProblem) -> [ReportReader] {
    guard case .array(let values) = value.content else { throw problem("expected a list, found \(value.summary)") }
    return values.map(ReportReader.init)
  }

  /// A list of so many counts.
  func counts(_ number: Int) throws(SourceProblem) -> [Int] {
    let list = try list()
    guard list.count == number else { throw problem("expected \(number) counts, found \(list.count)") }
    var counts: [Int] = []
    for entry in list { counts.append(try entry.count()) }
    return counts
  }

  func histogram() throws(SourceProblem) -> Histogram {
    var steps: [(value: Int, count: Int)] = []
    var total = 0
    for entry in try list("counts") {
      let pair = try entry.counts(2)
      guard pair[1] <= BurstReport.mostCounted - total else {
        throw entry.problem("the counts up to here add up to more than \(BurstReport.mostCounted)")
      }
      total += pair[1]
      steps.append((pair[0], pair[1]))
    }
    let minimum = value["min"] == nil ? nil : try count("min")
    let maximum = value["max"] == nil ? nil : try count("max")
    guard let histogram = Histogram(steps: steps, minimum: minimum, maximum: maximum),
      histogram.total == (try count("total"))
    else { throw problem("the counts, their total, and the least and greatest values do not agree") }
    return histogram
  }

  func series() throws(SourceProblem) -> ThroughputSeries {
    var slices: [ThroughputSeries.Slice] = []
    for entry in try list("slices") {
      let counts = try entry.counts(3)
      var slice = ThroughputSeries.Slice()
      (slice.bursts, slice.bytes, slice.errors) = (counts[0], counts[1], counts[2])
      slices.append(slice)
    }
    guard let series = ThroughputSeries(length: .nanoseconds(try count("sliceNanoseconds")), slices: slices) else {
      throw problem("there can be no such slices of time")
    }
    return series
  }

  func site() throws(SourceProblem) -> BurstReport.Site {
    var site = BurstReport.Site()
    site.name = try text("name")
    site.accessory = try text("accessory")
    site.serial = try text("serial")
    site.more = try count("moreAttachments")
    let attachments = try member("attachments")
    let entries = try attachments.list()
    guard entries.count <= BurstReport.Site.attachmentLimit else {
      throw attachments.problem(
        "expected at most \(BurstReport.Site.attachmentLimit) attachments, found \(entries.count)")
    }
    for entry in entries {
      site.attachments.append(
        .init(
          connectionID: try entry.count("connectionID"), offeredProtocols: try entry.boolean("offeredProtocols"),
          from: Instant(nanoseconds: Int64(try entry.count("fromNanoseconds"))),
          to: Instant(nanoseconds: Int64(try entry.count("toNanoseconds"))), end: try entry.text("end"),
          completed: try entry.count("completed"), lost: try entry.count("lost")))
    }
    let counters = try member("link")
    for field in LinkCounters.reportFields { site.link[keyPath: field.path] = try counters.count(field.name) }
    return site
  }
}
