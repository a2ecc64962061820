import AccessoryCore
import IAP2

/// Decodes a capture of any size, packet by packet, as its bytes arrive. The entries are the lines that `easim decode`
/// prints.
///
/// ```swift
/// let decoder = CaptureDecoder()
/// while let bytes = read() { try decoder.append(bytes) { print($0.line) } }
/// try decoder.finish { print($0.line) }
/// ```
///
/// Invariant: the decoder's memory is bounded for any input. For each direction, the decoder holds at most one packet
/// and ``PacketCapture/longestSkip`` bytes. The decoder also holds at most one line and the bytes needed to detect the
/// format.
public final class CaptureDecoder {
  /// The capture's format, or nil until it is known.
  public private(set) var form: CaptureForm?
  /// What has been counted so far.
  public private(set) var summary = CaptureSummary()
  /// The lines that were skipped because they are not transcript lines: the 1-based number of the first one, and how
  /// many were skipped.
  public private(set) var foreignLines: (first: Int, count: Int)?

  private let gunzip = Gunzip()
  private var undecided: [UInt8] = []
  private var cutter = LineCutter()
  private var dump = HexDumpReader()
  private var log = LogReader()
  private var logNames: [String] = []
  private var logRun: LogReader.Run?
  private var captures: [PacketCapture] = []
  private var file: CaptureFileDecoder?
  // Both directions share one narrator, because a session belongs to the whole link.
  private var narrator = PacketNarrator()

  /// Creates a decoder. If `form` is nil, the decoder detects the format.
  public init(as form: CaptureForm? = nil) {
    self.form = form
  }

  /// Whether the capture is a log or a packet file, and therefore includes times and cables.
  public var isFile: Bool { form?.reader != nil || form == .log }

  /// The log lines that were skipped because they contain no bytes: the first few ranges of 1-based line numbers, and
  /// how many lines were skipped in total.
  public var skippedLines: (ranges: [ClosedRange<Int>], count: Int) { (log.skipped, log.skippedCount) }

  /// Processes `bytes` and reports each entry that is now complete.
  ///
  /// - Throws: ``CaptureError`` if the text is neither hex nor a transcript. By then, everything before the invalid
  ///   position has been reported.
  public func append(_ bytes: [UInt8], _ emit: (CaptureEntry) -> Void) throws(CaptureError) {
    let problem = try gunzip.append(bytes) { part throws(CaptureError) in try appendPlain(part, emit) }
    report(problem, emit)
  }

  private func report(_ problem: CaptureProblem?, _ emit: (CaptureEntry) -> Void) {
    if let problem { pass(CaptureEntry(.problem, at: .file(problem.offset), problem.message), emit) }
  }

  private func appendPlain(_ bytes: [UInt8], _ emit: (CaptureEntry) -> Void) throws(CaptureError) {
    if form == nil {
      undecided += bytes
      form = CaptureForm.form(of: undecided, isEnd: false)
      guard let form else { return }
      let all = undecided
      undecided = []
      return try decode(all, as: form, emit)
    }
    if let form { try decode(bytes, as: form, emit) }
  }

  /// Processes the end of the capture and reports incomplete entries.
  public func finish(_ emit: (CaptureEntry) -> Void) throws(CaptureError) {
    report(try gunzip.finish { part throws(CaptureError) in try appendPlain(part, emit) }, emit)
    let form = form ?? CaptureForm(of: undecided)
    self.form = form
    try decode(undecided, as: form, emit)
    undecided = []
    switch form {
    case .raw: break
    case .pcap, .pcapng, .btsnoop, .packetlogger: file?.finish { pass($0, emit) }
    case .hex:
      defer { emitRuns(isEnd: true, emit) }
      try cutter.finish { line throws(CaptureError) in try dump.read(line) }
    case .log:
      cutter.finish { readLog($0, emit) }
      if logNames.isEmpty, log.skippedCount > 0 {
        throw CaptureError(1, 1, "no line of this log contains bytes in hex")
      }
    case .transcript:
      cutter.finish { read($0, emit) }
      if summary.entries == 0, let first = foreignLines?.first {
        throw CaptureError(
          first, 1, "no line is a transcript line, such as '0.000213 D ACK seq=1 ack=0'")
      }
    }
    for (stream, capture) in captures.enumerated() { describe(capture.finish(), of: capture, stream, emit) }
  }

  private func decode(_ bytes: [UInt8], as form: CaptureForm, _ emit: (CaptureEntry) -> Void) throws(CaptureError) {
    switch form {
    case .raw:
      if captures.isEmpty { captures = [PacketCapture()] }
      describe(captures[0].append(bytes), of: captures[0], 0, emit)
    case .hex:
      do { try cutter.take(bytes) { line throws(CaptureError) in try dump.read(line) } } catch {
        emitRuns(isEnd: true, emit)
        throw error
      }
      emitRuns(isEnd: false, emit)
    case .transcript: cutter.take(bytes) { read($0, emit) }
    case .log: cutter.take(bytes) { readLog($0, emit) }
    case .pcap, .pcapng, .btsnoop, .packetlogger:
      if file == nil { file = form.reader.map(CaptureFileDecoder.init) }
      file?.append(bytes) { pass($0, emit) }
    }
  }

