import AccessoryCore
import AccessoryFormats
import AccessoryProfiles
import Certificates
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

package struct CheckSettings {
  package var stepLimit = Duration.seconds(20)
  package var pace = Duration.milliseconds(200)
  /// How long to wait when checking that nothing arrives.
  package var quiet = Duration.milliseconds(500)
  /// The protocol to use for sessions, or nil to use the first protocol that uses the link.
  package var protocolName: String?
  /// Whether the accessory sends back what it receives in sessions.
  package var echo = Echo.tried
  /// Whether to run cases in which the device does something that no Apple device does.
  package var isHostile = false
  /// Whether the check also fails for warnings and notes.
  package var isStrict = false
  /// Whether to omit cases about parts that the accessory does not declare, rather than listing them as skipped.
  package var leavesOutUndeclared = false
  /// The step that the device takes first. With ``HostOrder/auto``, the device begins with identification if the
  /// accessory does not answer AA00.
  package var order = HostOrder.auto
  package var verifier: any DeviceAuthenticator

  package enum Echo: String, Sendable, CaseIterable {
    /// A test finds out whether the accessory echoes. If the accessory does not echo, cases that need an echo are
    /// skipped.
    case tried = "try"
    /// The accessory should echo. Cases fail if the accessory does not echo.
    case yes
    /// The accessory does not echo. Cases that need an echo are skipped.
    case no
  }

  package init(verifier: any DeviceAuthenticator) { self.verifier = verifier }
}

extension CheckCase {
  /// Returns the cases that a selection such as `101,300-399,syn-version` names. The word `own` selects all of the
  /// user's own cases.
  ///
  /// - Parameter own: the user's own cases.
  /// - Throws: an error if a part of the selection names no case.
  package static func selected(by text: String, own: [CheckCase] = []) throws(OptionError) -> [CheckCase] {
    let all = all + own
    var chosen: Set<Int> = []
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      let found = try part == "own" && !own.isEmpty ? own : named(part, all)
      chosen.formUnion(found.map(\.number))
    }
    return all.filter { chosen.contains($0.number) }
  }

  private static func named(_ part: Substring, _ all: [CheckCase]) throws(OptionError) -> [CheckCase] {
    let bounds = part.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false).map { Int($0) }
    var found: [CheckCase] = []
    if bounds.count == 2, let first = bounds[0], let last = bounds[1] {
      guard first <= last else { throw OptionError("'\(part)' ends before it begins") }
      found = all.filter { (first...last).contains($0.number) }
    } else if let number = Int(part) {
      found = all.filter { $0.number == number }
    } else {
      found = all.filter { $0.name == part }
      if found.isEmpty {
        let near = Suggestion.nearHint(for: String(part), in: all.map(\.name))
        throw OptionError("there is no case '\(part.prefix(64))'\(near)")
      }
    }
    if found.isEmpty { throw OptionError("there is no case \(part.prefix(64))") }
    return found
  }
}
