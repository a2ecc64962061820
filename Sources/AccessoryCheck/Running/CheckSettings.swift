import AccessoryFormats
import AccessoryProfiles
import Certificates

package struct CheckSettings {
  /// How long the accessory may take to complete each step.
  package var stepLimit = Duration.seconds(20)
  /// How long to wait between two attachments.
  package var pace = Duration.milliseconds(200)
  /// How long to wait for something that must not arrive.
  package var quiet = Duration.milliseconds(500)
  /// The protocol to open sessions for; nil means the first protocol whose sessions use the link.
  package var protocolName: String?
  /// Whether the accessory echoes the bytes in its sessions.
  package var echo = Echo.tried
  /// Whether to run cases in which the device does what no Apple device does.
  package var isHostile = false
  /// Whether warnings and notes fail the check as well.
  package var isStrict = false
  /// Whether cases about undeclared parts of the accessory are omitted instead of skipped.
  package var leavesOutUndeclared = false
  /// The step with which the device begins. With ``HostOrder/auto``, the device tries identification first if AA00 is
  /// not answered.
  package var order = HostOrder.auto
  package var verifier: any DeviceAuthenticator

  /// Whether an accessory echoes.
  package enum Echo: String, Sendable, CaseIterable {
    /// It is not known whether the accessory echoes: easim finds out; without an echo, cases that need one are skipped.
    case tried = "try"
    /// The accessory is expected to echo; a case fails if there is no echo.
    case yes
    /// The accessory does not echo; cases that need an echo are skipped.
    case no
  }

  package init(verifier: any DeviceAuthenticator) { self.verifier = verifier }
}

/// A selection of cases to run, given by numbers, ranges and names.
package struct CheckSelection: Sendable, Equatable {
  package let cases: [CheckCase]

  /// The selection of all easim cases.
  package static let all = CheckSelection(cases: CheckCase.all)

  private init(cases: [CheckCase]) { self.cases = cases }

  /// Parses a selection such as `101,300-399,syn-version`; `own` selects all of the user's own cases.
  ///
  /// - Parameter own: the user's own cases.
  /// - Throws: ``Mistake``, if a part selects no case.
  package init(_ text: String, own: [CheckCase] = []) throws(Mistake) {
    let all = CheckCase.all + own
    var chosen: Set<Int> = []
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      let found = try part == "own" && !own.isEmpty ? own : Self.cases(part, all)
      chosen.formUnion(found.map(\.number))
    }
    cases = all.filter { chosen.contains($0.number) }
  }

  private static func cases(_ part: Substring, _ all: [CheckCase]) throws(Mistake) -> [CheckCase] {
    let bounds = part.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false).map { Int($0) }
    var found: [CheckCase] = []
    if bounds.count == 2, let first = bounds[0], let last = bounds[1] {
      guard first <= last else { throw Mistake("'\(part)' ends before it begins") }
      found = all.filter { (first...last).contains($0.number) }
    } else if let number = Int(part) {
      found = all.filter { $0.number == number }
    } else {
      found = all.filter { $0.name == part }
      if found.isEmpty {
        let near = Suggestion.nearHint(for: String(part), in: all.map(\.name))
        throw Mistake("there is no case '\(part.prefix(64))'\(near)")
      }
    }
    if found.isEmpty { throw Mistake("there is no case \(part.prefix(64))") }
    return found
  }

  /// A part of a selection that selects no case.
  package struct Mistake: Error, Equatable, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
  }
}
