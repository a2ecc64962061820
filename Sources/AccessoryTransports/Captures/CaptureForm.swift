/// How a capture is written down.
public enum CaptureForm: String, CaseIterable, Sendable {
  /// The bytes themselves.
  case raw
  /// The bytes as hex, in whatever form a tool prints them.
  case hex
  /// One line per packet, as `--transcript` writes them.
  case transcript

  /// What `input` is: a text that has a line of a transcript is a transcript, any other text is hex, and what is no text
  /// is raw bytes. An iAP2 stream is never text, because no text has the byte FF.
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

/// Why a text is no capture, and where.
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
