import AccessoryCore
import AccessoryProfiles

/// Splits the bytes of a session into requests.
///
/// Only the framing determines where requests end (see ``AccessoryProfiles/Script/Framing``). The same bytes therefore
/// produce the same requests, whether they arrive one at a time or all at once.
///
/// In the state `waiting`, the matcher collects a request. In the state `skipping`, the matcher drops the rest of a
/// request that is too long, up to the delimiter.
///
/// Invariant: the matcher never holds more than ``longestRequest`` bytes plus a delimiter.
struct RequestMatcher {
  /// The maximum size of a request. Only a request without a delimiter can exceed the maximum.
  static let longestRequest = 65_536

  enum Request: Equatable {
    case whole([UInt8])
    /// A request that exceeded the maximum size without a delimiter. The rest of this request, up to the next
    /// delimiter, is dropped.
    case endless
    /// Bytes between two frames.
    case skipped(Int)
    case wrongLength(Int)
    case wrongChecksum(found: UInt32, expected: UInt32)
  }

  private enum State {
    case waiting
    case skipping
  }

  private let framing: Script.Framing
  private let requests: [[UInt8]]
  private var frames: FrameScanner?
  private var state = State.waiting
  /// The bytes of the current request that have been received. While a request is being skipped, the bytes that may be
  /// the beginning of a delimiter.
  private var buffer: [UInt8] = []
  /// For the framing `any`, the rules whose requests begin with the bytes in the buffer.
  private var candidates: [Int]

  init(_ script: Script) {
    framing = script.framing
    requests = framing == .any ? script.rules.compactMap(\.request) : []
    candidates = Array(requests.indices)
    switch framing {
    case .delimiter(let bytes): precondition(!bytes.isEmpty, "an empty delimiter ends no request")
    case .fixed(let count): precondition(count > 0, "a request has at least one byte")
    case .frame(let frame):
      precondition(frame.lengthAt >= frame.header.count, "a frame's length must follow its header")
      frames = FrameScanner(frame)
    case .any: break
    }
  }

  /// Returns the next request that ends in `bytes` at or after `offset`, or nil if no request ends there.
  mutating func next(in bytes: RawSpan, at offset: inout Int) -> Request? {
    if frames != nil { return frames?.next(in: bytes, at: &offset) }
    while offset < bytes.byteCount {
      let byte = bytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
      offset += 1
      if let request = take(byte) { return request }
    }
    return nil
  }

  private mutating func take(_ byte: UInt8) -> Request? {
    buffer.append(byte)
    switch framing {
    case .delimiter(let delimiter): return takeDelimited(byte, delimiter)
    case .fixed(let count): return buffer.count == count ? finish(buffer.count) : nil
    case .any: return takeAny(byte)
    case .frame: preconditionFailure("the frame scanner takes the bytes of frames")
    }
  }

  private mutating func takeDelimited(_ byte: UInt8, _ delimiter: [UInt8]) -> Request? {
    let isComplete = byte == delimiter.last && buffer.suffix(delimiter.count) == delimiter[...]
    switch state {
    case .waiting:
      if isComplete { return finish(buffer.count - delimiter.count) }
      guard buffer.count >= Self.longestRequest + delimiter.count else { return nil }
      state = .skipping
      buffer = Array(buffer.suffix(delimiter.count - 1))
      return .endless
    case .skipping:
      if isComplete {
        state = .waiting
        buffer.removeAll()
      } else if buffer.count >= delimiter.count {
        buffer.removeFirst(buffer.count - delimiter.count + 1)
      }
      return nil
    }
  }

  private mutating func takeAny(_ byte: UInt8) -> Request? {
    let place = buffer.count - 1
    candidates.removeAll { place >= requests[$0].count || requests[$0][place] != byte }
    if candidates.isEmpty || candidates.contains(where: { requests[$0].count == buffer.count }) {
      return finish(buffer.count)
    }
    return nil
  }

  private mutating func finish(_ count: Int) -> Request {
    let request = Array(buffer[..<count])
    buffer.removeAll(keepingCapacity: true)
    candidates = Array(requests.indices)
    return .whole(request)
  }
}

extension Script.Frame {
  enum Fault: Error, Equatable {
    /// The length does not fit in the length field, or the frame is longer than the maximum.
    case tooLong(Int)
  }

  /// Returns a frame with the given content, which consists of the bytes between the header and the length, followed by
  /// the payload. If the content does not reach the length field, it is padded with zeros.
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

/// Finds the frames in a stream, regardless of how the bytes were split in transit.
///
/// In the state `seeking`, the scanner waits for a header and a length. In the state `filling`, the scanner waits for
/// the rest of a frame whose length is known. In the state `skipping`, the scanner drops a frame that is too long to
/// keep.
///
/// Invariant: the scanner never holds a complete frame, and always fewer bytes than the frame's `longest`. The scanner
/// never reserves memory based on a length that it received.
struct FrameScanner {
  private enum State {
    case seeking
    case filling(total: Int)
    case skipping(left: Int)
  }

  private let frame: Script.Frame
  private var state = State.seeking
  private var buffer: [UInt8] = []
  private var skipped = 0

  init(_ frame: Script.Frame) { self.frame = frame }

  /// Returns the next frame or error that ends in `bytes` at or after `offset`, or nil if there is none.
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
    // Without a header, only the length determines where the next frame begins.
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
