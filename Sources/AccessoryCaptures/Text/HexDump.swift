/// Reads a hex dump line by line, in any layout that common tools print:
///
/// - plain pairs of digits, separated by blanks, commas, colons, dashes or nothing, optionally prefixed with `0x` or
///   `\x`, or in braces or angle brackets (`xxd -p`, C arrays, `NSData` descriptions);
/// - pairs after an offset, with or without a text column: `xxd`, `hexdump -C`, `od -t x1`, `tcpdump -X`, Wireshark's
///   dumps, and Wireshark's followed streams, whose second direction is indented; `*` stands for repeated lines;
/// - two-byte words with the low byte first, the default of `hexdump` and of `od -x`.
///
/// A line may begin with its sender: `A` or `D`, `TX` or `RX`, `>` or `<`, with or without a colon. Lines that begin
/// with `#`, `//` or three backticks are skipped.
///
/// The reader determines which stream each line belongs to, whether the line's offset is as expected, and which bytes a
/// `*` repeats. The caller collects the bytes with ``takeRuns(isEnd:)`` as it reads, so a dump can have any size.
struct HexDumpReader {
  struct Run: Equatable {
    /// The index of the stream that the bytes belong to, counting from 0.
    var stream: Int
    var bytes: [UInt8]
    var line: Int
  }

  private struct Stream {
    var mark: String
    var indentation: Int
    /// The offset on the stream's first line, as written, or nil if the stream has no offsets.
    var first: HexLine.Offset?
    var radix: Int?
    /// The number of bytes since the first offset.
    var count = 0
    /// The bytes that a `*` repeats.
    var last: Run?
    var isSqueezed = false

    /// Returns true if `offset` is the one expected on the next line. If so, also determines the radix.
    mutating func expects(_ offset: HexLine.Offset) -> Bool {
      guard let radix = radixes.first(where: { distance(to: offset, $0) == count }) else { return false }
      if count > 0 { self.radix = radix }
      return true
    }

    /// Returns the distance from the first offset to `offset`. Tries the possible radixes in order, and returns the
    /// first distance that is at least the number of bytes read so far.
    func distance(to offset: HexLine.Offset) -> Int? {
      radixes.compactMap { distance(to: offset, $0) }.first { $0 >= count }
    }

    private var radixes: [Int] { radix.map { [$0] } ?? first?.radixes ?? [] }

    private func distance(to offset: HexLine.Offset, _ radix: Int) -> Int? {
      guard let from = first?.value(radix), let to = offset.value(radix), to >= from else { return nil }
      return Int(exactly: to - from)
    }
  }

  /// The maximum total number of bytes that the `*` lines of a dump may stand for. Without this limit, a tiny file
  /// could cause hours of work.
  private static let mostRepeated = 4 << 20
  private var repeated = 0

  /// The names of the streams found so far. A stream's name is the mark before its lines ("A", "TX"), or a number if
  /// two streams differ only in their indentation. The name is empty if there is only one stream and its lines have no
  /// mark.
  private(set) var names: [String] = []
  private var runs: [(run: Run, times: Int)] = []
  /// The most recent bytes, which are held back because the last byte of a dump may turn out to be padding.
  private var held: Run?
  private var streams: [Stream] = []
  private var current: Int?

  /// Returns the bytes found since the previous call, and how many times each run of bytes is repeated.
  mutating func takeRuns(isEnd: Bool = false) -> [(run: Run, times: Int)] {
    if isEnd { flush() }
    defer { runs = [] }
    return runs
  }

  private mutating func flush() {
    if let held { runs.append((held, 1)) }
    held = nil
  }

  mutating func read(_ text: LineCutter.Line) throws(CaptureError) {
    let streams = streams
    let width = streams.lazy.compactMap { $0.first?.text.utf8.count }.first
    let scanner = HexLineScanner(text.bytes, number: text.number, after: text.offset, offsetWidth: width) { offset in
      streams.contains { stream in
        var stream = stream
        return stream.expects(offset)
      }
    }
    guard let line = try scanner.scan() else { return }
    switch line.content {
    case .squeezed: try squeeze(line)
    case .end(let offset): try end(at: offset, line)
    case .bytes(let bytes, _, _) where text.offset > 0: try goOn(bytes, line)
    case .bytes(let bytes, let offset, let isWords): try add(bytes, at: offset, isWords, line)
    }
  }

