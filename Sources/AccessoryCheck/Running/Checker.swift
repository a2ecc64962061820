import AccessoryCore
import IAP2

/// Runs cases against an accessory.
///
/// ```swift
/// let checker = Checker(plug, pump, CheckSettings(verifier: AccessoryVerifier()))
/// let report = try checker.run(CheckCase.all) { print($0.rule.number, $0.outcome) }
/// ```
package final class Checker {
  /// The accessory counts as gone when this many attachments in a row have failed.
  private static let mostAbsences = 3

  let run: CheckRun
  var lastAttackBytes: [UInt8] = []
  /// The cases about parts that the accessory does not declare, if the settings omit such cases.
  package private(set) var leftOut: [CheckCase] = []

  package init(_ plug: any AccessoryPlug, _ pump: CheckPump, _ settings: CheckSettings) {
    run = CheckRun(plug, pump, settings)
  }

  /// Runs the cases.
  ///
  /// - Parameter onEvent: called with the result of each case.
  /// - Throws: ``AccessoryAbsent`` if there is no accessory at the start.
  package func run(_ cases: [CheckCase], onEvent: (CheckResult) -> Void = { _ in }) throws -> CheckReport {
    var report = CheckReport(place: run.plug.place)
    report.planned = cases.map(\.number)
    let start = run.pump.loop.now
    var absences = 0
    for rule in cases {
      let begin = run.pump.loop.now
      var outcome: CheckOutcome
      do {
        let before = run.attachments
        outcome = try judge(rule)
        if run.attachments > before { absences = 0 }
        run.lastCase = rule
      } catch let absent as AccessoryAbsent {
        if run.attachments == 0 { throw absent }
        absences += 1
        if absences == 1 { run.noteAbsence(absent) }
        if absences == Self.mostAbsences {
          report.ending = .gone(absent.description)
          // Later cases are still judged if they need no new attachment.
          run.gone = absent
        }
        outcome = .skipped("the accessory did not come back: \(absent)")
      } catch let skip as CheckSkip {
        outcome = .skipped(skip.reason)
      } catch is CheckStopped {
        report.ending = .stopped(by: "the calling program")
        break
      }
      run.unplugAll()
      if leftOut.last == rule { continue }
      var result = CheckResult(rule: rule, outcome: outcome, time: run.pump.loop.now - begin)
      result.isStrict = run.settings.isStrict && result.hasFailed && rule.severity != .error
      report.results.append(result)
      onEvent(result)
    }
    run.unplugAll()
    report.planned.removeAll { number in leftOut.contains { $0.number == number } }
    report.time = run.pump.loop.now - start
    report.attachments = run.attachments
    report.accessory = run.identity
    report.order = run.surveyed == nil ? nil : run.order
    return report
  }

  private func judge(_ rule: CheckCase) throws -> CheckOutcome {
    if rule.isHostile, !run.settings.isHostile {
      return .skipped("runs only with --hostile, because no Apple device does this")
    }
    do {
      try rule.script(run)
      return .passed
    } catch let failure as CheckFailure {
      return .failed(failure)
    } catch let skip as CheckSkip {
      if skip.isUndeclared, run.settings.leavesOutUndeclared { leftOut.append(rule) }
      return .skipped(skip.reason)
    } catch let short as Shortfall {
      return .skipped("the accessory does not get that far: \(short.reason) (case \(short.judgedBy))")
    }
  }
}

extension CheckRun {
  var identity: CheckReport.Accessory? {
    guard let found = surveyed?.identification?.reading.identification else { return nil }
    return CheckReport.Accessory(
      name: found.name, manufacturer: found.manufacturer, model: found.model, serial: found.serialNumber,
      firmware: found.firmwareVersion, hardware: found.hardwareVersion, protocols: found.protocols.map(\.name))
  }
}
