import AccessoryProfiles

/// Splits the bytes of a session into requests.
///
/// Only the framing decides what a request is (see ``AccessoryProfiles/Script/Framing``), not how the bytes were
/// split on the way: the same stream gives the same requests, byte by byte or all at once.
///
/// States: `waiting` collects a request; `skipping` drops the rest of one that is too long, up to its delimiter.
///
/// Invariant: never holds more than ``longestRequest`` bytes and a delimiter.
struct RequestMatcher {
  /// The longest request, the same as the longest that a fixed framing may ask for. Only a delimiter that never comes
  /// can make a longer one.
  static let longestRequest = 65_536

  /// A request, or why there is none.
  enum Request: Equatable {
    /// A request, whole.
    case whole([UInt8])
    /// A request that grew over the limit without a delimiter: cut off here, and dropped up to the next delimiter.
    case endless
    /// Bytes between two frames.
    case skipped(Int)
    /// A frame of a length that cannot be.
    case wrongLength(Int)
    /// A frame whose checksum is wrong.
    case wrongChecksum(found: UInt32, expected: UInt32)
  }

  private enum State {
    case waiting
    case skipping
  }

  /// How requests end, in the form that is quick to ask at every byte.
  private enum Ending {
    case delimiter
    case count(Int)
    case rule
  }

  private let ending: Ending
  private let delimiter: [UInt8]
  private let lastOfDelimiter: UInt8
  private let requests: [[UInt8]]
  private var frames: FrameScanner?
  private var state = State.waiting
  /// The request so far; while skipping, the last bytes that may be the beginning of a delimiter.
  private var buffer: [UInt8] = []
  /// With framing `any`: the rules whose requests begin with the buffer.
  private var candidates: [Int]

  /// A matcher at the beginning of a session.
  init(_ script: Script) {
    switch script.framing {
    case .delimiter(let bytes):
      precondition(!bytes.isEmpty, "an empty delimiter ends no request")
      (ending, delimiter, requests) = (.delimiter, bytes, [])
    case .fixed(let count):
      precondition(count > 0, "a request has at least one byte")
      (ending, delimiter, requests) = (.count(count), [], [])
    case .frame(let frame):
      precondition(frame.lengthAt >= frame.header.count, "a frame's length must follow its header")
      // FrameScanner has its own buffer.
      frames = FrameScanner(frame)
      (ending, delimiter, requests) = (.count(1), [], [])
    case .any: (ending, delimiter, requests) = (.rule, [], script.rules.compactMap(\.request))
    }
    lastOfDelimiter = delimiter.last ?? 0
    candidates = Array(requests.indices)
  }

  /// The next request that ends in `bytes` from `offset` on; nil when they are used up.
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
    switch ending {
    case .delimiter: return takeDelimited(byte)
    case .count(let count): return buffer.count == count ? finish(buffer.count) : nil
    case .rule: return takeAny(byte)
    }
  }

  private mutating func takeDelimited(_ byte: UInt8) -> Request? {
    let isComplete = byte == lastOfDelimiter && buffer.suffix(delimiter.count) == delimiter[...]
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

  /// The request is the first `count` bytes of the buffer, and the next one begins.
  private mutating func finish(_ count: Int) -> Request {
    let request = Array(buffer[..<count])
    buffer.removeAll(keepingCapacity: true)
    if case .rule = ending { candidates = Array(requests.indices) }
    return .whole(request)
  }
}
