import AccessoryFormats
import Certificates

/// The choices of a check.
public struct CheckSettings {
  /// How long the accessory may take for each step before the step counts as not taken.
  public var stepLimit = Duration.seconds(20)
  /// How long is waited between two attachments.
  public var pace = Duration.milliseconds(200)
  /// How long is waited for something that must not come.
  public var quiet = Duration.milliseconds(500)
  /// The protocol whose sessions are used; the first one over the link when nil.
  public var protocolName: String?
  /// Whether sessions on that protocol send back what they receive.
  public var echo = Echo.tried
  /// Whether cases run that do what no Apple device does.
  public var isHostile = false
  /// What signatures are verified with.
  public var verifier: any DeviceAuthenticator

  /// Whether an accessory echoes.
  public enum Echo: String, Sendable, CaseIterable {
    /// It is found out; cases that need an echo are skipped where there is none.
    case tried = "try"
    /// It does, and a case fails when it does not.
    case yes
    /// It does not; cases that need an echo are skipped.
    case no
  }

  /// The choices at their defaults.
  public init(verifier: any DeviceAuthenticator) { self.verifier = verifier }
}

/// Which cases are run: numbers, ranges and names.
public struct CheckSelection: Sendable, Equatable {
  private let numbers: Set<Int>?

  /// All cases.
  public static let all = CheckSelection(numbers: nil)

  private init(numbers: Set<Int>?) { self.numbers = numbers }

  /// Reads `101,300-399,syn-version`; names of cases stand for themselves.
  ///
  /// - Throws: ``Mistake``, about a part that names no case.
  public init(_ text: String) throws(Mistake) {
    var chosen: Set<Int> = []
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      let cases = try Self.cases(part)
      chosen.formUnion(cases.map(\.number))
    }
    numbers = chosen
  }

  private static func cases(_ part: Substring) throws(Mistake) -> [CheckCase] {
    let bounds = part.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false).map { Int($0) }
    var found: [CheckCase] = []
    if bounds.count == 2, let first = bounds[0], let last = bounds[1] {
      guard first <= last else { throw Mistake("'\(part)' ends before it begins") }
      found = CheckCase.all.filter { (first...last).contains($0.number) }
    } else if let number = Int(part) {
      found = CheckCase.all.filter { $0.number == number }
    } else {
      found = CheckCase.all.filter { $0.name == part }
      if found.isEmpty {
        let near = Suggestion.nearHint(for: String(part), in: CheckCase.all.map(\.name))
        throw Mistake("there is no case '\(part.prefix(64))'\(near)")
      }
    }
    if found.isEmpty { throw Mistake("there is no case \(part.prefix(64))") }
    return found
  }

  /// The chosen cases, by number.
  public var cases: [CheckCase] {
    CheckCase.all.filter { one in numbers.map { $0.contains(one.number) } ?? true }
  }

  /// A part of a selection that names no case.
  public struct Mistake: Error, Equatable, CustomStringConvertible {
    /// A sentence fragment.
    public let description: String

    init(_ description: String) { self.description = description }
  }
}
