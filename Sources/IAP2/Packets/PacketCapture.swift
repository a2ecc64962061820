/// Splits the bytes from one end of a wire into pieces with known positions, for `easim decode`. Every byte except
/// padding belongs to a piece.
///
/// ```swift
/// let capture = PacketCapture()
/// for piece in capture.append(bytes) + capture.finish() { print(piece.range, piece.kind) }
/// ```
///
/// Zero bytes between packets count as padding. A capture of at most ``longestSkip`` bytes that starts with `40 40` and
/// contains no packet is read as bare control messages, because that is how messages are usually quoted.
///
/// Invariant: only bytes that can still become part of a piece are kept, so memory is limited to one packet plus
/// ``longestSkip`` bytes. Captures can therefore have any size.
public final class PacketCapture {
  /// A section of the capture.
  public struct Piece: Equatable, Sendable {
    /// The kinds of pieces.
    public enum Kind: Equatable, Sendable {
      case packet(PacketHeader)
      case spoiled(PacketHeader)
      /// A packet whose end is missing from the capture.
      case unfinished(PacketHeader)
      case detection
      case legacy
      case message(ControlMessage)
      case skipped(SkippedBytes)
    }

    /// The piece's kind.
    public var kind: Kind
    /// The piece's range, counted from the start of the capture.
    public var range: Range<Int>

    /// Creates a piece.
    public init(_ kind: Kind, at range: Range<Int>) {
      self.kind = kind
      self.range = range
    }
  }

  /// The approximate maximum size of a piece that lies outside packets.
  public static let longestSkip = 1 << 20

  private var window: [UInt8] = []
  private var start = 0
  private var end: Int { start + window.count }
  private var scanner = PacketScanner()
  /// Bytes skipped since the last piece, which are reported once their end is known.
  private var skip: (bytes: SkippedBytes, range: Range<Int>)?
  /// True until a packet is found; until then, skipped bytes may be bare control messages.
  private var isBare = true

  /// Creates an empty capture.
  public init() {}

  /// Appends bytes and returns the pieces that they complete. The bytes of the returned pieces stay available until the
  /// next call.
  public func append(_ more: [UInt8]) -> [Piece] {
    forget()
    let base = end
    window += more
    var pieces: [Piece] = []
    var offset = 0
    while let found = scanner.next(in: more.span.bytes, at: &offset) {
      let position = base + offset - scanner.heldCount
      pieces += piece(found, endingAt: position)
    }
    return pieces
  }

  /// Returns the bytes of a piece that the last call returned.
  public func bytes(of piece: Piece) -> ArraySlice<UInt8> {
    window[piece.range.lowerBound - start..<piece.range.upperBound - start]
  }

  private func forget() {
    if mayBeMessages {
      if window.count <= Self.longestSkip { return }
      isBare = false
    }
    // The scanner may have skipped bytes that it has not reported yet.
    let undecided = end - scanner.heldCount - SkippedBytes.reportSize
    let unneeded = min(skip?.range.lowerBound ?? .max, undecided) - start
    // Moving the remaining bytes takes time, so bytes are dropped only once they fill half of the window.
    guard unneeded > window.count / 2 else { return }
    window.removeFirst(unneeded)
    start += unneeded
  }

  private var mayBeMessages: Bool { isBare && start == 0 && window.starts(with: [0x40, 0x40]) }

  private func piece(_ found: PacketScanner.Piece, endingAt position: Int) -> [Piece] {
    switch found {
    case .packet(let header, _): return whole(.packet(header), Int(header.length), position)
    case .spoiled(let header, _): return whole(.spoiled(header), Int(header.length), position)
    case .detection: return whole(.detection, 6, position)
    case .legacy(.input(let range)), .legacy(.carry(let range)): return whole(.legacy, range.count, position)
    case .skipped(let skipped):
      hold(skipped, endingAt: position)
      guard let skip, skip.range.count >= Self.longestSkip else { return [] }
      isBare = false
      return takeSkip()
    }
  }

  private func whole(_ kind: Piece.Kind, _ length: Int, _ position: Int) -> [Piece] {
    isBare = false
    return takeSkip() + [Piece(kind, at: position - length..<position)]
  }

  /// Merges skipped bytes, which the scanner reports in chunks, into one piece.
  private func hold(_ skipped: SkippedBytes, endingAt position: Int) {
    guard var held = skip else {
      skip = (skipped, position - skipped.count..<position)
      return
    }
    held.bytes.join(skipped)
    skip = (held.bytes, held.range.lowerBound..<position)
  }

  private func takeSkip() -> [Piece] {
    defer { skip = nil }
    return skip.map { [Piece(.skipped($0.bytes), at: $0.range)] } ?? []
  }

  /// Ends the capture and returns the pieces that remain, even if incomplete.
  public func finish() -> [Piece] {
    let held = end - scanner.heldCount..<end
    let header = scanner.heldHeader
    if header == nil, mayBeMessages { return messages() }
    if header != nil { scanner.forget() }
    if let skipped = scanner.finish() {
      hold(skipped, endingAt: header == nil ? held.upperBound : held.lowerBound)
    }
    return takeSkip() + (header.map { [Piece(.unfinished($0), at: held)] } ?? [])
  }

  private func messages() -> [Piece] {
    var stream = ControlStream()
    stream.append(window.span.bytes)
    var pieces: [Piece] = []
    var at = 0
    while let item = stream.next() {
      let start = at
      switch item {
      case .message(let message):
        at += message.body.count + ControlMessage.headerSize
        pieces.append(Piece(.message(message), at: start..<at))
      case .garbage(let garbage):
        at += garbage.count
        pieces.append(Piece(.skipped(SkippedBytes(garbage)), at: start..<at))
      }
    }
    if at < end { pieces.append(Piece(.skipped(SkippedBytes(window[at...])), at: at..<end)) }
    return pieces
  }
}
