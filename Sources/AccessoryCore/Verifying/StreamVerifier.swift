/// Compares what comes with a ``UniqueStream``, and says what is wrong with it when it differs.
///
/// States: *steady* while every byte is the stream's next; *suspicious* from the first that is not. Then it only collects,
/// because what is wrong shows by what follows: a gap is a loss, unless what is missing comes behind it. ``conclude`` says
/// what was found and goes on behind it, steady again.
///
/// Invariants: while it is steady, ``position`` bytes came and all of them were right, or were told of by a conclusion;
/// it collects at most ``evidenceLimit`` bytes and counts those beyond.
public struct StreamVerifier {
  /// The most bytes that are looked at to say what is wrong.
  public static let evidenceLimit = 65_536

  /// What must come.
  public let stream: UniqueStream
  /// The place in the stream that must come next; while suspicious, that of the first byte that differs.
  public private(set) var position = 0
  private var evidence: [UInt8] = []
  private var dropped = 0

  /// Nothing has come yet.
  public init(_ stream: UniqueStream) {
    self.stream = stream
  }

  /// Whether something came that must not, which was not told yet.
  public var isSuspicious: Bool { !evidence.isEmpty }

  /// Whether nothing more is looked at: the time to conclude.
  public var isFull: Bool { evidence.count == Self.evidenceLimit }

  /// Compares what came; false when it is suspicious.
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

  /// Bytes came that are suspicious whatever they are, such as an answer to nothing.
  public mutating func collect(_ bytes: RawSpan) {
    let kept = min(bytes.byteCount, Self.evidenceLimit - evidence.count)
    bytes.extracting(0..<kept).withUnsafeBytes { evidence += $0 }
    dropped += bytes.byteCount - kept
  }

  /// Says what is wrong, and goes on behind it. Nothing when it is steady.
  public mutating func conclude(burstSize: Int? = nil) -> [StreamFinding] {
    guard isSuspicious else { return [] }
    let diagnosis = StreamDiagnosis(evidence, at: position, of: stream, burstSize: burstSize)
    // What was not looked at counts as what should have come.
    position = diagnosis.next + dropped
    evidence = []
    dropped = 0
    return diagnosis.findings
  }
}

/// The memory in which the streams of a loop are made, one stretch to send and one to compare with.
public final class UniqueScratch {
  @exclusivity(unchecked) private var outgoing = UniqueBuffer()
  @exclusivity(unchecked) private var awaited = UniqueBuffer()

  /// No stretch yet.
  public init() {}

  /// Shows the bytes of `range` of a stream to `body`, or the first ``UniqueBuffer/longest`` of them, to be sent.
  @inline(__always)
  public func show<Result>(_ stream: UniqueStream, _ range: Range<Int>, _ body: (RawSpan) -> Result) -> Result {
    // Moved out for the call, because what sends may be told of something that makes it send or compare more.
    var lent = UniqueBuffer()
    swap(&lent, &outgoing)
    defer { swap(&lent, &outgoing) }
    return lent.show(stream, range, body)
  }

  /// How many bytes from the front are those of a stream from `offset` on.
  public func match(_ bytes: RawSpan, _ stream: UniqueStream, from offset: Int) -> Int {
    outgoing.covers(stream, offset..<offset + bytes.byteCount)
      ? outgoing.match(bytes, stream, from: offset) : awaited.match(bytes, stream, from: offset)
  }
}
