/// Received bytes, cut into stretches that each belong to one place, by what the blocks in them say.
struct StreamSegments {
  /// Where a stretch belongs.
  enum Source: Equatable {
    /// The examined session, from this offset on.
    case ours(Int)
    /// To another session of the same run.
    case session(Int, Int)
    /// To a session of another run.
    case run(UInt64)
    /// To nothing that is known.
    case unknown
  }

  /// One stretch.
  struct Segment: Equatable {
    var range: Range<Int>
    var source: Source

    /// The place in the examined session.
    var offset: Int? { if case .ours(let offset) = source { offset } else { nil } }
  }

  private let bytes: [UInt8]
  private let stream: UniqueStream
  private(set) var all: [Segment] = []

  /// Cuts `bytes`, which should be `stream`'s.
  init(_ bytes: [UInt8], of stream: UniqueStream) {
    self.bytes = bytes
    self.stream = stream
    var index = 0
    while index + UniqueStream.blockSize <= bytes.count {
      if let source = source(at: index) {
        index = add(source, at: index)
      } else {
        index += 1
      }
    }
    if let end = all.last?.range.upperBound ?? (bytes.isEmpty ? nil : 0), end < bytes.count {
      all.append(Segment(range: end..<bytes.count, source: .unknown))
    }
  }

  private func source(at index: Int) -> (UniqueStream, Int)? {
    let place = UniqueStream.place(of: bytes.span.bytes, at: index)
    if place.seed == stream.seed { return (UniqueStream(seed: place.seed, session: place.session), place.offset) }
    // Any 16 bytes are a block of some seed; of another run are only those that are followed by the next of it.
    let next = index + UniqueStream.blockSize
    guard next + UniqueStream.blockSize <= bytes.count else { return nil }
    let following = UniqueStream.place(of: bytes.span.bytes, at: next)
    guard following.seed == place.seed, following.session == place.session,
      following.offset == place.offset + UniqueStream.blockSize
    else { return nil }
    return (UniqueStream(seed: place.seed, session: place.session), place.offset)
  }

  /// Adds the stretch of which a block was found at `index`, and what lies before it; returns where to go on.
  private mutating func add(_ found: (stream: UniqueStream, offset: Int), at index: Int) -> Int {
    // The last stretch may have taken a few bytes that look alike and are this one's.
    if let last = all.last, last.range.upperBound > index {
      all[all.count - 1].range = last.range.lowerBound..<index
    }
    let end = all.last?.range.upperBound ?? 0
    var start = index
    let before = min(index - end, found.offset, UniqueStream.blockSize - 1)
    let wanted = found.stream.bytes(found.offset - before..<found.offset)
    while start > end, index - start < before, bytes[start - 1] == wanted[before - (index - start) - 1] { start -= 1 }
    if start > end { all.append(Segment(range: end..<start, source: .unknown)) }
    let count = length(of: found, at: index)
    all.append(Segment(range: start..<index + count, source: source(found, index - start)))
    return index + count / UniqueStream.blockSize * UniqueStream.blockSize
  }

  /// How many bytes from `index` on continue the same stream, compared in growing steps.
  private func length(of found: (stream: UniqueStream, offset: Int), at index: Int) -> Int {
    var buffer = UniqueBuffer()
    var (count, step) = (0, 4 * UniqueStream.blockSize)
    while index + count < bytes.count {
      let piece = bytes.span.bytes.extracting(index + count..<min(bytes.count, index + count + step))
      let same = buffer.match(piece, found.stream, from: found.offset + count)
      count += same
      if same < piece.byteCount { break }
      step = min(2 * step, UniqueBuffer.longest)
    }
    return count
  }

  private func source(_ found: (stream: UniqueStream, offset: Int), _ back: Int) -> Source {
    if found.stream == stream { return .ours(found.offset - back) }
    if found.stream.seed == stream.seed { return .session(found.stream.session, found.offset - back) }
    return .run(found.stream.seed)
  }
}
