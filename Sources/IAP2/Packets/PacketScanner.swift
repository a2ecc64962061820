/// Finds packets in a byte stream, regardless of how the stream is split, joined or damaged.
///
/// The link, packet faults, transcripts and `easim decode` all use this type, so they agree on what the wire shows.
///
/// The scanner recognizes:
/// - `FF 5A` and a header with a correct checksum: a packet, or a spoiled packet if the payload checksum is wrong.
/// - `FF 55` and a frame with a correct checksum: the detection sequence, or another iAP1 frame.
/// - Anything else: skipped up to the next `FF` and reported before the next piece. Zero bytes between packets are
///   skipped without a report, because some USB stacks add them as padding.
///
/// Invariants: every byte belongs to exactly one piece or skipped range, or is still in `carry`. The buffer `carry`
/// holds at most one packet (65,535 bytes). Complete packets in the input are not copied.
public struct PacketScanner: ~Copyable {
  /// The location of a piece's bytes.
  public enum Place: Equatable, Sendable {
    /// The bytes are in this range of the input passed to `next`.
    case input(Range<Int>)
    /// The bytes arrived in parts, so the scanner holds them; see ``PacketScanner/lendCarry()``.
    case carry(Range<Int>)
  }

  /// A piece of the stream.
  public enum Piece: Equatable, Sendable {
    case packet(PacketHeader, Place)
    case spoiled(PacketHeader, Place)
    case detection
    case legacy(Place)
    case skipped(SkippedBytes)
  }

  @usableFromInline var carry = ScannerCarry()
  private var skipped = SkippedBytes()
  private let maximumLength: UInt16
  /// This limit is generous, because iAP1-only devices send only two answers, with payloads of 2 and 4 bytes.
  private static let longestLegacyPayload: UInt8 = 32

  /// Creates a scanner that rejects packets longer than `maximumLength`.
  public init(maximumLength: UInt16 = .max) {
    self.maximumLength = maximumLength
  }

  /// Returns the next piece in `bytes` at or after `offset`, or nil if no complete piece is left. An incomplete piece
  /// is kept for the next call.
  ///
  /// ```swift
  /// var offset = 0
  /// while let piece = scanner.next(in: bytes, at: &offset) { … }
  /// ```
  @inlinable
  public mutating func next(in bytes: RawSpan, at offset: inout Int) -> Piece? {
    if offset == 0, keeps(bytes) {
      offset = bytes.byteCount
      return nil
    }
    return search(bytes, &offset)
  }

  /// Calls `body` with each piece in `bytes` and that piece's bytes; a skipped range is passed without its bytes.
  ///
  /// ```swift
  /// scanner.forEach(in: bytes) { piece, packet in … }
  /// ```
  public mutating func forEach(in bytes: RawSpan, _ body: (_ piece: Piece, _ bytes: RawSpan) -> Void) {
    var offset = 0
    while let piece = next(in: bytes, at: &offset) {
      switch piece {
      case .packet(_, .input(let range)), .spoiled(_, .input(let range)), .legacy(.input(let range)):
        body(piece, bytes.extracting(range))
      case .packet(_, .carry(let range)), .spoiled(_, .carry(let range)), .legacy(.carry(let range)):
        carry.with(range) { body(piece, $0) }
      case .detection:
        let detection = PacketWriter.detection
        body(piece, detection.span.bytes)
      case .skipped: body(piece, bytes.extracting(0..<0))
      }
    }
  }

  /// Stores bytes that cannot complete a piece: a fast path for bytes that arrive in small parts in the middle of a
  /// packet.
  @inlinable
  mutating func keeps(_ bytes: RawSpan) -> Bool {
    carry.keepQuietly(bytes)
  }

  /// The number of received bytes that are not yet part of a piece or skipped range.
  public var heldCount: Int { carry.undecided }

  /// The number of zero bytes skipped as padding.
  public var paddingBytes: Int { skipped.padding }

  /// The header of the incomplete packet, once it has arrived.
  public var heldHeader: PacketHeader? {
    carry.withUndecided { held in
      guard held.count >= PacketHeader.size, held[0] == 0xFF, held[1] == 0x5A else { return nil }
      return PacketHeader(held)
    }
  }

  /// Ends the stream, and returns any skipped bytes at the stream's end, including an incomplete packet.
  public mutating func finish() -> SkippedBytes? {
    _ = carry.withUndecided { skipped.add($0, isEnd: true) }
    forget()
    return skipped.take()
  }

