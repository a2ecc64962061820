/// Compares received bytes with a ``UniqueStream``, and diagnoses differences.
///
/// The verifier is *steady* while every byte is the next byte of the stream, and *suspicious* after the first wrong
/// byte. A suspicious verifier only collects bytes, because the diagnosis depends on later bytes: a gap is a loss,
/// unless the missing bytes arrive later. ``conclude`` returns the findings and makes the verifier steady again.
///
/// Invariants: a steady verifier has received ``position`` bytes, each of which was correct or has been reported. At
/// most ``evidenceLimit`` bytes are collected; further bytes are only counted.
public struct StreamVerifier {
  /// The maximum number of bytes examined for a diagnosis.
  public static let evidenceLimit = 65_536

  /// The expected stream.
  public let stream: UniqueStream
  /// The next expected position in the stream; in a suspicious verifier, the position of the first wrong byte.
  public private(set) var position = 0
  private var evidence: [UInt8] = []
  private var dropped = 0

  /// Creates a verifier that expects the start of the stream.
  public init(_ stream: UniqueStream) {
    self.stream = stream
  }

  /// Whether a wrong byte has arrived and has not been reported yet.
  public var isSuspicious: Bool { !evidence.isEmpty }

  /// True if no more bytes can be collected and ``conclude(_:)`` should be called.
  public var isFull: Bool { evidence.count == Self.evidenceLimit }

  /// Compares received bytes. Returns false if a wrong byte has arrived and has not been reported yet.
  @inline(__always)
  public mutating func check(_ bytes: RawSpan, _ scratch: UniqueScratch) -> Bool {
    if evidence.isEmpty {
      let same = scratch.match(bytes, stream, from: position)
      position += same
      if same == bytes.byteCount { return true }
      collect(bytes.extracting(same..<bytes.byteCount))
    } else {
      collect(bytes)
    }
    return false
  }

  /// Skips bytes of the stream that will not be echoed.
  public mutating func skip(_ count: Int) { position += count }

  /// Collects bytes that are suspicious whatever their value, for example because they were not requested.
  public mutating func collect(_ bytes: RawSpan) {
    let kept = min(bytes.byteCount, Self.evidenceLimit - evidence.count)
    bytes.extracting(0..<kept).withUnsafeBytes { evidence += $0 }
    dropped += bytes.byteCount - kept
  }

  /// Returns the findings, and then expects the bytes that follow the collected ones. A steady verifier has no
  /// findings.
  public mutating func conclude(_ cuts: StreamCuts = .none) -> [StreamFinding] {
    guard isSuspicious else { return [] }
    let diagnosis = StreamDiagnosis(evidence, at: position, of: stream, cuts: cuts)
    // Bytes that were not examined count as correct.
    position = diagnosis.next + dropped
    evidence = []
    dropped = 0
    return diagnosis.findings
  }
}

/// Memory that a loop uses to generate stream segments: one buffer for sending and one for comparing.
public final class UniqueScratch {
  @exclusivity(unchecked) private var outgoing = UniqueBuffer()
  @exclusivity(unchecked) private var awaited = UniqueBuffer()

  /// Creates empty buffers.
  public init() {}

  /// Passes the stream's bytes in `range` to `body` for sending, up to ``UniqueBuffer/longest`` bytes.
  @inline(__always)
  public func show<Result>(_ stream: UniqueStream, _ range: Range<Int>, _ body: (RawSpan) -> Result) -> Result {
    // The buffer is moved out during the call, because `body` may cause a notification that makes the sender send or
    // compare more bytes.
    var lent = UniqueBuffer()
    swap(&lent, &outgoing)
    defer { swap(&lent, &outgoing) }
    return lent.show(stream, range, body)
  }

  /// Returns how many leading bytes match the stream's bytes that start at `offset`.
  public func match(_ bytes: RawSpan, _ stream: UniqueStream, from offset: Int) -> Int {
    outgoing.covers(stream, offset..<offset + bytes.byteCount)
      ? outgoing.match(bytes, stream, from: offset) : awaited.match(bytes, stream, from: offset)
  }
}
