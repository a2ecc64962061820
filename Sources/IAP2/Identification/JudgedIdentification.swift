/// An identification that was read and checked.
///
/// An immutable object, because it is large and passed to many owners.
public final class JudgedIdentification: Equatable, Sendable {
  /// The identification.
  public let identification: Identification
  /// The result of the check.
  public let verdict: IdentificationJudge.Verdict

  /// An identification, accepted without a finding unless the verdict says otherwise.
  public init(
    _ identification: Identification,
    _ verdict: IdentificationJudge.Verdict = IdentificationJudge.Verdict(errors: [], warnings: [])
  ) {
    self.identification = identification
    self.verdict = verdict
  }

  /// Reads and checks the content of a 1D01.
  convenience init(reading message: ControlMessage, _ judge: IdentificationJudge) {
    let reading = IdentificationReading(message)
    self.init(reading.identification, judge.judge(reading))
  }

  /// Whether both say the same.
  public static func == (left: JudgedIdentification, right: JudgedIdentification) -> Bool {
    left === right || (left.identification == right.identification && left.verdict == right.verdict)
  }
}

/// The last identifications that were sent to a device. An accessory that comes back, as in a flicker, sends the same
/// bytes again; comparing them costs less than reading and checking.
///
/// Limited in number; the oldest is dropped first.
public final class IdentificationMemory {
  private static let capacity = 16
  private var judge = IdentificationJudge()
  private var known: [(body: [UInt8], judged: JudgedIdentification)] = []

  /// Nothing remembered.
  public init() {}

  /// The content of a 1D01, read and checked now or earlier.
  func judged(_ message: ControlMessage, by judge: IdentificationJudge) -> JudgedIdentification {
    if judge != self.judge {
      self.judge = judge
      known.removeAll()
    }
    for one in known where Self.areSame(one.body, message.body) { return one.judged }
    let judged = JudgedIdentification(reading: message, judge)
    if known.count == Self.capacity { known.removeFirst() }
    known.append((message.body, judged))
    return judged
  }

  /// Compares every byte, without an early exit, so that the compiler can use vectors.
  private static func areSame(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    guard left.count == right.count else { return false }
    let (left, right) = (left.span, right.span)
    var difference: UInt8 = 0
    for index in left.indices { difference |= left[index] ^ right[index] }
    return difference == 0
  }
}
