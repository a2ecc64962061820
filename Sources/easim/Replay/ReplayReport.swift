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

  /// Whether everything passed as recorded.
  var passed: Bool { progress.isAsRecorded }

  /// One sentence.
  var sentence: String {
    if let difference = progress.first { return difference.description }
    let count = progress.sessions.count
    guard passed else { return "\(count) of \(progress.count.counted("session")) played" }
    let bytes = progress.sessions.reduce(0) { $0 + $1.received }
    return "\(count.counted("session")) as recorded, \(bytes.counted("byte")) compared"
  }

  /// One session of the recording: what came of it.
  private struct Row {
    let session: Recording.Session
    let played: ReplayProgress.Session?
    let difference: ReplayDifference?

    var text: String {
      if let difference { return difference.description }
      return played == nil ? "not played" : "as recorded"
    }
  }

  private var rows: [Row] {
    recording.sessions.map { session in
      let played = progress.sessions.first { $0.number == session.number }
      let other = progress.differences.first { $0.session == session.number }
      return Row(session: session, played: played, difference: played?.difference ?? other)
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
    object.add("passed", passed)
    object.add("text", sentence)
    let sessions = rows.map { row -> String in
      var object = JSONObject()
      object.add("session", row.session.number)
      object.add("protocol", row.session.protocolName)
      object.add("played", row.played != nil)
      object.add("passed", row.played != nil && row.difference == nil)
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
  var junit: String {
    let failed = rows.filter { $0.played == nil || $0.difference != nil }.count + strays.count
    let count = rows.count + strays.count
    let cases = rows.map { row -> String in
      let open =
        "    <testcase classname=\"easim.replay\" name=\"session \(row.session.number) "
        + "\(MarkupText.escaped(row.session.protocolName))\""
      guard row.played == nil || row.difference != nil else { return "\(open)/>" }
      let lines = row.difference.map(ReplyText.comparison)?.joined(separator: "\n") ?? ""
      return """
        \(open)>
              <failure message="\(MarkupText.escaped(row.text))">\(MarkupText.escaped(lines))</failure>
            </testcase>
        """
    }
    let more = strays.map {
      """
          <testcase classname="easim.replay" name="no further session">
            <failure message="\(MarkupText.escaped($0.description))"></failure>
          </testcase>
      """
    }
    return """
      <?xml version="1.0" encoding="UTF-8"?>
      <testsuites tests="\(count)" failures="\(failed)">
        <testsuite name="easim replay \(MarkupText.escaped(file))" tests="\(count)" failures="\(failed)" errors="0">
      \((cases + more).joined(separator: "\n"))
        </testsuite>
      </testsuites>

      """
  }

  /// For people: a table of the sessions, and both sides of each difference.
  var html: String {
    let cells = rows.map { row -> String in
      let isGood = row.played != nil && row.difference == nil
      let lines = row.difference.map(ReplyText.comparison) ?? []
      let sides = lines.isEmpty ? "" : "<pre>\(MarkupText.escaped(lines.joined(separator: "\n")))</pre>"
      return """
        <tr class="\(isGood ? "passed" : "failed")"><td>\(isGood ? "✓" : "✗")</td><td>\(row.session.number)</td>\
        <td>\(MarkupText.escaped(row.session.protocolName))</td>\
        <td>\((row.played?.received ?? 0).groupedDigits)</td><td>\(MarkupText.escaped(row.text))\(sides)</td></tr>
        """
    }
    let more = strays.map { "<p>\(MarkupText.escaped($0.description)).</p>" }.joined(separator: "\n")
    return """
      <!doctype html>
      <html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
      <title>easim replay: \(passed ? "passed" : "failed")</title>
      <style>
      :root { color-scheme: light dark; }
      body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; }
      table { border-collapse: collapse; width: 100%; }
      th, td { border-bottom: 1px solid #8886; padding: .4rem .6rem; text-align: left; vertical-align: top; }
      .passed td:first-child { color: #2a8a3e; } .failed td:first-child { color: #d33; }
      pre { overflow-x: auto; font-size: 12px; line-height: 1.4; }
      @media (max-width: 600px) { thead { display: none; } td, th { display: block; border: 0; padding: .1rem 0; } tr { display: block; border-bottom: 1px solid #8886; } }
      </style></head><body>
      <h1>\(passed ? "Passed" : "Failed")</h1><p>\(MarkupText.escaped(sentence)).</p>
      <p>\(MarkupText.escaped(file)), easim as the \(role == .accessory ? "accessory" : "Apple device").</p>\(more)
      <table><thead><tr><th></th><th>session</th><th>protocol</th><th>bytes compared</th><th>result</th></tr></thead><tbody>
      \(cells.joined(separator: "\n"))
      </tbody></table></body></html>

      """
  }
}

/// The forms of a replay's report.
enum ReplayReportForm: String, ReportForm { case json, html, xml }

extension ReportFile<ReplayReportForm> {
  func write(_ report: ReplayReport, _ console: Console) {
    let text =
      switch form {
      case .json: report.json
      case .html: report.html
      case .xml: report.junit
      }
    write(text, console)
  }
}
