import AccessoryCore

extension CheckReport {
  /// Changes when reports of an older easim could not be read.
  static let version = 1

  /// The report as one object.
  public var json: JSONObject {
    var object = JSONObject()
    object.add("easim", "check report")
    object.add("version", Self.version)
    object.add("place", place)
    if let accessory { object.add("accessory", accessory.json) }
    object.add("seconds", time.inSeconds)
    object.add("attachments", attachments)
    object.add("ending", ending.text)
    let counts = counts
    object.add("held", counts.held)
    object.add("findings", counts.findings)
    object.add("skipped", counts.skipped)
    object.add("cases", raw: "[\(results.map(\.json.text).joined(separator: ","))]")
    if let hostile { object.add("hostile", hostile.json) }
    return object
  }
}

extension CheckReport.Ending {
  /// One word, and the reason.
  public var text: String {
    switch self {
    case .complete: "complete"
    case .stopped: "stopped"
    case .gone(let reason): "gone: \(reason)"
    }
  }
}

extension CheckReport.Accessory {
  fileprivate var json: JSONObject {
    var object = JSONObject()
    object.add("name", name)
    object.add("manufacturer", manufacturer)
    object.add("model", model)
    object.add("serial", serial)
    object.add("firmware", firmware)
    object.add("hardware", hardware)
    object.add("protocols", protocols)
    return object
  }
}

extension CheckResult {
  /// The result as one object: a line of `--json`, and an entry of a report.
  public var json: JSONObject {
    var object = JSONObject()
    object.add("number", rule.number)
    object.add("name", rule.name)
    object.add("sentence", rule.sentence)
    object.add("sources", rule.sources.map(\.description))
    object.add("severity", rule.severity.rawValue)
    object.add("seconds", time.inSeconds)
    switch outcome {
    case .held: object.add("result", "held")
    case .skipped(let reason):
      object.add("result", "skipped")
      object.add("reason", reason)
    case .finding(let finding):
      object.add("result", "finding")
      object.add("text", finding.text)
      object.add("fix", rule.fix)
      object.add("packets", raw: "[\(finding.proof.map(\.json.text).joined(separator: ","))]")
    }
    return object
  }
}

extension CheckProof {
  fileprivate var json: JSONObject {
    var object = JSONObject()
    object.add("seconds", time.inSeconds)
    object.add("from", direction.rawValue)
    object.add("text", text)
    object.add("bytes", Hex.plain(bytes))
    object.add("length", length)
    object.add("marks", raw: "[\(marks.map { "[\($0.lowerBound),\($0.upperBound)]" }.joined(separator: ","))]")
    return object
  }
}
