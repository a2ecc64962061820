/// Finds packets in a byte stream, however it is split, joined or spoiled.
///
/// The link, packet faults, transcripts and `easim decode` all read through this one type, so that there is one answer
/// to the question what is on the wire.
///
/// What the wire shows, and what becomes of it:
/// - `FF 5A` and a header whose checksum is right: a packet; with a wrong payload checksum, a spoiled one.
/// - `FF 55` and a frame whose checksum is right: the detection sequence, or another frame of iAP1.
/// - anything else is stepped over one byte at a time, to the next `FF`, and reported with the next find.
///   Zero bytes between packets are padding that some USB stacks leave: stepped over without a word.
///
/// Invariants: every byte given is, once, part of a piece, of a skip, or still in `carry`; `carry` never holds more
/// than one packet (65,535 bytes); whole packets inside the input are never copied.
public struct PacketScanner: ~Copyable {
  /// Where the bytes of a piece lie.
  public enum Place: Equatable, Sendable {
    /// In the bytes handed to `next`, at this range.
    case input(Range<Int>)
    /// In the scanner, because they came in parts: see ``PacketScanner/lendCarry()``.
    case carry(Range<Int>)
  }

  /// What was found.
  public enum Piece: Equatable, Sendable {
    /// A packet whose checksums are right.
    case packet(PacketHeader, Place)
    /// A packet whose header is right and whose payload is not.
    case spoiled(PacketHeader, Place)
    /// The detection sequence.
    case detection
    /// A frame of iAP1 other than the detection sequence.
    case legacy(Place)
    /// Bytes that belong to nothing.
    case skipped(SkippedBytes)
  }

  private var carry: [UInt8] = []
  /// Where the first byte not yet part of a piece lies in `carry`.
  private var head = 0
  /// How many bytes from `head` on decide what comes next.
  private var needed = 0
  private var skipped = SkippedBytes()
  private let maximumLength: UInt16
  /// The two answers of an iAP1-only device have payloads of 2 and 4 bytes.
  private static let longestLegacyPayload: UInt8 = 32

  /// A scanner that takes no packet longer than `maximumLength`.
  public init(maximumLength: UInt16 = .max) {
    self.maximumLength = maximumLength
  }

  /// The next piece in `bytes` from `offset` on; nil when they are used up, the rest being kept for the next call.
  ///
  /// ```swift
  /// var offset = 0
  /// while let piece = scanner.next(in: bytes, at: &offset) { … }
  /// ```
  public mutating func next(in bytes: RawSpan, at offset: inout Int) -> Piece? {
    let available = bytes.byteCount - offset
    // The short way for bytes that come one at a time into the middle of a packet.
    if available == 1, carry.count - head + 1 < needed {
      carry.append(bytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self))
      offset += 1
      return nil
    }
    return bytes.withUnsafeBytes { search($0, &offset) }
  }

  /// How many of the bytes given last belong to a piece that is not whole yet.
  public var heldCount: Int { carry.count - head }

  /// The header of the packet that is not whole yet, as far as it is known.
  public var heldHeader: PacketHeader? {
    carry.withUnsafeBytes { bytes in
      let held = UnsafeRawBufferPointer(rebasing: bytes[head...])
      guard held.count >= PacketHeader.size, held[0] == 0xFF, held[1] == 0x5A else { return nil }
      return PacketHeader(held)
    }
  }

  /// Ends the stream: what was skipped last, an unfinished packet included; nil when nothing was left over.
  public mutating func finish() -> SkippedBytes? {
    _ = carry.withUnsafeBytes { skipped.add(.init(rebasing: $0[head...]), isEnd: true) }
    forget()
    return skipped.take()
  }

  /// Drops an unfinished piece, for a link that starts anew.
  public mutating func forget() {
    carry.removeAll(keepingCapacity: true)
    head = 0
    needed = 0
  }

  /// How many of the bytes given are not part of a piece or a skip yet.
  public var undecidedCount: Int { carry.count - head }

  /// Lends the bytes of a piece whose place is `.carry`; to be given back before the next call. Lent and not shown, so
  /// that the borrower may change everything else that it owns meanwhile.
  public mutating func lendCarry() -> [UInt8] {
    var lent: [UInt8] = []
    swap(&lent, &carry)
    return lent
  }

  /// Takes back what ``lendCarry()`` lent.
  public mutating func returnCarry(_ bytes: consuming [UInt8]) {
    carry = bytes
  }
}

