/// A capture's format.
public enum CaptureForm: String, CaseIterable, Sendable {
  /// The raw bytes of a link.
  case raw
  /// A hex dump in any common layout.
  case hex
  /// A transcript: one line per packet, as written by `--transcript`.
  case transcript
  /// Another program's log, in which some lines contain bytes in hex.
  case log
  /// The older file format that tcpdump and Wireshark use.
  case pcap
  /// The file format of Wireshark and of `--capture`.
  case pcapng
  /// Bluetooth traffic as recorded by Android and BlueZ.
  case btsnoop
  /// Bluetooth traffic as recorded by Apple's PacketLogger.
  case packetlogger

  /// Detects the format of `input`. A packet file is recognized by its first bytes. Text is considered a transcript if
  /// it contains a transcript line. All other text is considered a log if it contains a log line that could not be part
  /// of a hex dump; otherwise, it is considered hex. Anything that is not text is considered raw bytes. An iAP2 stream
  /// contains the byte FF, so it is never text.
  public init(of input: [UInt8]) {
    self = Self.form(of: input, isEnd: true) ?? .hex
  }

  /// If the format is still unknown after this many bytes, the input is assumed to be hex.
  static let undecidedLimit = 1 << 16

  /// Returns the format of a capture that begins with `input`, or nil while more bytes are needed.
  ///
  /// Incomplete lines are also examined, so the first chunk of a file or the first line from a pipe is enough.
  static func form(of input: [UInt8], isEnd: Bool) -> CaptureForm? {
    switch file(of: input) {
    case .some(let form?): return form
    case nil where !isEnd: return nil
    default: break
    }
    guard isText(isEnd ? input[...] : wholeCharacters(input)) else { return .raw }
    var lines = input.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    // The final line may be incomplete.
    if !isEnd { lines.removeLast() }
    if lines.contains(where: { TranscriptLine($0) != nil }) { return .transcript }
    if lines.contains(where: { !isHex($0) && LogReader.recognizes($0) }) { return .log }
    if isEnd || input.count >= undecidedLimit { return .hex }
    return lines.contains(where: isHex) ? .hex : nil
  }

  /// Returns true if the first bytes are those of a packet file, whether compressed or not.
  public static func isFile(_ input: [UInt8]) -> Bool {
    if input.starts(with: Gunzip.magic) { return true }
    if case .some(.some) = file(of: input) { return true }
    return false
  }

  /// Returns the kind of packet file that begins with `input`. Returns nil if more bytes are needed to decide, and
  /// `.some(nil)` if `input` is not a packet file.
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

/// The reason why text is not a valid capture, and the position of the problem.
public struct CaptureError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The line number, counting from 1.
  public let line: Int
  /// The column, in bytes, counting from 1.
  public let column: Int
  /// The problem and how to fix it, as a sentence fragment.
  public let message: String

  init(_ line: Int, _ column: Int, _ message: String) {
    self.line = line
    self.column = column
    self.message = message
  }

  /// The error as text, for example "3:7: 'xyz' is not hex".
  public var description: String { "\(line):\(column): \(message)" }
}
