import AccessoryCore
import AccessoryRuns
import IAP2

extension BurstReport {
  /// The report as text.
  ///
  /// ```
  /// 100 bursts of 10,000 bytes, echo verified byte for byte, in 0.412 s
  ///   throughput  2.43 MB/s each way   242.7 bursts/s
  ///   latency     min 3.02 ms   mean 4.11 ms   p50 4.02 ms   p90 …
  /// ```
  public var text: String {
    var lines = ["\(headline), in \(FixedText.text(measured.inSeconds, places: 3)) s"]
    func row(_ name: String, _ text: String) {
      lines.append("  \("\(name) ".padded(to: 12))\(text)")
    }
    row("plan", planText)
    let direction = plan.verification == "echo" ? " each way" : ""
    let rate = FixedText.text(burstsPerSecond, places: 1)
    row("throughput", "\(FixedText.rate(bytesPerSecond))\(direction)   \(rate) bursts/s")
    row("latency", Self.figures(latency))
    if service.total > 0 { row("service", Self.figures(service)) }
    row("link", linkText)
    if !shards.isComplete { row("part", shards.text) }
    if let start { row("began", start.text) }
    if runs > 1 { row("merged", "\(runs) runs") }
    if warmUp > 0 { row("warm-up", "\(FixedText.grouped(warmUp)) bursts before that, verified but not measured") }
    if overdue > 0 {
      row(
        "overdue", "\(FixedText.grouped(overdue)) bursts did not begin on time: \(faultCause ?? "the rate is too high")"
      )
    }
    if unaskedBytes > 0 { row("received", "\(FixedText.grouped(unaskedBytes)) bytes that were not verified") }
    if reconnections > 0 { row("reconnected", "\(reconnections) times") }
    for site in sites where sites.count > 1 || site.attachments.count > 1 { lines += site.lines }
    for kind in ErrorKind.allCases {
      if let tally = errors[kind] { row(kind.title, "\(FixedText.grouped(tally.count)); the first: \(tally.first)") }
    }
    if let text = mismatchText { row("mismatches", text) }
    for phase in phases {
      row("phase", "\(phase.pace): \(phase.completed.counted("burst")), \(Self.figures(phase.latency))")
    }
    for (payload, text) in zip(payloads, plan.bursts) {
      row("payload", "\(text): \(payload.completed.counted("burst")), \(Self.figures(payload.latency))")
    }
    if sizes.minimum != sizes.maximum { row("sizes", Self.sizeFigures(sizes)) }
    for limit in judgedLimits { row("goal", limit.check(self).line) }
    let verdict = verdict
    if case .stopped = verdict {
      row("ended", verdict.reasons.joined())
    } else {
      row("ended", "\(ending)\(verdict.isPassed ? "" : " (\(verdict.word))")")
      for reason in verdict.reasons { row(verdict.word, reason) }
    }
    if let advice { row("try", advice) }
    if let comparison { lines.append(comparison.text) }
    return lines.joined(separator: "\n")
  }

  /// A headline such as "100 bursts of 10,000 bytes, echo verified byte for byte".
  public var headline: String {
    let bursts = completed == 1 ? "1 burst" : "\(FixedText.grouped(completed)) bursts"
    var text = "\(bursts) of \(plan.sizeText), \(verified)"
    if lost > 0 { text += ", \(FixedText.grouped(lost)) lost" }
    return text
  }

  var verified: String {
    switch plan.verification {
    case "none":
      "delivery only (acknowledged by the link, or accepted by native transport's endpoints)"
    case "echo" where plan.pattern == "unique": "echo verified byte for byte"
    case "echo" where plan.pattern == "eademo": "EADemo's pattern came back"
    case "echo" where plan.pattern == "mixed": "echo verified"
    case "echo": "the same bytes came back each time"
    default: "\(plan.verification) verified"
    }
  }

  /// What was wrong with the returned bytes, such as "2 lost, 1 repeated", or nil if all bytes were correct.
  var mismatchText: String? {
    let parts = StreamFinding.Kind.allCases.compactMap { kind in
      mismatches[kind].map { "\(FixedText.grouped($0)) \(kind.rawValue)" }
    }
    return parts.isEmpty ? nil : parts.joined(separator: ", ")
  }

  var planText: String {
    var text = "\(plan.pace), \(plan.sessions.counted("session"))"
    text += sites.count > 1 ? " to each of \(sites.count) accessories" : ""
    text += ", \(plan.inFlight) in flight"
    if !plan.think.isEmpty { text += ", think time \(plan.think)" }
    if !plan.shares.isEmpty { text += ", rates of accessories: \(plan.shares.joined(separator: ", "))" }
    return plan.faults.isEmpty ? text : "\(text), faults: \(plan.faults.joined(separator: "; "))"
  }

  static func figures(_ histogram: Histogram) -> String {
    let figures = histogram.shownFigures.map { "\($0.name) \(FixedText.time($0.value))" }
    return figures.isEmpty ? "nothing measured" : figures.joined(separator: "   ")
  }

  /// Formats sizes, such as "min 10 mean 512 p50 480 p99 1,990 max 2,000 bytes".
  static func sizeFigures(_ sizes: Histogram) -> String {
    sizes.shownFigures.map { "\($0.name) \(FixedText.grouped(Int($0.value.rounded())))" }.joined(separator: "   ")
      + " bytes"
  }

  private var linkText: String {
    let link = link
    var text = "\(FixedText.grouped(link.packetsSent)) packets sent, "
    text += "\(FixedText.grouped(link.packetsReceived)) received"
    for (count, what) in [
      (link.retransmissions, "repeated"), (link.hastened, "repeated early"), (link.duplicates, "arrived twice"),
      (link.ahead, "arrived after a missing packet"), (link.spoiled, "spoiled"), (link.outside, "outside the window"),
      (link.skippedBytes, "bytes of no packet"), (link.giveUps, "given up"),
    ] where count > 0 {
      text += ", \(FixedText.grouped(count)) \(what)"
    }
    return text
  }
}

extension BurstReport.ErrorKind {
  var title: String {
    self == .timedOut ? "timed out" : rawValue
  }
}

extension BurstReport.Site {
  /// Describes an accessory and its attachments, with one attachment per line. If there are many attachments, only the
  /// first and last ones are described.
  fileprivate var lines: [String] {
    let shown = attachments.count > 12 ? Array(attachments.prefix(6) + attachments.suffix(6)) : attachments
    var lines = ["  \(name): \(accessory) (\(serial))"]
    for (index, attachment) in shown.enumerated() {
      if attachments.count > 12, index == 6 { lines.append("    … \(attachments.count - 12) more …") }
      let from = FixedText.text(attachment.from.seconds, places: 3)
      let to = FixedText.text((attachment.to ?? attachment.from).seconds, places: 3)
      let offer = attachment.offeredProtocols ? "" : ", no protocols"
      let bursts = "\(attachment.completed) completed, \(attachment.lost) lost"
      lines.append("    \(from) s to \(to) s: \(bursts)\(offer) (\(attachment.end))")
    }
    if more > 0 { lines.append("    \(more) more, not listed individually") }
    return lines
  }
}
