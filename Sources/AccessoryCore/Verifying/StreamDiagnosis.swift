/// Diagnoses received bytes that differ from the expected bytes of a stream.
///
/// The diagnosis examines the received segments in order (``StreamSegments``) and tracks the expected position in the
/// stream. A segment from a later position leaves a gap, which counts as *lost* unless a later segment fills it
/// (*reordered*). A segment from an earlier position counts as *repeated* if the stream then continues where it was
/// interrupted, and as *stale* if the segment took the place of a later burst. Bytes that belong nowhere in the stream
/// count as *corrupted* if the stream continues as if they had been correct, as *inserted* if it continues as if they
/// had not arrived, and as *foreign* if they make up a whole answer.
struct StreamDiagnosis {
  private let stream: UniqueStream
  private let bytes: [UInt8]
  private let cuts: StreamCuts
  private let segments: [StreamSegments.Segment]
  private var gaps: [Range<Int>] = []
  private(set) var findings: [StreamFinding] = []
  private(set) var next: Int

  /// Examines `bytes`, which should start at `place` in the stream.
  init(_ bytes: [UInt8], at place: Int, of stream: UniqueStream, cuts: StreamCuts) {
    self.stream = stream
    self.bytes = bytes
    self.cuts = cuts
    segments = StreamSegments(bytes, of: stream).all
    next = place
    for index in segments.indices { take(segments[index], index) }
    for gap in gaps { findings.append(StreamFinding(.lost, at: gap.lowerBound, count: gap.count)) }
  }

  private mutating func take(_ segment: StreamSegments.Segment, _ index: Int) {
    let following = index + 1 < segments.count ? segments[index + 1] : nil
    switch segment.source {
    case .ours(let offset): takeOurs(offset, segment.range.count, following)
    case .session(let session, let offset):
      takeForeign(segment.range.count, "they belong to session \(session), from its byte \(offset) on", following)
    case .run(let seed):
      takeForeign(segment.range.count, "they belong to another run, with the seed \(seed)", following)
    case .unknown: takeUnknown(segment.range, following)
    }
  }

  // MARK: Bytes of this session

  private mutating func takeOurs(_ offset: Int, _ count: Int, _ following: StreamSegments.Segment?) {
    let end = offset + count
    if offset > next { gaps.append(next..<offset) }
    if offset >= next {
      next = end
    } else if let index = gaps.firstIndex(where: { $0.contains(offset) }) {
      fill(gaps.remove(at: index), with: offset..<end)
    } else if end > next {
      findings.append(StreamFinding(.repeated, at: next, count: next - offset, origin: offset))
      next = end
    } else {
      takeOld(offset, count, following)
    }
  }

  private mutating func fill(_ gap: Range<Int>, with range: Range<Int>) {
    let filled = range.clamped(to: gap)
    findings.append(StreamFinding(.reordered, at: filled.lowerBound, count: filled.count))
    let rests = [gap.lowerBound..<filled.lowerBound, filled.upperBound..<gap.upperBound]
    gaps += rests.filter { !$0.isEmpty }
    let again = gap.upperBound..<max(gap.upperBound, min(range.upperBound, next))
    if !again.isEmpty {
      findings.append(StreamFinding(.repeated, at: next, count: again.count, origin: again.lowerBound))
    }
    next = max(next, range.upperBound)
  }

  private mutating func takeOld(_ offset: Int, _ count: Int, _ following: StreamSegments.Segment?) {
    let isOfEarlierBurst = cuts.isEarlier(offset, than: next)
    let goesOn = following?.offset == next
    let isStale = isOfEarlierBurst && !goesOn
    findings.append(StreamFinding(isStale ? .stale : .repeated, at: next, count: count, origin: offset))
    if !goesOn, isStale || following?.offset == next + count { next += count }
  }

  // MARK: Other bytes

  private mutating func takeForeign(_ count: Int, _ detail: String, _ following: StreamSegments.Segment?) {
    findings.append(StreamFinding(.foreign, at: next, count: count, detail))
    if following?.offset != next { next += count }
  }

  private mutating func takeUnknown(_ range: Range<Int>, _ following: StreamSegments.Segment?) {
    let count = range.count
    if isReversed(range) {
      findings.append(StreamFinding(.reordered, at: next, count: count, "they arrived in reverse"))
      next += count
      return
    }
    if let offset = following?.offset {
      // By chance, the first inserted byte may equal the expected byte.
      if offset <= next, next - offset < Self.shown {
        findings.append(StreamFinding(.inserted, at: offset, count: count + next - offset, look(range)))
        next = offset
        return
      }
      if offset < next { return takeForeign(count, look(range), nil) }
      if offset < next + count {
        corrupt(range.prefix(offset - next))
        let rest = range.dropFirst(offset - next)
        findings.append(StreamFinding(.inserted, at: offset, count: rest.count, look(rest)))
        next = offset
        return
      }
      if count >= cuts.size(at: next) ?? .max { return takeForeign(count, look(range), nil) }
      return corrupt(range)
    }
    if let offset = recent(range) { return takeOurs(offset, count, nil) }
    let wanted = stream.bytes(next..<next + count)
    let same = zip(range, wanted).count { bytes[$0] == $1 }
    let isStart = cuts.isStart(next)
    let isAnswer = count > 4 * UniqueStream.blockSize || isStart
    if isAnswer, same * 4 < count { takeForeign(count, look(range), nil) } else { corrupt(range) }
  }

