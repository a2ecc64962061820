import AccessoryCore
import AccessorySessions
import AccessorySoak
import AccessoryTransports

/// The result of a run of `easim soak`, as text and as JSON.
struct SoakVerdict {
  /// With fewer random worlds a corner may well be missed.
  private static let enoughForEveryCorner = 5_000

  private let report: SoakReport
  private let shrunk: [SoakShrunk]
  private let options: SoakRun
  private let seconds: Double
  /// The processor time it took, which a busy machine changes less than the wall clock.
  private let busy: Double
  private let stoppedBy: String?

  init(
    _ report: SoakReport, _ shrunk: [SoakShrunk], _ options: SoakRun, seconds: Double, busy: Double,
    stoppedBy: String?
  ) {
    self.report = report
    self.shrunk = shrunk
    self.options = options
    self.seconds = seconds
    self.busy = busy
    self.stoppedBy = stoppedBy
  }

  /// Corners that this many random worlds should have reached.
  private var missing: [String] {
    let isWhole = options.recipe.profile == nil && options.recipe.forbidden.isEmpty
    return isWhole && report.count >= Self.enoughForEveryCorner ? report.coverage.missing : []
  }

  private var passed: Bool { report.failureCount == 0 && missing.isEmpty }

  private var headline: String {
    let last = options.first + UInt64(max(report.count, 1)) - 1
    let seeds = report.count == 1 ? "seed \(options.first)" : "seeds \(options.first) to \(last)"
    var text = "\(report.count.counted("world")), \(seeds): "
    if report.count == 0 { text = "no world was completed: " }
    text += report.failureCount == 0 ? "every rule held" : "\(report.failureCount) broke a rule"
    if !missing.isEmpty { text += "; never reached: \(missing.joined(separator: ", "))" }
    if let stoppedBy { text += "; stopped by \(stoppedBy)" }
    return text
  }

  func tell(_ console: Console, at now: Instant) -> ExitCode {
    if !console.isJSON { console.out("\(report.coverage)") }
    for world in shrunk { tell(world, console, at: now) }
    let others = report.failures.dropFirst(shrunk.count)
    if !console.isJSON {
      for failure in others { console.out(Self.line(failure, options.recipe)) }
      let beyond = report.failureCount - report.failures.count
      if beyond > 0 { console.out("and \(beyond) more worlds that broke a rule") }
    }
    console.isJSON ? console.out(json(at: now).text) : console.out("\(headline); hash \(report.hash)")
    // On stderr, since it differs between runs.
    let rate = { (seconds: Double) in Int(Double(report.count) / seconds) }
    console.err(
      "easim: \(rate(seconds)) worlds a second with \(options.jobs) jobs, \(rate(busy)) per second of processor time")
    for file in options.reports { file.write(suite, console) }
    return passed ? .done : .checkFailed
  }

  /// A case for each rule, with the seeds that broke it, and one for the corners that should have been reached.
  private var suite: JUnitSuite {
    var rules = SoakRule.everywhere + options.recipe.forbidden.map { .forbidden($0) }
    // What a later version finds is not lost.
    for failure in report.failures.flatMap(\.violations) where !rules.contains(failure.rule) {
      rules.append(failure.rule)
    }
    var cases = rules.map { rule -> JUnitSuite.Case in
      let broken = report.failures.filter { $0.violations.contains { $0.rule == rule } }
      guard let first = broken.first else { return JUnitSuite.Case("soak", "rule: \(rule)", .passed) }
      let text = first.violations.first { $0.rule == rule }?.description ?? ""
      return JUnitSuite.Case(
        "soak", "rule: \(rule)",
        .failed(
          "\(broken.count.counted("world")) broke it, the first with seed \(first.seed): \(text)",
          details: broken.map { Self.line($0, options.recipe) }.joined(separator: "\n")))
    }
    cases.append(
      JUnitSuite.Case(
        "soak", "every corner of the protocol was reached",
        missing.isEmpty ? .passed : .failed("never reached: \(missing.joined(separator: ", "))")))
    if report.count == 0 { cases.append(JUnitSuite.Case("soak", "worlds", .failed(headline))) }
    return JUnitSuite("easim soak", time: .seconds(seconds), cases, output: headline)
  }

  private static func line(_ failure: SoakOutcome, _ recipe: SoakRecipe) -> String {
    let first = failure.violations.first.map { "\($0.rule): \($0)" } ?? ""
    return "seed \(failure.seed): \(first)\n  repeat: \(recipe.command(replaying: failure.seed))"
  }

  // MARK: Failures

  private func tell(_ world: SoakShrunk, _ console: Console, at now: Instant) {
    let path = save(world, console)
    if console.isJSON { return console.out(json(world, path, at: now).text) }
    console.out(Self.line(world.original, options.recipe))
    console.out("  shrunk: \(world.before.size) to \(world.plan.size), in \(world.worldsPlayed) worlds")
    if let path {
      console.out("  saved:  easim scenario run \(path.shellWord)")
    } else {
      console.out("  as a scenario, for 'easim scenario run FILE.json5':\n\n\(world.fileText)")
    }
  }

  /// The file that a failure was written to, with `--save`.
  private func save(_ world: SoakShrunk, _ console: Console) -> String? {
    guard let folder = options.folder else { return nil }
    let path = "\(folder)/soak-\(world.original.seed).json5"
    let file: WholeFile
    do { file = try WholeFile(path) } catch {
      console.err("easim: \(path): \(error.reason)")
      return nil
    }
    guard let reason = PatientFile.write(Array(world.fileText.utf8), to: file) else { return path }
    console.lose(path, reason)
    return nil
  }

  // MARK: JSON

  private func json(_ world: SoakShrunk, _ path: String?, at now: Instant) -> JSONObject {
    var object = JSONObject(event: "failure", at: now)
    object.add("seed", Int(clamping: world.original.seed))
    object.add("rule", world.rule.description)
    object.add("text", world.original.violations.first { $0.rule == world.rule }?.description ?? "")
    object.add("command", options.recipe.command(replaying: world.original.seed))
    object.add("size", world.before.size)
    object.add("shrunkSize", world.plan.size)
    if let path { object.add("file", path) }
    object.add("scenario", world.fileText)
    return object
  }

  private func json(at now: Instant) -> JSONObject {
    var object = JSONObject(event: "result", at: now)
    object.add("passed", passed)
    object.add("text", headline)
    object.add("worlds", report.count)
    object.add("failures", report.failureCount)
    object.add("perSecond", Int(Double(report.count) / seconds))
    object.add("perProcessorSecond", Int(Double(report.count) / busy))
    object.add("hash", "\(report.hash)")
    var coverage = JSONObject()
    for corner in SoakCoverage.Corner.allCases { coverage.add(corner.word, report.coverage[corner]) }
    object.add("coverage", coverage)
    var faults = JSONObject()
    for fault in Fault.format.names { faults.add(fault, report.coverage.hits(of: fault)) }
    object.add("faults", faults)
    return object
  }
}
