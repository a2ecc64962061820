import AccessoryCables
import AccessoryCore
import AccessoryFormats
import AccessoryProfiles
import Certificates
import IAP2
import LinuxIO

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

/// A connection point where the accessory under test can be plugged in repeatedly.
package protocol AccessoryPlug: AnyObject {
  /// The name of the connection point, such as its address, for use in messages.
  var place: String { get }

  /// Connects to the accessory. The caller must start the returned cable's channel.
  ///
  /// - Throws: ``AccessoryAbsent`` if no accessory can be connected within `limit`.
  func plugIn(_ pump: CheckPump, within limit: Duration) throws -> OpenedCable
}

package struct AccessoryAbsent: Error, Sendable, CustomStringConvertible {
  package let reason: TransportError?
  package let description: String

  package init(_ description: String, reason: TransportError? = nil) {
    (self.reason, self.description) = (reason, description)
  }
}

package final class AddressPlug: AccessoryPlug {
  package var place: String { address.description }

  private let address: Address
  private let finder: any AccessoryFinder
  private let loop: EpollLoop
  private let fits: (FoundAccessory) -> Bool
  private let wrap: (Cable) -> Cable
  private var found: [String: FoundAccessory] = [:]
  private var isStarted = false
  /// The identity of the accessory that was found first. No other accessory is accepted.
  private var taken: String?
  /// Why the last attempt failed, or nil if it succeeded.
  package private(set) var trouble: TransportError?
  /// Whether the plug still waits for its first accessory, at an address that does not show whether there is one.
  package var isSearching: Bool { !finder.seesArrivals && taken == nil }

  /// Creates a plug that is not connected yet.
  ///
  /// - Parameters:
  ///   - fits: returns true for the accessory to connect to.
  ///   - wrap: adds transcripts and faults to each cable.
  /// - Throws: an error that names the address if no accessory can exist at that address.
  package init(
    _ address: Address, _ media: MediumTable, on loop: EpollLoop, options: TransportOptions = TransportOptions(),
    where fits: @escaping (FoundAccessory) -> Bool = { _ in true }, wrap: @escaping (Cable) -> Cable = { $0 }
  ) throws {
    (self.address, self.loop, self.fits, self.wrap) = (address, loop, fits, wrap)
    finder = try media[address].makeFinder(for: address, on: loop, options: options)
  }

  deinit { finder.stop() }

  package func plugIn(_ pump: CheckPump, within limit: Duration) throws -> OpenedCable {
    if !isStarted {
      isStarted = true
      try finder.start { [unowned self] change in happened(change) }
    }
    let deadline = loop.now + limit
    trouble = nil
    repeat {
      if let accessory = wanted {
        switch try connect(to: accessory, pump, deadline) {
        case .success(let opened):
          taken = accessory.identity
          return OpenedCable(wrap(opened.cable), droppedBytes: opened.droppedBytes, release: opened.release)
        case .failure(let reason):
          trouble = reason
          if !reason.mayPass, !finder.seesArrivals { throw AccessoryAbsent(reason.description, reason: reason) }
        }
      }
      try pump.pause(max(.milliseconds(20), min(finder.pauses.shortest, .milliseconds(250))))
    } while loop.now < deadline
    let time = DurationText.format(limit)
    let why = trouble.map { "no accessory at \(address) within \(time): \($0)" }
    throw AccessoryAbsent(why ?? "\(address.nothingThere) within \(time)", reason: trouble)
  }

  private var wanted: FoundAccessory? {
    let all = found.values.filter { fits($0) && !$0.isNearMiss && (taken == nil || taken == $0.identity) }
    return all.min { $0.key < $1.key }
  }

  private func connect(
    to accessory: FoundAccessory, _ pump: CheckPump, _ deadline: Instant
  ) throws -> Result<OpenedCable, TransportError> {
    var answer: Result<OpenedCable, TransportError>?
    let attempt: any Connecting
    do throws(TransportError) {
      attempt = try finder.connect(to: accessory) { answer = $0 }
    } catch {
      return .failure(error)
    }
    defer { if answer == nil { attempt.cancel() } }
    let limit = max(.milliseconds(1), deadline - loop.now)
    _ = try pump.wait(within: limit, until: { answer != nil })
    return answer ?? .failure(.timedOut(address, after: limit))
  }

  private func happened(_ change: AccessoryChange) {
    switch change {
    case .arrived(let accessory), .changed(let accessory, _): found[accessory.key] = accessory
    case .left(let accessory, _): found[accessory.key] = nil
    case .passed, .warning: break
    }
  }
}
