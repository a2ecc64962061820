/// One rule that an accessory is checked for: a number, a sentence, the source of the rule, and the script that checks
/// it.
///
/// ```swift
/// CheckCase(
///   102, "detection-repeat", "The accessory repeats the detection sequence until it is answered.", [.agreed],
///   fix: "Send the detection sequence again every second until the Apple device answers."
/// ) { run in … throw CheckFailure("it was sent once", run.proof(…)) … }
/// ```
public struct CheckCase: Sendable, Equatable {
  /// How much a broken rule matters.
  public enum Severity: String, Sendable, CaseIterable {
    /// An Apple device cannot use the accessory, or loses data.
    case error
    /// The accessory works with some devices, on some lines, or most of the time.
    case warning
    /// Worth knowing.
    case note
  }

  /// The number, used by ``CheckSelection`` and reports. Its hundreds digits select the ``CheckGroup``.
  public let number: Int
  /// A short name: "detection-repeat".
  public let name: String
  /// The rule.
  public let sentence: String
  /// How the rule is known.
  public let sources: [CheckSource]
  /// How much a violation matters.
  public let severity: Severity
  /// What to change in the firmware of an accessory that breaks the rule.
  public let fix: String
  /// Whether the case does something that no Apple device does; such cases run only in a hostile check.
  public let isHostile: Bool
  let script: @Sendable (CheckRun) throws -> Void

  init(
    _ number: Int, _ name: String, _ sentence: String, _ sources: [CheckSource], _ severity: Severity = .error,
    isHostile: Bool = false, fix: String, script: @escaping @Sendable (CheckRun) throws -> Void
  ) {
    (self.number, self.name, self.sentence, self.sources) = (number, name, sentence, sources)
    (self.severity, self.isHostile, self.fix, self.script) = (severity, isHostile, fix, script)
  }

  /// Every case, by number.
  public static let all: [CheckCase] =
    detection + synchronization + packets + loss + authentication + identification + sessions + data + plugging
    + components

  /// The numbers of the user's own cases begin here, so that they never meet easim's.
  static let firstOwn = 100_000
  /// The numbers that users may give to their own cases.
  static let ownIDs = 0...99_999

  /// Whether it is one of the user's own cases.
  public var isOwn: Bool { number >= Self.firstOwn }

  /// How texts refer to the case: "902", or "own-902" for a case of the user's.
  public var label: String { isOwn ? name : String(number) }

  /// The label, and the name of easim's own cases: "902 replug-in-detection".
  public var title: String { isOwn ? name : "\(number) \(name)" }

  /// Two cases are equal if they have the same number.
  public static func == (left: CheckCase, right: CheckCase) -> Bool { left.number == right.number }

  /// The group that the case belongs to.
  public var group: CheckGroup { isOwn ? .own : CheckGroup(rawValue: number / 100) ?? .detection }
}

/// What a case is about: the hundreds of its number.
public enum CheckGroup: Int, Sendable, CaseIterable {
  /// 101 to 199.
  case detection = 1
  /// 201 to 299.
  case synchronization
  /// 301 to 399.
  case packets
  /// 401 to 499.
  case loss
  /// 501 to 599.
  case authentication
  /// 601 to 699.
  case identification
  /// 701 to 799.
  case sessions
  /// 801 to 899.
  case data
  /// 901 to 999.
  case plugging
  /// 1001 to 1099.
  case components
  /// The user's own cases, above all others.
  case own

  /// A heading.
  public var title: String {
    switch self {
    case .detection: "Detection"
    case .synchronization: "SYN"
    case .packets: "Packets and messages"
    case .loss: "Loss, duplication and reordering"
    case .authentication: "Authentication"
    case .identification: "Identification"
    case .sessions: "External Accessory sessions"
    case .data: "Session data"
    case .plugging: "Unplugging"
    case .components: "Declared components"
    case .own: "Your own cases"
    }
  }
}

/// How a rule is known. Apple's specification is not public; the rules are compiled from open implementations, captures
/// and notes.
public enum CheckSource: Equatable, Sendable, CustomStringConvertible {
  /// Several independent sources agree.
  case agreed
  /// Captured packets whose checksums were recomputed show it.
  case captured
  /// A single source states it.
  case seenOnce
  /// No source states it, but it follows from what sources state.
  case inferred
  /// The user states it, in a file of their own cases.
  case own

  /// "agreed", "captured", "seen once", "inferred".
  public var description: String {
    switch self {
    case .agreed: "agreed"
    case .captured: "captured"
    case .seenOnce: "seen once"
    case .inferred: "inferred"
    case .own: "your own"
    }
  }
}
