import AccessoryFormats
import AccessoryProfiles
import Certificates

package struct CheckSettings {
  /// How long the accessory may take to complete each step.
  package var stepLimit = Duration.seconds(20)
  /// How long to pause between two attachments.
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

  /// Whether an accessory sends back what it receives.
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
