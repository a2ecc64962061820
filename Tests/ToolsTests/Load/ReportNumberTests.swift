import AccessoryCore
import AccessoryFormats
import AccessoryRuns
import IAP2
import TestSupport
import Testing

@testable import AccessoryLoad

/// Whatever numbers a report file contains, reading the file yields either an error that names it or a report that can
/// be shown and merged.
@Suite struct ReportNumberTests {
  private func use(_ report: BurstReport) throws {
    #expect(!report.text.isEmpty)
    #expect(report.html.hasSuffix("</html>\n"))
    var compared = report
    _ = compared.compare(with: report, tolerance: 0.1)
    #expect(!compared.junit.isEmpty)
    #expect(!report.latency.percentileText(unit: 1_000).isEmpty)
    let again = try BurstReport(json: Array(report.json.text.utf8), file: "r.json")
    #expect(again.json.text == report.json.text)
    var sum = report
    do throws(ReportSumError) { try sum.add(again) } catch {
      #expect(error == .tooMuchCounted)
      #expect(sum == report)
      return
    }
    _ = try BurstReport(json: Array(sum.json.text.utf8), file: "r.json")
  }

  private func check(_ variants: [ExtremeNumbers.Variant]) throws -> (read: Int, refused: Int) {
    var counts = (read: 0, refused: 0)
    for variant in variants {
      let report: BurstReport
      do {
        report = try BurstReport(json: Array(variant.text.utf8), file: "r.json")
      } catch {
        counts.refused += 1
        #expect(error.problems.allSatisfy { $0.position?.file == "r.json" }, "\(variant): \(error)")
        continue
      }
      counts.read += 1
      try use(report)
    }
    return counts
  }

  /// A report with every kind of number and with a few entries in each list.
  private var small: BurstReport {
    var report = BurstReport(BurstPlan())
    (report.measured, report.completed, report.begun) = (.seconds(1), 2, 3)
    for value in [3, 900] {
      report.latency.record(value)
      report.service.record(value)
    }
    for time in [Duration.zero, .milliseconds(250)] {
      report.bytes += 10_000
      report.series.add(at: time) { ($0.bursts, $0.bytes) = (1, 10_000) }
    }
    report.addError(.different, 1, "byte 12")
    report.mismatches = [.lost: 1]
    var site = BurstReport.Site()
    site.attachments = [
      .init(connectionID: 1, offeredProtocols: true, from: .origin, to: Instant(nanoseconds: 9))
    ]
    report.sites = [site]
    return report
  }

  @Test func anyNumberGivesAnErrorOrAConsistentReport() throws {
    let text = small.json.text
    try use(BurstReport(json: Array(text.utf8), file: "r.json"))
    let one = try check(ExtremeNumbers.one(of: text, step: 4))
    #expect(one.read > 100 && one.refused > 100, "\(one)")
    // Each of these large numbers is valid by itself, but a sum of them may overflow.
    let large = ["72057594037927936", "72057594037927935", "36028797018963968", "7205759403792793"]
    _ = try check(ExtremeNumbers.several(of: text, count: 40, seed: 5, spellings: large))
  }

  private func report(counting count: Int) -> BurstReport {
    var report = BurstReport(BurstPlan())
    (report.begun, report.sites) = (count, [.init()])
    return report
  }

  @Test func sumsThatWouldOverflowAreRefusedAndNothingIsAdded() throws {
    let half = report(counting: CountSum.most / 2)
    var sum = half
    #expect(throws: ReportSumError.tooMuchCounted) { try sum.add(half) }
    #expect(sum == half)
    // Each report is also counted as one run.
    try sum.add(report(counting: CountSum.most / 2 - 2))
    #expect(sum.counted == CountSum.most)
    _ = try BurstReport(json: Array(sum.json.text.utf8), file: "r.json")
    #expect(throws: ReportSumError.tooMuchCounted) { try sum.add(report(counting: 0)) }
  }

