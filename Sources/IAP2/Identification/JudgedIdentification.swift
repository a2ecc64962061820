/// An identification as a device took it: what was read, and what its judge says of that.
///
/// An object that never changes, because it goes from hand to hand and is large.
public final class JudgedIdentification: Equatable, Sendable {
  /// What was read.
  public let identification: Identification
  /// What the judge says.
  public let verdict: IdentificationJudge.Verdict

  /// An identification, accepted without a finding unless the verdict says otherwise.
  public init(
    _ identification: Identification,
    _ verdict: IdentificationJudge.Verdict = IdentificationJudge.Verdict(errors: [], warnings: [])
  ) {
    self.identification = identification
    self.verdict = verdict
  }

  /// The content of a 1D01, read and judged.
  convenience init(reading message: ControlMessage, _ judge: IdentificationJudge) {
    let reading = IdentificationReading(message)
    self.init(reading.identification, judge.judge(reading))
  }

  /// Whether both say the same.
  public static func == (left: JudgedIdentification, right: JudgedIdentification) -> Bool {
    left === right || (left.identification == right.identification && left.verdict == right.verdict)
  }
}

/// The last identifications that a device was sent. An accessory that comes back says the same again (in a flicker at
/// once), and the same bytes are read and judged the same: that costs a comparison then.
///
/// Bounded: of more accessories than it holds, the one remembered first is forgotten first.
public final class IdentificationMemory {
  private static let capacity = 16
  private var judge = IdentificationJudge()
  private var known: [(body: [UInt8], judged: JudgedIdentification)] = []

  /// Nothing remembered.
  public init() {}

  /// The content of a 1D01, read and judged now or before.
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

  /// Looks at every byte, without a way out at the first that differs: so the compiler takes many at a time.
  private static func areSame(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    guard left.count == right.count else { return false }
    let (left, right) = (left.span, right.span)
    var difference: UInt8 = 0
    for index in left.indices { difference |= left[index] ^ right[index] }
    return difference == 0
  }
}
