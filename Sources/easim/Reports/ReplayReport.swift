import AccessoryCaptures
import AccessoryFormats
import AccessoryReplay
import AccessoryRuns

struct ReplayReport: Equatable {
  struct Row: Equatable, Sendable {
    var number = 0
    var protocolName = ""
    var isPlayed = false
    var received = 0
    var masked = 0
    var text = ""
    var offset: Int?
    var packet: Int?
    var contextOffset: Int?
    var expected: [UInt8]?
    var got: [UInt8]?

    var passed: Bool { isPlayed && offset == nil }

    static let asRecorded = "as recorded"
  }

  var file = ""
  var role = Recording.End.accessory
  var stoppedBy: String?
  var allowsEmpty = false
  var rows: [Row] = []
  var strays: [String] = []

  init() {}

  init(
    file: String, role: Recording.End, recording: Recording, progress: ReplayProgress, stoppedBy: String?,
    allowsEmpty: Bool
  ) {
    (self.file, self.role, self.stoppedBy, self.allowsEmpty) = (file, role, stoppedBy, allowsEmpty)
    strays = progress.differences.filter { $0.session == 0 }.map(\.description)
    rows = recording.sessions.map { session in
      let played = progress.sessions.first { $0.number == session.number }
      let difference = played?.difference ?? progress.differences.first { $0.session == session.number }
      let unplayed = stoppedBy.map { "not played: stopped by \($0)" } ?? "not played"
      return Row(
        number: session.number, protocolName: session.protocolName, isPlayed: played != nil,
        received: played?.received ?? 0, masked: played?.masked ?? 0,
        text: difference?.description ?? (played == nil ? unplayed : Row.asRecorded), offset: difference?.offset,
        packet: difference?.packet, contextOffset: difference?.contextOffset, expected: difference?.expected,
        got: difference?.got)
    }
  }

  private var difference: String? {
    let different = rows.filter { $0.offset != nil }
    return strays.first ?? (different.first { !$0.isPlayed } ?? different.first)?.text
  }

  private var compared: Int { rows.reduce(0) { $0 + $1.received - $1.masked } }

  private var isAsRecorded: Bool { strays.isEmpty && rows.allSatisfy(\.passed) }

  private var nothing: String? {
    if rows.isEmpty { return "the recording has no session" }
    let isMasked = isAsRecorded && compared == 0 && rows.contains { $0.masked > 0 }
    return isMasked ? "the mask covers every byte that arrived" : nil
  }

  private var playedText: String { "\(rows.count(where: \.isPlayed)) of \(rows.count.counted("session")) played" }

  var verdict: Verdict {
    if difference == nil, let nothing { return allowsEmpty ? .passed : .empty(nothing) }
    return Verdict(
      wrong: [difference].compactMap(\.self), stoppedBy: isAsRecorded ? nil : stoppedBy,
      gap: isAsRecorded ? nil : playedText, nothing: nil)
  }

  var headline: String {
    if let sentence = difference ?? nothing { return sentence }
    guard isAsRecorded else {
      return stoppedBy.map { "stopped by \($0); \(playedText)" } ?? playedText
    }
    return "\(rows.count.counted("session")) as recorded, \(compared.counted("byte")) compared"
  }
}

// MARK: - In every format

extension ReplayReport: Report {
  static let kind = "replay report"
  static let limits = JSON5.Limits(bytes: 16 << 20, depth: 16)

  static let format = Record(kind, "the result of a replay", ReplayReport()) {
    headerFields
    Field(derived: "v", .integer(1...1), "the version of this format") { _ in 1 }
    Field(derived: "report", .text, "what this is") { _ in "replay" }
    Field("file", \.file, .text, "the recording", isRequired: true)
    Field(
      "role", \.role, .words([Recording.End.accessory, .device].map { ($0.rawValue, $0) }), "the end that easim played",
      isRequired: true)
    verdictFields
    Field(derived: "text", .text, "the result in words") { $0.headline }
    Field(
      "sessions", \.rows, .list(of: .object(Row.format), count: 0...100_000), "the sessions of the recording",
      isRequired: true)
    Field(
      "differences", \.strays, .list(of: .text), "differences that belong to no session of the recording",
      isRequired: true)
    Field("ending", \.stoppedBy, .ending, "`complete`, or `stopped by` and a signal")
    Field("allowEmpty", \.allowsEmpty, .boolean, "whether the replay passes even if nothing was compared")
  }.checked { report, object in
    if Set(report.rows.map(\.number)).count != report.rows.count {
      object.error("sessions", "a session appears twice")
    }
  }

