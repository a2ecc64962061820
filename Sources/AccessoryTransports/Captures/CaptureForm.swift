/// The format of a capture.
public enum CaptureForm: String, CaseIterable, Sendable {
  /// The bytes themselves.
  case raw
  /// The bytes in hex, in any form that tools print.
  case hex
  /// One line per packet, as `--transcript` writes them.
  case transcript

  /// The format of `input`: text with a line of a transcript is a transcript, other text is hex, and anything that is
  /// not text is raw bytes. An iAP2 stream is never text, because text has no byte FF.
  public init(of input: [UInt8]) {
    guard Self.isText(input) else {
      self = .raw
      return
    }
    let lines = input.split(separator: UInt8(ascii: "\n")).lazy
    self = lines.contains { TranscriptLine($0) != nil } ? .transcript : .hex
  }

  private static func isText(_ input: [UInt8]) -> Bool {
    let hasControls = input.contains { byte in
      switch byte {
      case 0x09, 0x0A, 0x0C, 0x0D: false
      default: byte < 0x20 || byte == 0x7F
      }
    }
    return !hasControls && String(validating: input, as: UTF8.self) != nil
  }
}

/// Why a text is not a capture, and where.
public struct CaptureError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The line, from 1.
  public let line: Int
  /// The column, from 1, in bytes.
  public let column: Int
  /// What is wrong and what to do, as a fragment of a sentence.
  public let message: String

  init(_ line: Int, _ column: Int, _ message: String) {
    self.line = line
    self.column = column
    self.message = message
  }

  /// "3:7: 'xyz' is not hex".
  public var description: String { "\(line):\(column): \(message)" }
}
