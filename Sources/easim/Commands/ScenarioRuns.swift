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
  var junit: JUnitSuite {
    let cases = runs.map { run in
      JUnitSuite.Case(
        "scenario.\(run.client)", run.scenario, time: run.length - .origin,
        run.passed ? .passed : .failed(run.text, details: run.timeline.joined(separator: "\n")))
    }
    return JUnitSuite("easim scenarios", time: runs.reduce(.zero) { $0 + ($1.length - .origin) }, cases)
  }

  /// For people: a table, and the timeline of each scenario that failed.
  var html: String {
    var page = ResultPage(
      "easim scenarios: \(count)", passed: passed, ["\(count)."],
      columns: ["scenario", "app", "time", "what the app did"])
    for run in runs {
      page.add(
        passed: run.passed,
        ["\(run.scenario)\n\(run.summary)", run.client, DurationText.format(run.length - .origin), run.text],
        details: run.timeline, summary: "timeline")
    }
    return page.html
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