  var unfinished: String? { nil }
  var title: String { "easim replay: \(file), easim as the \(role == .accessory ? "accessory" : "Apple device")" }

  var text: String {
    (rows.flatMap { ["\($0.passed ? "✓" : "✗") session \($0.number) \($0.protocolName)  \($0.text)"] + $0.lines }
      + strays + [headline]).joined(separator: "\n")
  }

  var figures: [ReportFigure] {
    [
      ReportFigure("sessions", rows.count),
      ReportFigure("as recorded", rows.count(where: \.passed), moreIsBetter: true),
      ReportFigure("bytes compared", compared, moreIsBetter: true),
      ReportFigure("differences", rows.count { $0.offset != nil } + strays.count, moreIsBetter: false),
    ]
  }

  var suite: ReportSuite {
    var cases = rows.map { row in
      ReportCase(
        "replay", "session \(row.number) \(row.protocolName)",
        row.passed ? .passed : .failed(row.text, details: row.lines.joined(separator: "\n")),
        note: "\(row.text), \(row.received.counted("byte"))")
    }
    cases += strays.map { ReportCase("replay", "no further session", .failed($0)) }
    if let nothing {
      cases.append(ReportCase("replay", "sessions", allowsEmpty ? .skipped(nothing) : .failed(nothing)))
    }
    return ReportSuite("easim replay \(file)", time: .zero, cases)
  }

  mutating func add(_ other: ReplayReport) throws(ReportSumError) { throw .wholeRun }
}

extension ReplayReport.Row {
  fileprivate static let format = Record("session", "a session of the recording", Self()) {
    Field("session", \.number, .integer(0...Int.max), "its number", isRequired: true)
    Field("protocol", \.protocolName, .text, "its protocol", isRequired: true)
    Field("played", \.isPlayed, .boolean, "whether it was played", isRequired: true)
    Field(confirmed: "passed", .boolean, "whether everything matched the recording") { $0.passed }
    Field(
      "bytes", \.received, .integer(0...CountSum.most), "number of bytes that matched the recording", isRequired: true)
    Field("masked", \.masked, .integer(0...CountSum.most), "number of matched bytes that were masked, not compared")
    Field("text", \.text, .text, "the result in words", isRequired: true)
    Field("offset", \.offset, .optional(.integer(0...CountSum.most)), "the first byte that differs")
    Field(
      "packet", \.packet, .optional(.integer(0...Int.max)),
      "the packet of the recording that contains the expected byte")
    Field("contextOffset", \.contextOffset, .optional(.integer(0...CountSum.most)), "where these bytes begin")
    Field("expected", \.expected, .optional(.digits), "the recorded bytes, in hex")
    Field("got", \.got, .optional(.digits), "the bytes that arrived, in hex")
  }.checked { row, object in
    if row.masked > row.received {
      object.error("masked", "is \(row.masked), but \(row.received.counted("byte")) arrived")
    }
    if !row.isPlayed, row.received > 0 {
      object.error("bytes", "is \(row.received), but the session was not played")
    }
    if row.passed != (row.text == asRecorded) {
      object.error("text", "is '\(Excerpt.of(row.text))', but the session \(row.passed ? "passed" : "did not pass")")
    }
    guard let offset = row.offset else {
      for key in ["packet", "contextOffset", "expected", "got"] where object.value(key) != nil {
        object.error(key, "there is no difference to show")
      }
      return
    }
    if !(0...4_096 ~= offset - (row.contextOffset ?? 0)) {
      object.error("contextOffset", "the difference is outside the bytes shown")
    }
  }

  var lines: [String] {
    guard let offset, let contextOffset else { return [] }
    return ReplyText.comparison(expected ?? [], got ?? [], from: contextOffset, at: offset)
  }
}
