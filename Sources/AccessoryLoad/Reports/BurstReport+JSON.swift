import AccessoryCore
import IAP2

extension BurstReport {
  /// The report as one object of JSON, on one line. ``init(json:)`` reads it back to the same value.
  public var json: JSONObject {
    var object = JSONObject()
    object.add("easim", "burst report")
    object.add("version", Self.version)
    object.add("passed", passed)
    object.add("ending", ending)
    object.add("runs", runs)
    object.add("plan", planJSON)
    object.add("measuredNanoseconds", Int(measured.wholeNanoseconds))
    object.add("bytesPerSecond", bytesPerSecond)
    object.add("burstsPerSecond", burstsPerSecond)
    for field in Self.countFields { object.add(field.name, self[keyPath: field.path]) }
    object.add("latency", latency.json)
    if service.total > 0 { object.add("service", service.json) }
    object.add("series", seriesJSON)
    object.add("errors", raw: Self.list(ErrorKind.allCases.compactMap(errorJSON)))
    object.add("mismatches", mismatchesJSON)
    object.add("sites", raw: Self.list(sites.map(\.json)))
    return object
  }

  /// The counts of a report and the names they are written under.
  static var countFields: [(name: String, path: WritableKeyPath<BurstReport, Int>)] {
    [
      ("begun", \.begun), ("warmUp", \.warmUp), ("completed", \.completed), ("lost", \.lost), ("overdue", \.overdue),
      ("bytes", \.bytes), ("unaskedBytes", \.unaskedBytes), ("reconnections", \.reconnections),
    ]
  }

  static func list(_ objects: [JSONObject]) -> String {
    "[\(objects.map(\.text).joined(separator: ","))]"
  }

  private var planJSON: JSONObject {
    var object = JSONObject()
    object.add("size", plan.size)
    object.add("sessions", plan.sessions)
    object.add("inFlight", plan.inFlight)
    object.add("pace", plan.pace)
    object.add("verification", plan.verification)
    object.add("pattern", plan.pattern)
    object.add("faults", plan.faults)
    return object
  }

  private var seriesJSON: JSONObject {
    var object = JSONObject()
    object.add("sliceNanoseconds", Int(series.length.wholeNanoseconds))
    let slices = series.slices.map { "[\($0.bursts),\($0.bytes),\($0.errors)]" }
    object.add("slices", raw: "[\(slices.joined(separator: ","))]")
    return object
  }

  private var mismatchesJSON: JSONObject {
    var object = JSONObject()
    for kind in StreamFinding.Kind.allCases {
      if let count = mismatches[kind] { object.add(kind.rawValue, count) }
    }
    return object
  }

  private func errorJSON(_ kind: ErrorKind) -> JSONObject? {
    guard let tally = errors[kind] else { return nil }
    var object = JSONObject()
    object.add("kind", kind.rawValue)
    object.add("count", tally.count)
    object.add("first", tally.first)
    return object
  }
}

extension Histogram {
  /// The figures for people, and the counts from which ``merge(_:)`` goes on: pairs of the lowest value of a step and how
  /// often it came.
  var json: JSONObject {
    var object = JSONObject()
    object.add("unit", "ns")
    object.add("total", total)
    if let minimum { object.add("min", minimum) }
    if let maximum { object.add("max", maximum) }
    object.add("mean", mean)
    for (name, percentile) in Self.shownPercentiles { object.add(name, value(atPercentile: percentile)) }
    object.add("counts", raw: "[\(steps.map { "[\($0.lowest),\($0.count)]" }.joined(separator: ","))]")
    return object
  }

  /// The percentiles that every report shows.
  static let shownPercentiles = [("p50", 50.0), ("p90", 90), ("p99", 99), ("p99.9", 99.9)]
}

extension BurstReport.Site {
  var json: JSONObject {
    var object = JSONObject()
    object.add("name", name)
    object.add("accessory", accessory)
    object.add("serial", serial)
    object.add("attachments", raw: BurstReport.list(attachments.map(\.json)))
    object.add("moreAttachments", more)
    var counters = JSONObject()
    for field in LinkCounters.reportFields { counters.add(field.name, link[keyPath: field.path]) }
    object.add("link", counters)
    return object
  }
}

extension BurstReport.Site.Attachment {
  var json: JSONObject {
    var object = JSONObject()
    object.add("connectionID", connectionID)
    object.add("offeredProtocols", offeredProtocols)
    object.add("fromNanoseconds", Int(from.nanoseconds))
    object.add("toNanoseconds", Int((to ?? from).nanoseconds))
    object.add("end", end)
    object.add("completed", completed)
    object.add("lost", lost)
    return object
  }
}

extension LinkCounters {
  /// The counters that reports show, under the names they are written.
  static var reportFields: [(name: String, path: WritableKeyPath<LinkCounters, Int>)] {
    [
      ("packetsSent", \.packetsSent), ("packetsReceived", \.packetsReceived), ("retransmissions", \.retransmissions),
      ("hastened", \.hastened), ("duplicates", \.duplicates), ("ahead", \.ahead), ("outside", \.outside),
      ("spoiled", \.spoiled), ("refused", \.refused), ("skippedBytes", \.skippedBytes),
      ("acknowledgementsSent", \.acknowledgementsSent), ("windowStalls", \.windowStalls),
      ("sequenceWraps", \.sequenceWraps), ("withholdings", \.withholdings), ("giveUps", \.giveUps),
      ("establishments", \.establishments),
    ]
  }
}
