/// A capture in memory, decoded packet by packet. ``CaptureDecoder`` takes captures of any size.
///
/// ```swift
/// let capture = try DecodedCapture(bytes)
/// for entry in capture.entries { print(entry.line) }
/// ```
public struct DecodedCapture: Sendable {
  /// How the capture was written down.
  public let form: CaptureForm
  /// The pieces in order.
  public let entries: [CaptureEntry]
  /// How many lines were skipped, because they are not transcript lines.
  public let foreignLineCount: Int
  private let counts: CaptureSummary

  /// Decodes a capture. Without `form`, the form is detected.
  ///
  /// - Throws: ``CaptureError`` when it is a text that is neither hex nor a transcript.
  public init(_ input: [UInt8], as form: CaptureForm? = nil) throws(CaptureError) {
    let decoder = CaptureDecoder(as: form)
    var entries: [CaptureEntry] = []
    try decoder.append(input) { entries.append($0) }
    try decoder.finish { entries.append($0) }
    self.form = decoder.form ?? .hex
    self.entries = entries
    foreignLineCount = decoder.foreignLines?.count ?? 0
    counts = decoder.summary
  }

  /// Whether every byte is part of a whole packet, and there is one.
  public var isSound: Bool { counts.isSound }

  /// "12 packets, 1 of them spoiled, 3 bytes skipped".
  public var summary: String { counts.text }
}
