import AccessoryCaptures
import AccessoryCore
import AccessoryReplay
import AccessorySessions
import AccessoryTransports

/// What came of a replay, in every form.
struct ReplayReport {
  /// The recording.
  let file: String
  /// The end that easim played.
  let role: Recording.End
  let recording: Recording
  let progress: ReplayProgress
  /// What stopped it before everything was played.
  var stoppedBy: String?
  /// Whether a replay in which nothing was compared passes.
  var allowsEmpty = false

  /// Passed when every session was played as recorded, and there was something to compare.
  var verdict: Verdict {
    if let difference = progress.first { return .failed([difference.description]) }
    if let nothing { return allowsEmpty ? .passed : .empty(nothing) }
    if progress.isAsRecorded { return .passed }
    return stoppedBy.map { .stopped(by: $0) } ?? .failed([playedText])
  }

  private var nothing: String? {
    if progress.count == 0 { return "the recording has no session" }
    let isMasked = progress.isAsRecorded && progress.compared == 0 && progress.sessions.contains { $0.masked > 0 }
    return isMasked ? "the mask covers every received byte" : nil
  }

  private var playedText: String { "\(progress.sessions.count) of \(progress.count.counted("session")) played" }

  /// One sentence.
  var sentence: String {
    if let difference = progress.first { return difference.description }
    if let nothing { return nothing }
    guard progress.isAsRecorded else {
      return stoppedBy.map { "stopped by \($0); \(playedText)" } ?? playedText
    }
    return "\(progress.count.counted("session")) as recorded, \(progress.compared.counted("byte")) compared"
  }

  /// One session of the recording: what came of it.
  private struct Row {
    let session: Recording.Session
    let played: ReplayProgress.Session?
    let difference: ReplayDifference?
    /// What to say when it was not played.
    let unplayed: String

    var passed: Bool { played != nil && difference == nil }

    var text: String {
      if let difference { return difference.description }
      return played == nil ? unplayed : "as recorded"
    }
  }

  private var rows: [Row] {
    recording.sessions.map { session in
      let played = progress.sessions.first { $0.number == session.number }
      let other = progress.differences.first { $0.session == session.number }
      return Row(
        session: session, played: played, difference: played?.difference ?? other,
        unplayed: stoppedBy.map { "not played: stopped by \($0)" } ?? "not played")
    }
  }

  /// Differences that belong to no session of the recording.
  private var strays: [ReplayDifference] { progress.differences.filter { $0.session == 0 } }

  /// For programs.
  var json: String {
    var object = JSONObject()
    object.add("v", 1)
    object.add("report", "replay")
    object.add("file", file)
    object.add("role", role.rawValue)
    object.add("passed", verdict.isPassed)
    object.add("verdict", verdict.word)
    object.add("text", sentence)
    let sessions = rows.map { row -> String in
      var object = JSONObject()
      object.add("session", row.session.number)
      object.add("protocol", row.session.protocolName)
      object.add("played", row.played != nil)
      object.add("passed", row.passed)
      object.add("bytes", row.played?.received ?? 0)
      object.add("text", row.text)
      if let difference = row.difference {
        object.add("offset", difference.offset)
        object.add("packet", difference.packet)
        object.add("contextOffset", difference.contextOffset)
        object.add("expected", Hex.plain(difference.expected))
        object.add("got", Hex.plain(difference.got))
      }
      return object.text
    }
    object.add("sessions", raw: "[\(sessions.joined(separator: ","))]")
    object.add("differences", strays.map(\.description))
    return object.text + "\n"
  }

  /// For CI servers: a case for each session.
  var junit: JUnitSuite {
    let cases = rows.map { row in
      let lines = row.difference.map(ReplyText.comparison)?.joined(separator: "\n") ?? ""
      return JUnitSuite.Case(
        "replay", "session \(row.session.number) \(row.session.protocolName)",
        row.passed ? .passed : .failed(row.text, details: lines))
    }
    var more = strays.map { JUnitSuite.Case("replay", "no further session", .failed($0.description)) }
    if let nothing {
      more.append(JUnitSuite.Case("replay", "sessions", allowsEmpty ? .skipped(nothing) : .failed(nothing)))
    }
    return JUnitSuite("easim replay \(file)", time: .zero, cases + more)
  }

  /// For people: a table of the sessions, and both sides of each difference.
  var html: String {
    let place = "\(file), easim as the \(role == .accessory ? "accessory" : "Apple device")."
    var page = ResultPage(
      "easim replay: \(verdict.word)", verdict,
      ["\(sentence).", place] + strays.map { "\($0.description)." },
      columns: ["session", "protocol", "bytes compared", "result"])
    for row in rows {
      page.add(
        passed: row.passed,
        ["\(row.session.number)", row.session.protocolName, (row.played?.received ?? 0).groupedDigits, row.text],
        details: row.difference.map(ReplyText.comparison) ?? [])
    }
    return page.html
  }
}
