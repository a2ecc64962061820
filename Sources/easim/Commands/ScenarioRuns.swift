import AccessoryCore
import AccessorySessions
import AccessoryTransports
import AccessoryWorlds

/// How several scenarios came out: `easim scenario run --all`.
struct ScenarioRuns {
  /// One scenario, played once.
  struct Run {
    let scenario: String
    let summary: String
    let client: String
    let passed: Bool
    /// What the app did, and how it differed.
    let text: String
    /// How long it took in the scenario's own time.
    let length: Instant
    /// The timeline, for those that failed.
    let timeline: [String]
  }

  private(set) var runs: [Run] = []

  /// Whether all of them passed.
  var passed: Bool { runs.allSatisfy(\.passed) }

  mutating func add(_ run: Run) { runs.append(run) }

  /// How many passed or failed.
  private var count: String {
    let failed = runs.count { !$0.passed }
    let all = runs.count.counted("scenario")
    return failed == 0 ? "\(all) passed" : "\(failed) of \(all) failed"
  }

  /// The last line: the count, and which failed.
  var sentence: String {
    let failed = runs.filter { !$0.passed }.map(\.scenario)
    return failed.isEmpty ? count : "\(count): \(failed.joined(separator: ", "))"
  }

  /// For programs.
  var json: String {
    var object = JSONObject()
    object.add("v", 1)
    object.add("report", "scenarios")
    object.add("passed", passed)
    object.add("scenarios", raw: "[\(runs.map(\.json.text).joined(separator: ","))]")
    return object.text + "\n"
  }

  /// For CI servers: a case for each scenario.
  var junit: String {
    let cases = runs.map { run in
      JUnitSuite.Case(
        "scenario.\(run.client)", run.scenario, time: run.length - .origin,
        run.passed ? .passed : .failed(run.text, details: run.timeline.joined(separator: "\n")))
    }
    return JUnitSuite("easim scenarios", time: runs.reduce(.zero) { $0 + ($1.length - .origin) }, cases).xml
  }

  /// For people: a table, and the timeline of each scenario that failed.
  var html: String {
    let rows = runs.map { run -> String in
      let timeline =
        run.passed
        ? ""
        : "<details><summary>timeline</summary><pre>\(MarkupText.escaped(run.timeline.joined(separator: "\n")))</pre></details>"
      return """
        <tr class="\(run.passed ? "passed" : "failed")"><td>\(run.passed ? "✓" : "✗")</td>\
        <td><b>\(MarkupText.escaped(run.scenario))</b><br>\(MarkupText.escaped(run.summary))</td>\
        <td>\(MarkupText.escaped(run.client))</td><td>\(DurationText.format(run.length - .origin))</td>\
        <td>\(MarkupText.escaped(run.text))\(timeline)</td></tr>
        """
    }
    return """
      <!doctype html>
      <html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
      <title>easim scenarios: \(MarkupText.escaped(count))</title>
      <style>
      :root { color-scheme: light dark; }
      body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; }
      table { border-collapse: collapse; width: 100%; }
      th, td { border-bottom: 1px solid #8886; padding: .4rem .6rem; text-align: left; vertical-align: top; }
      .passed td:first-child { color: #2a8a3e; } .failed td:first-child { color: #d33; }
      pre { overflow-x: auto; font-size: 12px; }
      @media (max-width: 600px) { thead { display: none; } td, th { display: block; border: 0; padding: .1rem 0; } tr { display: block; border-bottom: 1px solid #8886; } }
      </style></head><body>
      <h1>\(passed ? "Passed" : "Failed")</h1><p>\(MarkupText.escaped(count)).</p>
      <table><thead><tr><th></th><th>scenario</th><th>app</th><th>time</th><th>what the app did</th></tr></thead><tbody>
      \(rows.joined(separator: "\n"))
      </tbody></table></body></html>

      """
  }
}

extension ScenarioRuns.Run {
  /// One line for a person.
  var line: String { "\(passed ? "✓" : "✗") \(scenario)  \(text)" }

  fileprivate var json: JSONObject {
    var object = JSONObject()
    object.add("scenario", scenario)
    object.add("client", client)
    object.add("passed", passed)
    object.add("text", text)
    object.add("seconds", seconds: length)
    return object
  }
}
