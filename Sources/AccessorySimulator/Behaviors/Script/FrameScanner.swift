import AccessoryCore
import AccessoryProfiles

extension Script.Frame {
  /// What is wrong with a frame that cannot be made.
  enum Fault: Error, Equatable {
    /// The length does not fit its bytes, or the frame is longer than the longest.
    case tooLong(Int)
  }

  /// A frame with this content: the bytes between the header and the length, then the payload. A content that is too
  /// short for the former is filled up with zeros.
  func encode(_ content: [UInt8]) throws(Fault) -> [UInt8] {
    let before = lengthAt - header.count
    let payload = content.dropFirst(before)
    let total = shortest + payload.count
    let length =
      switch counts {
      case .rest: payload.count + (checksum?.width ?? 0)
      case .payload: payload.count
      case .frame: total
      }
    guard total <= longest, length < 1 << (lengthWidth * 8) else { throw .tooLong(total) }
    var frame = header + content.prefix(before)
    frame += [UInt8](repeating: 0, count: lengthAt - frame.count)
    frame += Self.bytes(UInt32(length), lengthWidth, order)
    frame += payload
    if let checksum {
      frame += Self.bytes(checksum.value(of: frame.dropFirst(checksumFrom)), checksum.width, checksumOrder)
    }
    return frame
  }

  static func bytes(_ value: UInt32, _ width: Int, _ order: ByteOrder) -> [UInt8] {
    let little = (0..<width).map { UInt8(truncatingIfNeeded: value >> UInt32($0 * 8)) }
    return order == .little ? little : little.reversed()
  }

  static func number(_ bytes: some BidirectionalCollection<UInt8>, _ order: ByteOrder) -> UInt32 {
    (order == .big ? Array(bytes) : bytes.reversed()).reduce(0) { $0 << 8 | UInt32($1) }
  }
}

/// Finds the frames in a stream, however it was split on the way.
///
/// States: `seeking` waits for a header and a length; `filling` waits for the rest of a frame of a known length;
/// `skipping` drops a frame that is too long to be kept.
///
/// Invariant: holds fewer bytes than the frame's `longest`, and never a whole frame. A length from the wire is never
/// trusted with memory.
struct FrameScanner {
  private enum State {
    case seeking
    case filling(total: Int)
    case skipping(left: Int)
  }

  private let frame: Script.Frame
  private var state = State.seeking
  private var buffer: [UInt8] = []
  /// Bytes that were dropped while a header was sought.
  private var skipped = 0

  init(_ frame: Script.Frame) { self.frame = frame }

  /// The next event that `bytes` complete, from `offset` on; nil when they are used up.
  mutating func next(in bytes: RawSpan, at offset: inout Int) -> RequestMatcher.Request? {
    while offset < bytes.byteCount {
      switch state {
      case .seeking:
        buffer.append(bytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self))
        offset += 1
        if let event = seek() { return event }
      case .filling(let total):
        let count = min(total - buffer.count, bytes.byteCount - offset)
        bytes.extracting(offset..<offset + count).withUnsafeBytes { buffer.append(contentsOf: $0) }
        offset += count
        if buffer.count == total { return finish() }
      case .skipping(let left):
        let count = min(left, bytes.byteCount - offset)
        offset += count
        state = count == left ? .seeking : .skipping(left: left - count)
      }
    }
    return nil
  }

  /// One more byte came while there is no length.
  private mutating func seek() -> RequestMatcher.Request? {
    let header = frame.header
    if buffer.count <= header.count {
      while !header.starts(with: buffer) {
        buffer.removeFirst()
        skipped += 1
      }
      guard buffer.count == header.count, skipped > 0 else { return nil }
      defer { skipped = 0 }
      return .skipped(skipped)
    }
    let end = frame.lengthAt + frame.lengthWidth
    guard buffer.count == end else { return nil }
    let length = Int(Script.Frame.number(buffer[frame.lengthAt...], frame.order))
    let total =
      switch frame.counts {
      case .rest: end + length
      case .payload: frame.shortest + length
      case .frame: length
      }
    if total >= frame.shortest, total <= frame.longest {
      state = .filling(total: total)
      return total == buffer.count ? finish() : nil
    }
    buffer.removeAll(keepingCapacity: true)
    // With a header the next frame can be found; without one, only the length says where it begins.
    if header.isEmpty, total > end { state = .skipping(left: total - end) }
    return .wrongLength(length)
  }

  private mutating func finish() -> RequestMatcher.Request {
    defer {
      buffer.removeAll(keepingCapacity: true)
      state = .seeking
    }
    let end = buffer.count - (frame.checksum?.width ?? 0)
    if let checksum = frame.checksum {
      let expected = checksum.value(of: buffer[min(frame.checksumFrom, end)..<end])
      let found = Script.Frame.number(buffer[end...], frame.checksumOrder)
      if found != expected { return .wrongChecksum(found: found, expected: expected) }
    }
    return .whole(
      Array(buffer[frame.header.count..<frame.lengthAt] + buffer[(frame.lengthAt + frame.lengthWidth)..<end]))
  }
}