  private mutating func add(
    _ bytes: [UInt8], at offset: HexLine.Offset?, _ isWords: Bool, _ line: HexLine
  ) throws(CaptureError) {
    flush()
    let index = try stream(for: line, offset)
    current = index
    if let offset { try repeatLine(upTo: offset, index, line) }
    let run = Run(stream: index, bytes: bytes, line: line.number)
    streams[index].last = run
    streams[index].count += bytes.count
    held = run
    if !isWords { flush() }
  }

  /// Processes the next part of a line that is too long to read at once.
  private mutating func goOn(_ bytes: [UInt8], _ line: HexLine) throws(CaptureError) {
    guard let current, streams[current].first == nil else {
      throw CaptureError(line.number, line.column, "the line is too long for a line with an offset")
    }
    streams[current].count += bytes.count
    runs.append((Run(stream: current, bytes: bytes, line: line.number), 1))
  }

  /// Returns a line's stream: the one that expects the line's offset or, failing that, one with the same mark or
  /// indentation.
  private mutating func stream(for line: HexLine, _ offset: HexLine.Offset?) throws(CaptureError) -> Int {
    let marked = streams.indices.filter { streams[$0].mark == line.mark }
    guard let offset else {
      guard let index = marked.first else { return open(line, nil) }
      guard streams[index].first == nil else {
        throw CaptureError(line.number, line.column, "an offset is missing here: previous lines have one")
      }
      return index
    }
    let alike = marked.filter { streams[$0].indentation == line.indentation }
    if let index = (alike + marked).first(where: { streams[$0].isSqueezed || streams[$0].expects(offset) }) {
      return index
    }
    // If the offsets start over, the line begins another dump or belongs to the other direction of a followed stream.
    if offset.value(16) == 0 || alike.contains(where: { streams[$0].first?.value(16) == offset.value(16) }) {
      guard let index = alike.first else { return open(line, offset) }
      (streams[index].first, streams[index].count) = (offset, 0)
      return index
    }
    guard let index = alike.first ?? marked.first else { return open(line, offset) }
    throw CaptureError(
      line.number, line.column,
      "the offset \(offset.text) does not fit the \(streams[index].count) bytes after "
        + "\(streams[index].first?.text ?? "the beginning"): is a line missing?")
  }

  private mutating func open(_ line: HexLine, _ offset: HexLine.Offset?) -> Int {
    streams.append(Stream(mark: line.mark, indentation: line.indentation, first: offset))
    names = streams.map(\.mark)
    if streams.count > 1 {
      for index in streams.indices where streams[index].mark.isEmpty { names[index] = "\(index + 1)" }
    }
    return streams.count - 1
  }

  private mutating func squeeze(_ line: HexLine) throws(CaptureError) {
    guard let current, streams[current].first != nil, streams[current].last != nil else {
      throw CaptureError(line.number, line.column, "a '*' repeats the previous line, but there is none")
    }
    streams[current].isSqueezed = true
  }

  /// Adds the bytes that a `*` stands for. The offset on the next line shows how many bytes to add.
  private mutating func repeatLine(
    upTo offset: HexLine.Offset, _ index: Int, _ line: HexLine
  ) throws(CaptureError) {
    guard streams[index].isSqueezed, let last = streams[index].last else { return }
    streams[index].isSqueezed = false
    guard let distance = streams[index].distance(to: offset), !last.bytes.isEmpty,
      (distance - streams[index].count) % last.bytes.count == 0
    else {
      throw CaptureError(line.number, line.column, "the offset \(offset.text) does not fit the preceding '*'")
    }
    let missing = distance - streams[index].count
    guard missing <= Self.mostRepeated - repeated else {
      throw CaptureError(
        line.number, line.column, "the preceding '*' would stand for too many repeated bytes: \(missing)")
    }
    repeated += missing
    flush()
    if missing > 0 { runs.append((last, missing / last.bytes.count)) }
    streams[index].count = distance
  }

  /// Handles the final offset, which some tools print on a separate line after the last byte.
  private mutating func end(at offset: HexLine.Offset, _ line: HexLine) throws(CaptureError) {
    guard let current, streams[current].last != nil else {
      throw CaptureError(line.number, line.column, "'\(offset.text)' is an offset without bytes")
    }
    try repeatLine(upTo: offset, current, line)
    if streams[current].expects(offset) { return }
    // If the number of bytes is odd, a dump of two-byte words ends with a zero byte as padding.
    streams[current].count -= 1
    guard streams[current].expects(offset), held?.bytes.isEmpty == false else {
      throw CaptureError(
        line.number, line.column,
        "the dump ends at offset \(offset.text) but contains \(streams[current].count + 1) bytes: is a line missing?")
    }
    held?.bytes.removeLast()
  }
}
