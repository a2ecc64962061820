import AccessoryCaptures
import AccessoryCore
import AccessoryFormats
import IAP2

/// Replaces the secrets in files before they are sent to others: serial numbers, addresses, names, certificates and
/// passphrases. Each secret is replaced with text of the same length, and the replacement is the same in all files.
///
/// All files are read before the first is rewritten, so that a name found in one file is also replaced in the others.
///
/// ```swift
/// var redaction = Redaction(keeping: [.payload])
/// try redaction.add(bytes, named: "capture.pcapng")
/// let redacted = try redaction.finish()[0]
/// ```
///
/// A file that easim does not understand completely is refused. Each redacted file is read again: a decoder must find
/// the same packets as before, and no secret may remain.
public struct Redaction {
  /// The maximum size of a file.
  public static let mostBytes = 256 << 20

  /// The secrets found, and how many times they were replaced.
  public private(set) var names: SecretNames
  private var files: [(name: String, bytes: [UInt8], document: any RedactedDocument)] = []

  /// Creates a redaction without files.
  public init(keeping kept: Set<SecretKind>) { names = SecretNames(keeping: kept) }

  /// Reads a file and collects its secrets.
  ///
  /// - Throws: ``RedactionRefusal`` if easim does not understand everything in the file.
  public mutating func add(_ bytes: [UInt8], named name: String) throws(RedactionRefusal) {
    guard bytes.count <= Self.mostBytes else { throw RedactionRefusal(name, "it is larger than 256 MiB") }
    do throws(RedactionRefusal) {
      files.append((name, bytes, try Self.document(bytes)))
    } catch { throw RedactionRefusal(name, error.reason) }
  }

  /// Returns the redacted files, in the order in which they were added.
  ///
  /// - Throws: ``RedactionRefusal`` if a redacted file would not decode as before, or would still contain a secret.
  public mutating func finish() throws(RedactionRefusal) -> [[UInt8]] {
    for index in files.indices { files[index].document.collect(into: &names) }
    if !files.contains(where: { $0.document.namesSecrets }), let file = files.first {
      throw RedactionRefusal(
        file.name,
        "a page or a JUnit file does not say which of its words are names and serial numbers: redact it together with the "
          + "JSON report of the same run")
    }
    var redacted: [[UInt8]] = []
    for index in files.indices {
      let made = files[index].document.rewrite(&names)
      if files[index].document.isCapture, CaptureSketch(files[index].bytes) != CaptureSketch(made) {
        throw RedactionRefusal(files[index].name, "the redacted file would not decode as before")
      }
      // The redacted file is checked twice: by the reader that found the secrets, and by the decoder.
      var rest = SecretNames(keeping: names.kept)
      var again = try Self.document(made)
      again.collect(into: &rest)
      if files[index].document.isCapture { CaptureSketch(made).collect(into: &rest) }
      if let left = names.first(leftIn: rest) {
        throw RedactionRefusal(files[index].name, "a secret of the kind \(left.rawValue) would be left")
      }
      if files[index].document.isCapture, !names.areAbsent(from: made) {
        throw RedactionRefusal(files[index].name, "a secret would be left outside of the messages")
      }
      redacted.append(made)
    }
    return redacted
  }

  private static func document(_ bytes: [UInt8]) throws(RedactionRefusal) -> any RedactedDocument {
    if bytes.starts(with: [0x1F, 0x8B]) { throw RedactionRefusal("", "it is compressed: unpack it with gunzip first") }
    let text = bytes.drop { [0x20, 0x09, 0x0A, 0x0D].contains($0) }
    if let first = text.first, String(validating: bytes, as: UTF8.self) != nil {
      if first == UInt8(ascii: "{") || first == UInt8(ascii: "[") { return try JSONDocument(bytes) }
      if first == UInt8(ascii: "<") { return try MarkupDocument(bytes) }
    }
    let form = CaptureForm(of: bytes)
    switch form {
    case .pcapng, .pcap, .btsnoop, .packetlogger: return try PacketDocument(bytes, as: form)
    case .raw: return try RawDocument(bytes)
    case .transcript: return try TranscriptDocument(bytes)
    case .log, .hex: return LogDocument(bytes)
    }
  }
}

/// The reason why a file cannot be redacted.
public struct RedactionRefusal: Error, Equatable, Sendable, CustomStringConvertible {
  /// The file's name.
  public let file: String
  /// The reason, as a sentence fragment.
  public let reason: String