  /// Abandons an incomplete piece whose remaining bytes will not arrive. The piece's first byte is skipped, and
  /// ``next(in:at:)`` searches the other bytes again, even without new input.
  public mutating func abandonPiece() {
    guard carry.undecided > 0 else { return }
    carry.decide(carry.withUndecided { skipped.add(.init(rebasing: $0[..<1])) })
    carry.decide(carry.withUndecided { skipped.addUpToMark($0) })
  }

  /// Discards any incomplete piece when the link restarts.
  public mutating func forget() {
    carry.clear()
  }

  /// Lends the bytes of a piece whose place is `.carry`; the borrower must return them before the next call. The bytes
  /// are moved out of the scanner, so that the borrower can modify its other state while it holds the bytes.
  public mutating func lendCarry() -> ScannerCarry {
    var lent = ScannerCarry()
    swap(&lent, &carry)
    return lent
  }

  /// Takes back the bytes that ``lendCarry()`` lent.
  public mutating func returnCarry(_ bytes: consuming ScannerCarry) {
    carry = bytes
  }
}

extension PacketScanner {
  private enum Verdict {
    case needsMore(Int)
    case nothing
    case packet(PacketHeader)
    case spoiled(PacketHeader)
    case detection
    case legacy(length: Int)

    var length: Int? {
      switch self {
      case .needsMore, .nothing: nil
      case .packet(let header), .spoiled(let header): Int(header.length)
      case .detection: PacketWriter.detection.count
      case .legacy(let length): length
      }
    }

    func piece(at place: Place) -> Piece {
      switch self {
      case .packet(let header): .packet(header, place)
      case .spoiled(let header): .spoiled(header, place)
      case .detection: .detection
      case .legacy: .legacy(place)
      case .needsMore, .nothing: preconditionFailure("a verdict without a length is not a piece")
      }
    }
  }

  @usableFromInline
  mutating func search(_ bytes: RawSpan, _ offset: inout Int) -> Piece? {
    // Most reads end with a packet.
    if offset == bytes.byteCount, carry.count == 0, skipped.count == 0 { return nil }
    return bytes.withUnsafeBytes { search($0, &offset) }
  }

  private mutating func search(_ bytes: UnsafeRawBufferPointer, _ offset: inout Int) -> Piece? {
    while true {
      if skipped.isDue { return skipped.take().map(Piece.skipped) }
      if carry.undecided == 0 {
        forget()
        if offset == bytes.count { return nil }
        if bytes[offset] != 0xFF {
          offset += skipped.addUpToMark(.init(rebasing: bytes[offset...]))
          continue
        }
        let verdict = Self.judge(.init(rebasing: bytes[offset...]), maximumLength)
        if let length = verdict.length {
          // Skipped bytes are reported before the piece that follows them, which the next call finds again.
          if skipped.count > 0, let skip = skipped.take() { return .skipped(skip) }
          offset += length
          return verdict.piece(at: .input(offset - length..<offset))
        }
        if case .needsMore(let count) = verdict {
          keep(bytes, &offset, upTo: count)
          return nil
        }
        offset += skipped.add(.init(rebasing: bytes[offset..<offset + 1]))
      } else {
        let limit = maximumLength
        let verdict = carry.withUndecided { Self.judge($0, limit) }
        if let length = verdict.length {
          if skipped.count > 0, let skip = skipped.take() { return .skipped(skip) }
          return verdict.piece(at: .carry(carry.decide(length)))
        }
        if case .needsMore(let count) = verdict {
          keep(bytes, &offset, upTo: count)
          if carry.undecided < count { return nil }
        } else {
          carry.decide(carry.withUndecided { skipped.add(.init(rebasing: $0[..<1])) })
          carry.decide(carry.withUndecided { skipped.addUpToMark($0) })
        }
      }
    }
  }

  /// Moves input to `carry` until `carry` contains `count` undecided bytes or the input is used up.
  private mutating func keep(_ bytes: UnsafeRawBufferPointer, _ offset: inout Int, upTo count: Int) {
    carry.reserve(count)
    let taken = min(count - carry.undecided, bytes.count - offset)
    carry.append(.init(rebasing: bytes[offset..<offset + taken]))
    offset += taken
  }