extension PacketScanner {
  /// What the bytes at one place turned out to be.
  private enum Verdict {
    case needsMore(Int)
    case nothing
    case piece(Piece, length: Int)
  }

  private mutating func search(_ bytes: UnsafeRawBufferPointer, _ offset: inout Int) -> Piece? {
    while true {
      if skipped.isDue { return skipped.take().map(Piece.skipped) }
      if head == carry.count, head > 0 { forget() }
      let verdict: Verdict
      if carry.isEmpty {
        offset += skipped.addUpToMark(.init(rebasing: bytes[offset...]))
        if skipped.isDue { continue }
        if offset == bytes.count { return nil }
        verdict = judge(.init(rebasing: bytes[offset...])) { .input(offset..<offset + $0) }
        switch verdict {
        case .needsMore(let count):
          keep(bytes, &offset, upTo: count)
          return nil
        case .nothing:
          offset += skipped.add(.init(rebasing: bytes[offset..<offset + 1]))
        case .piece(let piece, let length):
          // What was skipped comes before what ended the skipping; the piece is then found again.
          if let skip = skipped.take() { return .skipped(skip) }
          offset += length
          return piece
        }
      } else {
        let start = head
        verdict = carry.withUnsafeBytes { judge(.init(rebasing: $0[start...])) { .carry(start..<start + $0) } }
        switch verdict {
        case .needsMore(let count):
          guard offset < bytes.count else {
            needed = count
            return nil
          }
          keep(bytes, &offset, upTo: count)
        case .nothing:
          head += carry.withUnsafeBytes { skipped.add(.init(rebasing: $0[start..<start + 1])) }
          head += carry.withUnsafeBytes { skipped.addUpToMark(.init(rebasing: $0[(start + 1)...])) }
        case .piece(let piece, let length):
          if let skip = skipped.take() { return .skipped(skip) }
          head += length
          return piece
        }
      }
    }
  }

  /// Moves input to `carry` until it holds `count` undecided bytes or the input is used up.
  private mutating func keep(_ bytes: UnsafeRawBufferPointer, _ offset: inout Int, upTo count: Int) {
    if head > 0 {
      carry.removeFirst(head)
      head = 0
    }
    needed = count
    carry.reserveCapacity(count)
    let taken = min(count - carry.count, bytes.count - offset)
    carry.append(contentsOf: bytes[offset..<offset + taken])
    offset += taken
  }

  /// Says what `bytes`, which start with FF, are. `place` turns a length into where those bytes lie.
  private func judge(_ bytes: UnsafeRawBufferPointer, _ place: (Int) -> Place) -> Verdict {
    guard bytes.count >= 2 else { return .needsMore(2) }
    switch bytes[1] {
    case 0x5A:
      guard bytes.count >= PacketHeader.size else { return .needsMore(PacketHeader.size) }
      guard let header = PacketHeader(bytes), header.length <= maximumLength else { return .nothing }
      let length = Int(header.length)
      guard bytes.count >= length else { return .needsMore(length) }
      if length > PacketHeader.size, Checksum.sum(RawSpan(_unsafeBytes: .init(rebasing: bytes[9..<length]))) != 0 {
        return .piece(.spoiled(header, place(length)), length: length)
      }
      return .piece(.packet(header, place(length)), length: length)
    case 0x55:
      guard bytes.count >= 3 else { return .needsMore(3) }
      // Length 0 announces iAP1's long form, which nobody sends in this place. Nor does anybody send a long frame, and
      // waiting for one would hide the real probes that pass meanwhile.
      guard bytes[2] != 0, bytes[2] <= Self.longestLegacyPayload else { return .nothing }
      let length = Int(bytes[2]) + 4
      guard bytes.count >= length else { return .needsMore(length) }
      guard Checksum.sum(RawSpan(_unsafeBytes: .init(rebasing: bytes[2..<length]))) == 0 else { return .nothing }
      let isDetection = length == 6 && bytes[3] == 0x00 && bytes[4] == 0xEE
      return .piece(isDetection ? .detection : .legacy(place(length)), length: length)
    default:
      return .nothing
    }
  }
}