  // MARK: Bytes

  /// The maximum number of bytes to decode in one step when a dump repeats bytes.
  private static let repeatedBytes = 65_536

  private func emitRuns(isEnd: Bool, _ emit: (CaptureEntry) -> Void) {
    for (run, times) in dump.takeRuns(isEnd: isEnd) {
      while captures.count <= run.stream { captures.append(PacketCapture()) }
      let capture = captures[run.stream]
      // Many lines are decoded at once because a `*` can stand for millions of one-byte lines.
      let block = min(times, max(1, Self.repeatedBytes / max(1, run.bytes.count)))
      let bytes = block == 1 ? run.bytes : [UInt8](repeatElement(run.bytes, count: block).joined())
      for _ in 0..<times / block { describe(capture.append(bytes), of: capture, run.stream, emit) }
      let rest = times % block * run.bytes.count
      if rest > 0 { describe(capture.append([UInt8](bytes.prefix(rest))), of: capture, run.stream, emit) }
    }
  }

  private func describe(
    _ pieces: [PacketCapture.Piece], of capture: PacketCapture, _ stream: Int, _ emit: (CaptureEntry) -> Void
  ) {
    let name = form == .hex ? dump.names[stream] : form == .log ? logNames[stream] : ""
    for piece in pieces {
      // The line number of an entry is that of the entry's last byte. All directions in a log count as one cable.
      let place = logRun.map {
        CaptureEntry.Place.packet($0.line, time: .origin + $0.time, cable: 1, offset: piece.range.lowerBound)
      }
      pass(CaptureEntry(piece, of: capture, at: place, from: name, &narrator), emit)
    }
  }

  // MARK: Logs

  /// The maximum number of named channels in a log. A limit is needed because any text could be mistaken for a name.
  private static let mostLogNames = 16

  private func readLog(_ line: LineCutter.Line, _ emit: (CaptureEntry) -> Void) {
    guard let run = log.read(line) else { return }
    logRun = run
    let index = logNames.firstIndex(of: run.name) ?? min(logNames.count, Self.mostLogNames - 1)
    if index == logNames.count {
      logNames.append(run.name)
      captures.append(PacketCapture())
    }
    describe(captures[index].append(run.bytes), of: captures[index], index, emit)
  }

  private func pass(_ entry: CaptureEntry, _ emit: (CaptureEntry) -> Void) {
    summary.add(entry)
    emit(entry)
  }

  // MARK: Transcripts

  private func read(_ line: LineCutter.Line, _ emit: (CaptureEntry) -> Void) {
    // If a line is too long for a transcript, only its first part is examined.
    if line.offset > 0 { return }
    if let found = TranscriptLine(line.bytes) {
      pass(CaptureEntry(found, number: line.number), emit)
    } else if line.bytes.contains(where: { $0 > 0x20 }) {
      foreignLines = (foreignLines?.first ?? line.number, (foreignLines?.count ?? 0) + 1)
    }
  }
}

/// Counts the entries of each kind in a capture.
public struct CaptureSummary: Equatable, Sendable {
  /// The number of entries.
  public private(set) var entries = 0
  private var counts: [CaptureEntry.Event: Int] = [:]
  private var unsound = 0
  private var contents = 0
  private var skipped = 0

  /// Whether there is at least one packet and every byte belongs to an intact packet.
  public var isSound: Bool { contents > 0 && unsound == 0 }

  /// Whether anything but notes and bytes outside packets was found.
  public var hasContents: Bool { contents > (counts[.skipped] ?? 0) + (counts[.note] ?? 0) }

  mutating func add(_ entry: CaptureEntry) {
    entries += 1
    if ![.cable, .others, .problem].contains(entry.event) { contents += 1 }
    counts[entry.event, default: 0] += 1
    if !entry.event.isSound { unsound += 1 }
    // A transcript can claim that any number of bytes were skipped.
    skipped = skipped.addingReportingOverflow(entry.skippedCount).overflow ? .max : skipped + entry.skippedCount
  }

  /// The counts as text.
  public var text: String {
    func count(_ event: CaptureEntry.Event) -> Int { counts[event] ?? 0 }
    let packets = count(.packet) + count(.spoiled)
    var parts = [packets.counted("packet")]
    if count(.cable) > 1 { parts[0] += " on \(count(.cable)) cables" }
    if count(.spoiled) > 0 { parts.append("\(count(.spoiled)) of them spoiled") }
    if count(.message) > 0 { parts.append("\(count(.message)) messages outside packets") }
    if count(.unfinished) > 0 { parts.append("\(count(.unfinished)) unfinished") }
    if count(.transfer) > 0 { parts.append(count(.transfer).counted("native transfer")) }
    if count(.problem) > 0 { parts.append(count(.problem).counted("problem")) }
    if skipped > 0 { parts.append("\(skipped.counted("byte")) skipped") }
    return parts.joined(separator: ", ")
  }
}
