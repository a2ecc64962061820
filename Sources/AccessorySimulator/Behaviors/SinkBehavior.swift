import AccessoryCore
import AccessorySessions
import IAP2

/// Reads and discards bytes. If `checks` is set, the bytes must come from `easim burst`, `easim send --size` or EADemo.
/// Lost, repeated, reordered, corrupted and unrelated bytes cause warnings.
public struct SinkBehavior: AccessoryBehavior {
  private let checks: Bool

  /// Creates a sink.
  public init(checks: Bool = false) {
    self.checks = checks
  }

  /// Returns a handler that accepts all bytes.
  public func makeHandler(for session: Session, in context: BehaviorContext) -> any SessionHandler {
    checks ? CheckingSink(context) : Discarder()
  }

  private final class CheckingSink: SessionHandler {
    /// How long a session must be quiet after a wrong byte before the mistake is analyzed.
    private static let quiet = Duration.milliseconds(500)

    private let context: BehaviorContext
    private var check = SinkCheck()
    private var timer: LoopTimer?

    init(_ context: BehaviorContext) {
      self.context = context
    }

    deinit { timer?.cancel() }

    func sessionIsReadable(_ session: Session) {
      session.read { bytes in
        log(check.receive(bytes))
        return bytes.byteCount
      }
      guard check.isSuspicious else { return }
      timer = timer ?? context.loop.makeTimer { [unowned self] in log(check.conclude()) }
      timer?.arm(at: context.loop.now + Self.quiet)
    }

    func sessionIsWritable(_ session: Session) {}

    func session(_ session: Session, endedWith end: SessionEnd) {
      timer?.cancel()
      sessionIsReadable(session)
      timer?.cancel()
      log(check.end())
    }

    private func log(_ texts: [String]) {
      for text in texts { context.warn(text) }
    }
  }
}

/// Checks whether received bytes are a `UniqueStream` from any run and session, or the incrementing bytes that EADemo
/// sends with "Send 10K".
///
/// The check is `undecided` until enough bytes have arrived. After that, the check is `unique`, `counting`, or
/// `unknown`. Unknown bytes are not checked. After a mistake, the check resumes with the bytes that follow, so each
/// mistake is reported only once.
struct SinkCheck {
  private enum State {
    case undecided([UInt8])
    case unique(StreamVerifier)
    case counting(CountingCheck)
    case unknown
  }

  private static let told = 10

  private let scratch = UniqueScratch()
  private var state = State.undecided([])
  private var tally: [(kind: String, count: Int)] = []
  private var count = 0

  mutating func receive(_ bytes: RawSpan) -> [String] {
    switch state {
    case .undecided(var head):
      bytes.withUnsafeBytes { head += $0 }
      state = .undecided(head)
      return decide(isOver: false)
    case .unique(var verifier):
      // Moving the verifier out of the property avoids copying the bytes that it has collected.
      state = .unknown
      let isRight = verifier.check(bytes, scratch)
      state = .unique(verifier)
      return isRight || !verifier.isFull ? [] : conclude()
    case .counting(var counting):
      let wrong = counting.receive(bytes)
      state = .counting(counting)
      return wrong.compactMap { log("corrupted", $0) }
    case .unknown: return []
    }
  }

  /// Whether ``conclude()`` must be called once no more bytes arrive, to diagnose a possible mistake.
  var isSuspicious: Bool { if case .unique(let verifier) = state { verifier.isSuspicious } else { false } }

  mutating func conclude() -> [String] {
    guard case .unique(var verifier) = state else { return [] }
    let findings = verifier.conclude()
    state = .unique(verifier)
    return findings.compactMap { log($0.kind.rawValue, $0.text()) }
  }

  mutating func end() -> [String] {
    let last = decide(isOver: true) + conclude()
    if count <= 1 { return last }
    return last + ["in all: \(tally.map { "\($0.count) \($0.kind)" }.joined(separator: ", "))"]
  }

  // MARK: Identifying the bytes

  private mutating func decide(isOver: Bool) -> [String] {
    guard case .undecided(let head) = state, !head.isEmpty else { return [] }
    let size = UniqueStream.blockSize
    if head.count >= (isOver ? 1 : size), zip(head.prefix(size), 0...).allSatisfy({ Int($0) == $1 }) {
      state = .counting(CountingCheck())
    } else if head.count < size {
      return isOver ? [unknown(head)] : []
    } else if let stream = Self.stream(of: head) {
      state = .unique(StreamVerifier(stream))
    } else {
      guard isOver || head.count >= 2 * size else { return [] }
      return [unknown(head)]
    }
    return receive(head.span.bytes)
  }

  /// Identifies a stream by its first block or, if that block is missing, by any two consecutive blocks.
  private static func stream(of head: [UInt8]) -> UniqueStream? {
    let first = UniqueStream.place(of: head.span.bytes, at: 0)
    if first.offset == 0 { return UniqueStream(seed: first.seed, session: first.session) }
    for start in 0..<max(0, head.count - 2 * UniqueStream.blockSize + 1) {
      let place = UniqueStream.place(of: head.span.bytes, at: start)
      let next = UniqueStream.place(of: head.span.bytes, at: start + UniqueStream.blockSize)
      if place.seed == next.seed, place.session == next.session, next.offset == place.offset + UniqueStream.blockSize {
        return UniqueStream(seed: place.seed, session: place.session)
      }
    }
    return nil
  }

  private mutating func unknown(_ head: [UInt8]) -> String {
    state = .unknown
    return "the bytes are not checked, because neither easim burst nor EADemo sends such bytes: "
      + "\(Hex.spaced(head.prefix(8)))\(head.count > 8 ? " …" : "")"
  }

  // MARK: Reports

  private mutating func log(_ kind: String, _ text: String) -> String? {
    count += 1
    if let index = tally.firstIndex(where: { $0.kind == kind }) {
      tally[index].count += 1
    } else {
      tally.append((kind, 1))
    }
    if count == Self.told { return "\(text); further errors are only counted" }
    return count < Self.told ? text : nil
  }
}

/// Checks bytes that count 00, 01 … ff, 00 … and start over with every burst. The length of a burst is not known until
/// the second burst begins.
struct CountingCheck: Equatable {
  private var count = 0
  private var start = 0
  private var burst: Int?

  mutating func receive(_ bytes: RawSpan) -> [String] {
    var wrong: [String] = []
    for index in 0..<bytes.byteCount {
      let got = bytes.unsafeLoad(fromByteOffset: index, as: UInt8.self)
      let expected = UInt8(truncatingIfNeeded: count - start)
      let isNewBurst = got == 0 && (burst ?? count - start) == count - start
      if isNewBurst, count > start {
        if expected != 0 || burst != nil { (burst, start) = (count - start, count) }
      } else if got != expected {
        wrong.append("byte \(count) is \(Hex.plain([got])) instead of \(Hex.plain([expected])), the next in the count")
        // The check continues from the value that was received, and determines the length of the bursts again.
        start = count - Int(got)
        burst = nil
      }
      count += 1
    }
    return wrong
  }
}
