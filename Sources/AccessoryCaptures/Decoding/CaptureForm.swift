/// The format of a capture.
public enum CaptureForm: String, CaseIterable, Sendable {
  /// The bytes themselves.
  case raw
  /// Bytes in hex, in any form that tools print.
  case hex
  /// One line per packet, as `--transcript` writes them.
  case transcript
  /// The log of another program, with bytes in hex somewhere in its lines.
  case log
  /// Files of tcpdump and Wireshark in the old format.
  case pcap
  /// Files of Wireshark and of `--capture`.
  case pcapng
  /// Bluetooth, as Android and BlueZ record it.
  case btsnoop
  /// Bluetooth, as Apple's PacketLogger records it.
  case packetlogger

  /// The format of `input`: text with a line of a transcript is a transcript, text with a line of a log that is not one
  /// of a hex dump is a log, other text is hex, and anything that is not text is raw bytes. Each kind of file begins
  /// with its own number. An iAP2 stream is never text, because text has no byte FF.
  public init(of input: [UInt8]) {
    self = Self.form(of: input, isEnd: true) ?? .hex
  }

  /// After this many bytes without a sign of their format, the input is taken for hex.
  static let undecidedLimit = 1 << 16

  /// The format of a capture that begins with `input`; nil while more bytes are needed.
  ///
  /// The beginning is examined even before the first line is complete, so that the first chunk of a file, or the first
  /// line from a pipe, is enough.
  static func form(of input: [UInt8], isEnd: Bool) -> CaptureForm? {
    switch file(of: input) {
    case .some(let form?): return form
    case nil where !isEnd: return nil
    default: break
    }
    guard isText(isEnd ? input[...] : wholeCharacters(input)) else { return .raw }
    var lines = input.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    // The last line may be incomplete.
    if !isEnd { lines.removeLast() }
    if lines.contains(where: { TranscriptLine($0) != nil }) { return .transcript }
    if lines.contains(where: { !isHex($0) && LogReader.recognizes($0) }) { return .log }
    if isEnd || input.count >= undecidedLimit { return .hex }
    return lines.contains(where: isHex) ? .hex : nil
  }

  /// Whether bytes begin like a file of packets, compressed or not.
  public static func isFile(_ input: [UInt8]) -> Bool {
    if input.starts(with: Gunzip.magic) { return true }
    if case .some(.some) = file(of: input) { return true }
    return false
  }

  /// The kind of file that begins with `input`: nil while too little is known, and `.some(nil)` if it is no such file.
  private static func file(of input: [UInt8]) -> CaptureForm?? {
    var mayBe = false
    func begins(_ magic: [UInt8]) -> Bool {
      if input.count < magic.count, magic.starts(with: input) { mayBe = true }
      return input.starts(with: magic)
    }
    if begins(PcapngReader.magic) { return .pcapng }
    if PcapFormat.magics.contains(where: begins) { return .pcap }
    if begins(BtsnoopFormat.magic) { return .btsnoop }
    switch PacketLoggerFormat.recognizes(input) {
    case true?: return .packetlogger
    case nil: mayBe = true
    case false?: break
    }
    return mayBe ? nil : .some(nil)
  }

  /// The reader for files of this format; nil for bytes and text.
  var reader: (any CaptureFileReader)? {
    switch self {
    case .raw, .hex, .transcript, .log: nil
    case .pcap: RecordFileReader<PcapFormat>()
    case .pcapng: PcapngReader()
    case .btsnoop: RecordFileReader<BtsnoopFormat>()
    case .packetlogger: RecordFileReader<PacketLoggerFormat>()
    }
  }

  private static func isHex(_ line: ArraySlice<UInt8>) -> Bool {
    let scanner = HexLineScanner(line, number: 1, offsetWidth: nil) { _ in false }
    return (try? scanner.scan()) != nil
  }

  /// The text without an incomplete UTF-8 character at its end.
  private static func wholeCharacters(_ input: [UInt8]) -> ArraySlice<UInt8> {
    for length in 1...3 where length <= input.count {
      let first = input[input.count - length]
      if first & 0xC0 == 0x80 { continue }
      let needed = first >= 0xF0 && first < 0xF8 ? 4 : first >= 0xE0 ? 3 : first >= 0xC2 ? 2 : 1
      return first < 0xF8 && length < needed ? input.dropLast(length) : input[...]
    }
    return input[...]
  }

  private static func isText(_ input: ArraySlice<UInt8>) -> Bool {
    let hasControls = input.contains { byte in
      switch byte {
      case 0x09, 0x0A, 0x0C, 0x0D: false
      default: byte < 0x20 || byte == 0x7F
      }
    }
    return !hasControls && String(validating: input, as: UTF8.self) != nil
  }
}

/// Why a string is not a capture, and where the problem is.
public struct CaptureError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The number of the line, from 1.
  public let line: Int
  /// The number of the column, from 1, in bytes.
  public let column: Int
  /// What is wrong and how to fix it, as a fragment of a sentence.
  public let message: String

  init(_ line: Int, _ column: Int, _ message: String) {
    self.line = line
    self.column = column
    self.message = message
  }

  /// "3:7: 'xyz' is not hex".
  public var description: String { "\(line):\(column): \(message)" }
}