  @Test func everyCountInAReportIsBounded() throws {
    let most = CountSum.most
    var reports: [BurstReport] = []
    func add(_ change: (inout BurstReport) -> Void) {
      var report = BurstReport(BurstPlan())
      change(&report)
      reports.append(report)
    }
    add { $0.runs = most }
    for field in BurstReport.countFields { add { $0[keyPath: field.path] = most } }
    add { $0.latency.record(1, times: most) }
    add { $0.service.record(1, times: most) }
    add { $0.series.add(at: .zero) { $0.bursts = most } }
    add { $0.series.add(at: .zero) { $0.bytes = most } }
    add { $0.series.add(at: .zero) { $0.errors = most } }
    add { $0.addError(.different, most, "") }
    add { $0.mismatches = [.lost: most] }
    add {
      $0.sites = [.init()]
      $0.sites[0].more = most
    }
    for path in LinkCounters.reportFields.map(\.path) {
      add {
        $0.sites = [.init()]
        $0.sites[0].link[keyPath: path] = most
      }
    }
    for report in reports {
      var sum = BurstReport(BurstPlan())
      #expect(throws: ReportSumError.tooMuchCounted) { try sum.add(report) }
      var one = report
      one.lost = max(1, one.lost)
      let error = #expect(throws: SourceProblems.self) {
        try BurstReport(json: Array(one.json.text.utf8), file: "r.json")
      }
      // Some of these counts also contradict others, which is no reason not to notice their sum.
      #expect(error?.problems.contains { "\($0)".contains("add up to more than") } == true)
    }
  }

  @Test func moreAccessoriesThanAreListedAreRefused() throws {
    var sum = BurstReport(BurstPlan())
    sum.sites = [BurstReport.Site](repeating: .init(), count: BurstReport.mostSites)
    var one = BurstReport(BurstPlan())
    one.sites = [.init()]
    #expect(throws: ReportSumError.self) { try sum.add(one) }
    // Entries are counted before they are read, so that a report with too many entries is refused early.
    try expectRefusal(
      "\"sites\":[]", "\"sites\":[\(zeros(10_001))]", "expected a list of at most 10000 elements, found 10001")
  }

  @Test func attachmentsBeyondTheMostAreCountedAndNotListed() throws {
    var site = BurstReport.Site()
    let attachment = BurstReport.Site.Attachment(connectionID: 1, offeredProtocols: true, from: .origin)
    site.attachments = .init(repeating: attachment, count: BurstReport.Site.attachmentLimit)
    var one = BurstReport(BurstPlan())
    one.sites = .init(repeating: site, count: 60)
    var sum = one
    try sum.add(one)
    #expect(sum.sites.count == 120)
    #expect(sum.sites.reduce(0) { $0 + $1.attachments.count } == BurstReport.mostAttachments)
    #expect(sum.sites.reduce(0) { $0 + $1.attachments.count + $1.more } == 120_000)
    try expectRefusal(
      "\"sites\":[]",
      #""sites":[{"name":"","accessory":"","serial":"","moreAttachments":0,"attachments":[\#(zeros(1_001))]}]"#,
      "expected a list of at most 1000 elements, found 1001")
  }

  /// A sum keeps running totals of its accessories, so that adding a report takes no longer as the sum grows.
  @Test func totalsOfAccessoriesAreThoseOfTheListAfterEachAdditionAndChange() throws {
    var sum = BurstReport(BurstPlan())
    for number in 0..<20 {
      var site = BurstReport.Site()
      (site.more, site.link.packetsSent, site.link.retransmissions) = (number % 3, 10 * number, number)
      site.sessions = .init(repeating: .init(), count: number % 4)
      for index in site.sessions.indices { (site.sessions[index].completed, site.sessions[index].errors) = (7, index) }
      site.attachments = .init(repeating: .init(connectionID: 1, offeredProtocols: true, from: .origin), count: 2)
      site.attachments[1].lost = 1
      var one = BurstReport(BurstPlan())
      one.sites = .init(repeating: site, count: 1 + number % 2)
      try sum.add(one)
      #expect(sum.list == SiteList(sum.sites))
    }
    #expect(sum.sites.count == 30 && sum.list.attachments == 60)
    #expect(sum.link.retransmissions == (0..<20).reduce(0) { $0 + $1 * (1 + $1 % 2) })
    sum.sites[5].link.retransmissions += 1_000
    sum.sites.removeLast(2)
    #expect(sum.list == SiteList(sum.sites))
  }

  private func zeros(_ count: Int) -> String { [String](repeating: "0", count: count).joined(separator: ",") }

  private func expectRefusal(_ part: String, _ other: String, _ message: String) throws {
    let text = BurstReport(BurstPlan()).json.text
    let changed = text.replacing(part, with: other)
    try #require(changed != text)
    let error = #expect(throws: SourceProblems.self) { try BurstReport(json: Array(changed.utf8), file: "r.json") }
    #expect(error?.problems.contains { $0.message == message } == true)
  }

  @Test func textsOfAReportAreBounded() throws {
    try expectRefusal(
      "\"ending\":\"\"", "\"ending\":\"\(String(repeating: "x", count: 10_001))\"",
      "expected text of at most 10000 bytes, found 10001")
  }

  @Test(arguments: [1 << 40, 1 << 53, 1 << 56, Int.max]) func percentileLinesEndForAnyTotal(total: Int) {
    #expect(Histogram.percentileLevels.count < 300)
    var histogram = Histogram()
    histogram.record(1, times: total - 1)
    histogram.record(1 << 40)
    let lines = histogram.percentileLines
    #expect(lines.count <= Histogram.percentileLevels.count + 1)
    #expect(lines.last == .init(value: 1 << 40, quantile: 1, count: total))
    for (line, next) in zip(lines, lines.dropFirst()) { #expect(line.quantile < next.quantile) }
    #expect(histogram.value(atPercentile: 100) == 1 << 40)
    #expect(!histogram.percentileText().isEmpty)
  }
}
