import AccessoryCables
import AccessoryCore
import AccessoryRuns
import AccessorySessions
import AccessorySoak
import AccessoryWorlds

/// Plays in virtual time a scenario with `apps`, as written by `easim soak`, and checks the rules that every simulated
/// world must obey.
struct PlanPlay {
  private var plan: SoakPlan
  private let console: Console
  private let transcript: TranscriptFile?
  private let recorder: CaptureRecorder?

  init(_ plan: SoakPlan, _ options: ScenarioOptions, _ console: Console) throws {
    let unfit = [
      ("--client", options.client != nil), ("--at", options.place != nil), ("--real-time", options.isRealTime),
    ]
    for (option, _) in unfit.filter(\.1) {
      throw UsageError(
        "\(option) is for scenarios with one app and expectations, and this one has 'apps'")
    }
    self.plan = plan
    self.console = console
    self.plan.seed = options.shared.seed ?? plan.seed
    self.plan.faults = options.shared.faults.map { CableFault($0) } + plan.faults
    recorder = try CaptureFile.asked(for: options.shared, console, origin: nil)
    transcript = try TranscriptFile.asked(for: options.shared, console)
  }

  func play() -> ExitCode {
    let outcome = Soak.run(
      plan, event: console.show, line: transcript.map { file in { file.write($0) } }, recorder: recorder)
    for violation in outcome.violations.dropFirst() { show(violation) }
    let first = outcome.violations.first
    console.result(
      Verdict(reasons: outcome.violations.map { "\($0)" }), first.map { "\($0.rule): \($0.text)" } ?? "all passed",
      at: first?.time ?? end)
    return first == nil ? .done : .checkFailed
  }

  private var end: Instant { .origin + plan.length }

  private func show(_ violation: SoakViolation) {
    console.show(
      TimelineEvent(time: violation.time, side: .app, kind: .warning("\(violation.rule): \(violation.text)")))
  }
}
