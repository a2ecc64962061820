import AccessoryCore
import IAP2

/// A capture, decoded packet by packet: what `easim decode` prints.
///
/// ```swift
/// let capture = try DecodedCapture(bytes)
/// for entry in capture.entries { print(entry.line) }
/// ```
public struct DecodedCapture: Sendable {
  /// The format of the capture.
  public let form: CaptureForm
  /// The entries, in order.
  public private(set) var entries: [CaptureEntry] = []
  /// The numbers of lines that are not part of the transcript, from 1; they are skipped.
  public private(set) var foreignLines: [Int] = []

  /// Decodes a capture. Without a format, it is detected.
  ///
  /// - Throws: ``CaptureError`` when the input is text that is neither hex nor a transcript.
  public init(_ input: [UInt8], as form: CaptureForm? = nil) throws(CaptureError) {
    let form = form ?? CaptureForm(of: input)
    self.form = form
    switch form {
    case .raw: tell([""], [(0, input)])
    case .hex:
      let dump = try HexDump(input)
      tell(dump.streams, dump.runs.lazy.map { ($0.stream, $0.bytes) })
    case .transcript: try retell(input)
    }
  }

  /// Whether every byte is part of a complete packet, and there is at least one packet.
  public var isSound: Bool {
    !entries.isEmpty && entries.allSatisfy { $0.event.isSound }
  }

  /// "12 packets, 1 of them spoiled, 3 bytes skipped".
  public var summary: String {
    func count(_ event: CaptureEntry.Event) -> Int { entries.count { $0.event == event } }
    let packets = count(.packet) + count(.spoiled)
    var parts = [packets.counted("packet")]
    if count(.spoiled) > 0 { parts.append("\(count(.spoiled)) of them spoiled") }
    if count(.message) > 0 { parts.append("\(count(.message)) messages without a packet") }
    if count(.unfinished) > 0 { parts.append("\(count(.unfinished)) unfinished") }
    let skipped = entries.reduce(0) { $0 + $1.skippedCount }
    if skipped > 0 { parts.append("\(skipped.counted("byte")) skipped") }
    return parts.joined(separator: ", ")
  }

  // MARK: Bytes

  /// Decodes the streams, in the order in which packets were complete.
  private mutating func tell(_ streams: [String], _ runs: some Sequence<(stream: Int, bytes: [UInt8])>) {
    let captures = streams.map { _ in PacketCapture() }
    // Both directions share the link's sessions, so one decoder gets both.
    var narrator = PacketNarrator()
    for run in runs {
      let capture = captures[run.stream]
      for piece in capture.append(run.bytes) {
        entries.append(CaptureEntry(piece, of: capture, from: streams[run.stream], &narrator))
      }
    }
    for (stream, capture) in zip(streams, captures) {
      for piece in capture.finish() { entries.append(CaptureEntry(piece, of: capture, from: stream, &narrator)) }
    }
  }

  // MARK: Transcripts

  private mutating func retell(_ input: [UInt8]) throws(CaptureError) {
    for (index, bytes) in input.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() {
      if let line = TranscriptLine(bytes) {
        entries.append(CaptureEntry(line, number: index + 1))
      } else if bytes.contains(where: { $0 > 0x20 }) {
        foreignLines.append(index + 1)
      }
    }
    if entries.isEmpty, let first = foreignLines.first {
      throw CaptureError(
        first, 1, "no line of a transcript, such as '0.000213 D ACK seq=1 ack=0', nor is any other line")
    }
  }
}