  /// Reports a range of bytes that differ from the expected bytes, although some bytes in the range may be correct.
  private mutating func corrupt(_ range: Range<Int>) {
    let wanted = stream.bytes(next..<next + range.count)
    let wrong = zip(range, wanted).filter { bytes[$0] != $1 }
    defer { next += range.count }
    guard let first = wrong.first?.0, let last = wrong.last?.0 else { return }
    let place = next + first - range.lowerBound
    let bits = wrong.reduce(0) { $0 + (bytes[$1.0] ^ $1.1).nonzeroBitCount }
    let expected = wanted[(first - range.lowerBound)...].prefix(Self.shown)
    let got = bytes[first...].prefix(min(Self.shown, last - first + 1))
    let what = bits < 8 ? "\(bits.counted("bit")) differ\(bits == 1 ? "s" : ""), " : ""
    let all = look(first..<last + 1)
    findings.append(
      StreamFinding(
        .corrupted, at: place, count: last - first + 1,
        "\(what)expected \(Hex.spaced(expected))\(last - first < Self.shown ? "" : " …"), "
          + (all.hasPrefix("got") ? "got \(Hex.spaced(got))\(last - first < Self.shown ? "" : " …")" : all)))
  }

  private static let shown = 8

  /// Describes a range of bytes whose position in the stream is unknown.
  private func look(_ range: Range<Int>) -> String {
    let part = bytes[range]
    if part.count > 1, let first = part.first, part.allSatisfy({ $0 == first }) {
      return "all of them are \(Hex.plain([first]))"
    }
    if part.count > 2, zip(part, part.dropFirst()).allSatisfy({ $0 &+ 1 == $1 }) {
      return "they count up, as EADemo's pattern does: \(Hex.spaced(part.prefix(4))) …"
    }
    return "got \(Hex.spaced(part.prefix(Self.shown)))\(part.count > Self.shown ? " …" : "")"
  }

  /// Searches for a short range, which need not contain a whole block, at the start of each recent burst. Returns the
  /// range's position in the stream.
  private func recent(_ range: Range<Int>) -> Int? {
    guard cuts != .none, 4..<2 * UniqueStream.blockSize ~= range.count, cuts.isStart(next) else { return nil }
    return cuts.starts(before: next, atMost: 16).first { offset in
      stream.bytes(offset..<offset + range.count).elementsEqual(bytes[range])
    }
  }

  private func isReversed(_ range: Range<Int>) -> Bool {
    guard range.count >= 2 * UniqueStream.blockSize else { return false }
    let reversed = StreamSegments(bytes[range].reversed(), of: stream).all
    return reversed.reduce(0) { $0 + ($1.offset == nil ? 0 : $1.range.count) } * 2 > range.count
  }
}

/// Divides received bytes into segments. Each segment is a contiguous piece of one stream; its bytes encode which
/// stream they belong to, and at which offset.
struct StreamSegments {
  enum Source: Equatable {
    /// The bytes belong to the examined session, and start at this offset.
    case ours(Int)
    /// The bytes belong to another session of the same run, and start at this offset.
    case session(Int, Int)
    /// The bytes belong to a session of the run with this seed.
    case run(UInt64)
    case unknown
  }

  struct Segment: Equatable {
    var range: Range<Int>
    var source: Source

    var offset: Int? { if case .ours(let offset) = source { offset } else { nil } }
  }

  private let bytes: [UInt8]
  private let stream: UniqueStream
  private(set) var all: [Segment] = []

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
    // Any 16 bytes are a valid block for some seed, so they are attributed to another run only if the next block of
    // that run follows.
    let next = index + UniqueStream.blockSize
    guard next + UniqueStream.blockSize <= bytes.count else { return nil }
    let following = UniqueStream.place(of: bytes.span.bytes, at: next)
    guard following.seed == place.seed, following.session == place.session,
      following.offset == place.offset + UniqueStream.blockSize
    else { return nil }
    return (UniqueStream(seed: place.seed, session: place.session), place.offset)
  }

  /// Adds the bytes before the block found at `index`, and the segment around the block. Returns the index at which to
  /// continue.
  private mutating func add(_ found: (stream: UniqueStream, offset: Int), at index: Int) -> Int {
    // The previous segment may have claimed a few bytes that match it by chance but belong to this segment.
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

  /// Returns how many bytes, starting at `index`, continue the same stream. The comparison proceeds in increasingly
  /// large steps.
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