  init(_ file: String, _ reason: String) { (self.file, self.reason) = (file, reason) }

  /// The error as text, such as "capture.pcap: it is compressed".
  public var description: String { "\(file): \(reason)" }
}

/// One file that can be redacted.
protocol RedactedDocument {
  /// Whether the file is a capture, which easim can decode.
  var isCapture: Bool { get }
  /// Whether the file identifies its own secrets; if not, it can be redacted only together with a file that does.
  var namesSecrets: Bool { get }
  /// Adds the file's secrets to `names`.
  mutating func collect(into names: inout SecretNames)
  /// Returns the file with its secrets replaced.
  mutating func rewrite(_ names: inout SecretNames) -> [UInt8]
}

/// The structure that a decoder finds in a capture, without the contents; redaction must not change it.
private struct CaptureSketch: Equatable {
  private var entries: [String] = []
  private var summary: CaptureSummary
  private var findings = 0
  private var streams: [String: WireStream] = [:]
  private var failure: String?

  init(_ bytes: [UInt8]) {
    let decoder = CaptureDecoder()
    var failure: String?
    var analysis = CaptureAnalysis()
    var events: [CaptureAnalysis.Event] = []
    var entries: [String] = []
    var streams: [String: WireStream] = [:]
    func take(_ entry: CaptureEntry) {
      var cable = 0
      if case .packet(_, _, let number, _) = entry.place { cable = number }
      if entry.event != .transfer { _ = streams["\(cable) \(entry.from)", default: WireStream()].append(entry.bytes) }
      let messages = entry.messages.map { "\($0.id)/\($0.body.count)" }.joined(separator: ",")
      let header = entry.header.map { "\($0)" } ?? ""
      entries.append("\(entry.event.rawValue) \(entry.from) \(entry.bytes.count) \(header) \(messages)")
      events += analysis.add(entry)
    }
    do throws(CaptureError) {
      try decoder.append(bytes, take)
      try decoder.finish(take)
    } catch { failure = "\(error)" }
    events += analysis.finish()
    findings = events.count { if case .finding = $0 { true } else { false } }
    (self.entries, summary, self.failure) = (entries, decoder.summary, failure)
    self.streams = streams
  }

  /// Adds the secrets in the decoder's output to `names`.
  func collect(into names: inout SecretNames) {
    for key in streams.keys.sorted() {
      var stream = streams[key]
      stream?.collect(into: &names)
    }
  }

  static func == (left: Self, right: Self) -> Bool {
    left.entries == right.entries && left.summary == right.summary && left.findings == right.findings
      && left.failure == right.failure
  }
}

/// A file of raw bytes sent by one or both sides of a cable, in the order in which they were sent.
struct RawDocument: RedactedDocument {
  let isCapture = true
  let namesSecrets = true
  private var stream = WireStream()

  init(_ bytes: [UInt8]) throws(RedactionRefusal) {
    var scanner = PacketScanner()
    var hasPackets = false
    scanner.forEach(in: bytes.span.bytes) { piece, _ in if case .packet = piece { hasPackets = true } }
    guard hasPackets else { throw RedactionRefusal("", "there is no iAP2 in it") }
    _ = stream.append(bytes)
  }

  mutating func collect(into names: inout SecretNames) { stream.collect(into: &names) }

  mutating func rewrite(_ names: inout SecretNames) -> [UInt8] {
    stream.rewrite(&names)
    return stream.bytes
  }
}

/// A transcript written by `--transcript`.
struct TranscriptDocument: RedactedDocument {
  let isCapture = true
  let namesSecrets = true
  private var bytes: [UInt8]

  init(_ bytes: [UInt8]) throws(RedactionRefusal) {
    let decoder = CaptureDecoder(as: .transcript)
    do throws(CaptureError) {
      try decoder.append(bytes) { _ in }
      try decoder.finish { _ in }
    } catch { throw RedactionRefusal("", "\(error)") }
    if let foreign = decoder.foreignLines {
      throw RedactionRefusal("", "line \(foreign.first) is not a line of a transcript")
    }
    self.bytes = bytes
  }

  mutating func collect(into names: inout SecretNames) { ShownMessages.collect(bytes, into: &names) }

  mutating func rewrite(_ names: inout SecretNames) -> [UInt8] {
    HexInText.rewrite(&bytes, &names)
    return bytes
  }
}
