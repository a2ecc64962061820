/// Compares received bytes with a ``UniqueStream``, and diagnoses differences.
///
/// States: *steady* while every byte is the stream's next one; *suspicious* from the first wrong byte on. It then only
/// collects, because the diagnosis depends on what follows: a gap is a loss, unless the missing bytes come later.
/// ``conclude`` returns the findings and returns to steady.
///
/// Invariants: while steady, ``position`` bytes were received, and each was correct or part of a conclusion. At most
/// ``evidenceLimit`` bytes are collected; the rest are counted.
public struct StreamVerifier {
  /// The largest number of bytes that are examined for a diagnosis.
  public static let evidenceLimit = 65_536

  /// What must come.
  public let stream: UniqueStream
  /// The place in the stream that must come next; while suspicious, the place of the first byte that differs.
  public private(set) var position = 0
  private var evidence: [UInt8] = []
  private var dropped = 0

  /// Nothing has arrived yet.
  public init(_ stream: UniqueStream) {
    self.stream = stream
  }

  /// Whether a wrong byte has not been reported yet.
  public var isSuspicious: Bool { !evidence.isEmpty }

  /// Whether no more bytes are collected, so that it is time to conclude.
  public var isFull: Bool { evidence.count == Self.evidenceLimit }

  /// Compares received bytes; returns false once the stream is suspicious.
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

  /// This many bytes of the stream are sent without coming back.
  public mutating func skip(_ count: Int) { position += count }

  /// Bytes arrived that are suspicious regardless of their value, for example because nothing asked for them.
  public mutating func collect(_ bytes: RawSpan) {
    let kept = min(bytes.byteCount, Self.evidenceLimit - evidence.count)
    bytes.extracting(0..<kept).withUnsafeBytes { evidence += $0 }
    dropped += bytes.byteCount - kept
  }

  /// Returns the findings, and continues after them. Empty while steady.
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

/// The memory in which a loop's streams are generated: one stretch to send and one to compare with.
public final class UniqueScratch {
  @exclusivity(unchecked) private var outgoing = UniqueBuffer()
  @exclusivity(unchecked) private var awaited = UniqueBuffer()

  /// No stretch yet.
  public init() {}

  /// Passes the bytes of `range` of a stream to `body` to be sent; if there are more than ``UniqueBuffer/longest``,
  /// only the first of them.
  @inline(__always)
  public func show<Result>(_ stream: UniqueStream, _ range: Range<Int>, _ body: (RawSpan) -> Result) -> Result {
    // The buffer is moved out for the call, because a sender may be notified of something that makes it send or compare
    // more.
    var lent = UniqueBuffer()
    swap(&lent, &outgoing)
    defer { swap(&lent, &outgoing) }
    return lent.show(stream, range, body)
  }

  /// How many bytes from the front match a stream from `offset` on.
  public func match(_ bytes: RawSpan, _ stream: UniqueStream, from offset: Int) -> Int {
    outgoing.covers(stream, offset..<offset + bytes.byteCount)
      ? outgoing.match(bytes, stream, from: offset) : awaited.match(bytes, stream, from: offset)
  }
}