  /// Classifies `bytes`, which start with FF. The function is static, because a method call would copy the whole
  /// scanner.
  private static func judge(_ bytes: UnsafeRawBufferPointer, _ maximumLength: UInt16) -> Verdict {
    guard bytes.count >= 2 else { return .needsMore(2) }
    switch bytes[1] {
    case 0x5A:
      guard bytes.count >= PacketHeader.size else { return .needsMore(PacketHeader.size) }
      guard let header = PacketHeader(bytes), header.length <= maximumLength else { return .nothing }
      let length = Int(header.length)
      guard bytes.count >= length else { return .needsMore(length) }
      if length > PacketHeader.size, Checksum.sum(UnsafeRawBufferPointer(rebasing: bytes[9..<length]).bytes) != 0 {
        return .spoiled(header)
      }
      return .packet(header)
    case 0x55:
      guard bytes.count >= 3 else { return .needsMore(3) }
      // Length 0 introduces iAP1's long form, which no known device sends here. Waiting for a long frame would also
      // hide real probes that arrive in the meantime.
      guard bytes[2] != 0, bytes[2] <= longestLegacyPayload else { return .nothing }
      let length = Int(bytes[2]) + 4
      guard bytes.count >= length else { return .needsMore(length) }
      guard Checksum.sum(UnsafeRawBufferPointer(rebasing: bytes[2..<length]).bytes) == 0 else { return .nothing }
      let isDetection = length == 6 && bytes[3] == 0x00 && bytes[4] == 0xEE
      return isDetection ? .detection : .legacy(length: length)
    default:
      return .nothing
    }
  }
}

/// Stores the first bytes of an incomplete piece until the rest arrive.
///
/// ```
///   │ decided │ undecided │ free │
/// ```
///
/// This type allocates its own memory instead of using an array. Streams can arrive byte by byte, and an array checks
/// on each append whether it is shared, which costs more than all the other work. No other type uses the pointer.
public struct ScannerCarry: ~Copyable {
  // These members are inlinable, like all code in the scanner and the peers that handles single bytes, because a call
  // would cost more than handling the byte.

  @usableFromInline var memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
  private var head = 0
  @usableFromInline var count = 0
  /// Bytes before this position cannot complete a piece, so they are only stored. The value is one less than the number
  /// of bytes reserved for the piece.
  @usableFromInline var quietEnd = 0

  init() {}

  deinit { memory.deallocate() }

  var undecided: Int { count - head }

  mutating func clear() {
    head = 0
    count = 0
    quietEnd = 0
  }

  mutating func reserve(_ total: Int) {
    if total > memory.count {
      let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: max(total, 2 * memory.count), alignment: 16)
      withUndecided { larger.copyMemory(from: $0) }
      memory.deallocate()
      memory = larger
    } else if head > 0 {
      withUndecided { memory.copyMemory(from: $0) }
    }
    count -= head
    head = 0
    quietEnd = total - 1
  }

  /// Appends bytes, unless there are none or they might complete a piece.
  @inlinable
  mutating func keepQuietly(_ bytes: RawSpan) -> Bool {
    let end = count &+ bytes.byteCount
    guard end <= quietEnd, end > count else { return false }
    if bytes.byteCount == 1 {
      memory[count] = bytes.unsafeLoad(fromByteOffset: 0, as: UInt8.self)
      count = end
    } else {
      bytes.withUnsafeBytes { append($0) }
    }
    return true
  }

  @usableFromInline
  mutating func append(_ bytes: UnsafeRawBufferPointer) {
    UnsafeMutableRawBufferPointer(rebasing: memory[count...]).copyMemory(from: bytes)
    count += bytes.count
  }

  /// Marks the first `length` undecided bytes as a piece or skipped range, and returns their range.
  @discardableResult
  mutating func decide(_ length: Int) -> Range<Int> {
    head += length
    quietEnd = 0
    return head - length..<head
  }

  func withUndecided<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    body(UnsafeRawBufferPointer(rebasing: memory[head..<count]))
  }

  /// Passes a piece's bytes to `body`, given the range that the scanner returned for the piece.
  public func with<Result>(_ range: Range<Int>, _ body: (RawSpan) -> Result) -> Result {
    precondition(range.upperBound <= count, "a piece must lie within the scanner's kept bytes")
    return body(UnsafeRawBufferPointer(rebasing: memory[range]).bytes)
  }
}
