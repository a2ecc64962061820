/// Collects the ``Recording`` of the bytes of a capture, a piece at a time.
///
/// ```swift
/// var decoder = RecordingDecoder()
/// for piece in pieces { try decoder.append(piece) }
/// let recording = try decoder.finish()
/// ```
public struct RecordingDecoder {
  private let decoder = CaptureDecoder()
  private var reader = RecordingReader()
  private var failure: RecordingError?

  /// A decoder that has seen nothing yet.
  public init() {}

  /// Continues with more bytes.
  ///
  /// - Throws: ``CaptureError`` when they are no capture, and ``RecordingError`` when they cannot be played.
  public mutating func append(_ bytes: [UInt8]) throws {
    try decoder.append(bytes) { take($0) }
    if let failure { throw failure }
  }

  /// The recording, after the last bytes.
  ///
  /// - Throws: as ``append(_:)``.
  public mutating func finish() throws -> Recording {
    try decoder.finish { take($0) }
    if let failure { throw failure }
    return try reader.finish()
  }

  private mutating func take(_ entry: CaptureEntry) {
    guard failure == nil else { return }
    do throws(RecordingError) { try reader.add(entry) } catch { failure = error }
  }
}
