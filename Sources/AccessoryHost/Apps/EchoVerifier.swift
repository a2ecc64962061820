import AccessoryCore
import IAP2

/// Compares an echo with the request, byte by byte as it arrives, without keeping it.
///
/// The position of the first difference is therefore known. If the request comes from a `UniqueStream`, everything that
/// arrives until no more bytes arrive is then collected, and the kind of mistake is known as well.
struct EchoVerifier {
  /// How long the session must be quiet after a wrong byte before the mistake is diagnosed.
  static let quiet = Duration.milliseconds(500)

  private let expected: [UInt8]
  private var verifier: StreamVerifier?
  private let scratch = UniqueScratch()
  private(set) var received = 0
  private(set) var mistake: EchoMistake?
  /// When to diagnose the bytes after the first wrong one, or nil if all bytes were correct.
  private(set) var deadline: Instant?

  init(_ expected: [UInt8], of stream: UniqueStream?) {
    self.expected = expected
    verifier = stream.map(StreamVerifier.init)
  }

  mutating func take(_ bytes: RawSpan, now: Instant) {
    guard mistake == nil else { return }
    let rest = min(bytes.byteCount, max(0, expected.count - received))
    defer { received += bytes.byteCount }
    guard verifier != nil else { return compare(bytes, rest) }
    if verifier?.check(bytes.extracting(0..<rest), scratch) == true, rest == bytes.byteCount { return }
    // Any byte that follows a complete echo is wrong.
    verifier?.collect(bytes.extracting(rest..<bytes.byteCount))
    if verifier?.isFull == true { diagnose() } else { deadline = now + Self.quiet }
  }

  private mutating func compare(_ bytes: RawSpan, _ rest: Int) {
    for offset in 0..<rest {
      let (got, place) = (bytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self), received + offset)
      guard got != expected[place] else { continue }
      let window = Hex.spaced(expected[max(0, place - 4)..<min(expected.count, place + 5)])
      mistake = .different(at: place, expected: expected[place], got: got, window: window)
      return
    }
    if rest < bytes.byteCount {
      mistake = .excess(received: received + bytes.byteCount, expected: expected.count)
    }
  }

  /// Turns the wrong bytes that have been collected, if there are any, into a mistake.
  mutating func diagnose() {
    guard let findings = verifier?.conclude(), !findings.isEmpty else { return }
    mistake = .wrong(findings)
  }

  mutating func state(now: Instant) -> ReplyCollector.State {
    if let deadline, now >= deadline { diagnose() }
    if mistake != nil { return .complete }
    return deadline == nil && received == expected.count ? .complete : .waiting(deadline)
  }
}

/// How an echo differs from the request.
public enum EchoMistake: Equatable, Sendable {
  /// The echo differs from the stream that was sent. The associated findings describe the difference.
  case wrong([StreamFinding])
  /// The echo differs at this position.
  case different(at: Int, expected: UInt8, got: UInt8, window: String)
  /// More bytes arrived than expected.
  case excess(received: Int, expected: Int)
}

extension EchoMistake: CustomStringConvertible {
  /// The mistake as a sentence.
  public var description: String {
    switch self {
    case .wrong(let findings): findings.text()
    case .different(let place, let expected, let got, let window):
      "byte \(place) is \(Hex.plain([got])) instead of \(Hex.plain([expected])); expected around it: \(window)"
    case .excess(let received, let expected):
      "\(received) bytes came back, but only \(expected) were expected"
    }
  }
}

/// The pattern that EADemo's "Send 10K" sends: 10,000 bytes that repeatedly count from 0 to 255.
public enum CountingPattern {
  /// Returns the first `count` bytes of the pattern.
  public static func bytes(_ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: $0) }
  }
}
