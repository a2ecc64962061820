import AccessoryCore
import AccessoryFormats
import IAP2

/// Replaces secrets in files before the files are shared. Secrets are serial numbers, addresses, names, certificates
/// and passphrases. A secret's replacement has the secret's length and is the same in all files.
///
/// All files are read before any file is rewritten, so a name found in one file is replaced in every file.
///
/// ```swift
/// var redaction = Redaction(keeping: [.payload])
/// try redaction.add(bytes, named: "capture.pcapng")
/// let redacted = try redaction.finish()[0]
/// ```
///
/// A file that easim cannot interpret completely is refused. Each redacted file is read again to verify that a decoder
/// finds the same packets as before and that no secret remains.
public struct Redaction {
  /// The maximum size of a file.
  public static let mostBytes = 256 << 20

  /// The secrets that were found, with the number of replacements of each kind.
  public private(set) var names: SecretNames
  private var files: [(name: String, document: any RedactedDocument, sketch: CaptureSketch?)] = []
  private let progress: (_ step: String, _ fraction: Double) -> Void

  /// Creates a redaction that has no files yet.
  ///
  /// - Parameter progress: called from time to time with the current step and the fraction of it that is complete.
  public init(
    keeping kept: Set<SecretKind>, progress: @escaping (_ step: String, _ fraction: Double) -> Void = { _, _ in }
  ) {
    (names, self.progress) = (SecretNames(keeping: kept), progress)
  }

  /// Reads a file and collects its secrets.
  ///
  /// - Throws: ``RedactionRefusal`` if easim cannot interpret the whole file.
  public mutating func add(_ bytes: [UInt8], named name: String) throws(RedactionRefusal) {
    guard bytes.count <= Self.mostBytes else { throw RedactionRefusal(name, "it is larger than 256 MiB") }
    do throws(RedactionRefusal) {
      let document = try Self.document(bytes)
      // Only a sketch of the original is kept, so that the file's bytes are in memory only once.
      let sketch = document.isCapture ? CaptureSketch(bytes) { progress("reading \(name)", $0) } : nil
      if document is TranscriptDocument, let reason = sketch?.refusal { throw RedactionRefusal("", reason) }
      files.append((name, document, sketch))
    } catch { throw RedactionRefusal(name, error.reason) }
  }

  /// Returns the redacted files, in the order in which they were added.
  ///
  /// - Throws: ``RedactionRefusal`` if a redacted file does not decode to the same packets as before or still contains
  ///   a secret.
  public mutating func finish() throws(RedactionRefusal) -> [[UInt8]] {
    for index in files.indices {
      let name = files[index].name
      files[index].document.collect(into: &names) { progress("looking for secrets in \(name)", $0) }
    }
    if !files.contains(where: { $0.document.namesSecrets }), let file = files.first {
      throw RedactionRefusal(
        file.name,
        "a page or JUnit file does not show which of its words are names and serial numbers: redact it together with "
          + "the JSON report of the same run")
    }
    var redacted: [[UInt8]] = []
    // To save memory, each document is released as soon as it has been rewritten.
    while !files.isEmpty {
      var (name, document, sketch) = files.removeFirst()
      let made = document.rewrite(&names) { progress("replacing secrets in \(name)", $0) }
      // The redacted file is checked twice, once by the reader that found the secrets and once by the decoder.
      var rest = SecretNames(keeping: names.kept)
      document = try Self.document(made)
      document.collect(into: &rest) { progress("checking \(name)", $0 / 2) }
      document = RawDocument()
      if let sketch {
        let again = CaptureSketch(made, keepsStreams: true) { progress("checking \(name)", 0.5 + $0 / 2) }
        if again != sketch { throw RedactionRefusal(name, "the redacted file would not decode as before") }
        again.collect(into: &rest)
      }
      if let left = names.first(leftIn: rest) {
        throw RedactionRefusal(name, "a secret of the kind \(left.rawValue) would be left")
      }
      if sketch != nil, !names.areAbsent(from: made) {
        throw RedactionRefusal(name, "a secret would be left outside the messages")
      }
      redacted.append(made)
    }
    return redacted
  }

  private static func document(_ bytes: [UInt8]) throws(RedactionRefusal) -> any RedactedDocument {
    if bytes.starts(with: [0x1F, 0x8B]) { throw RedactionRefusal("", "it is compressed: unpack it with gunzip first") }
    let first = bytes.first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) } ?? 0
    if Array("{[<".utf8).contains(first), String(validating: bytes, as: UTF8.self) != nil {
      return first == UInt8(ascii: "<") ? try MarkupDocument(bytes) : try JSONDocument(bytes)
    }
    let form = CaptureForm(of: bytes)
    switch form {
    case .pcapng, .pcap, .btsnoop, .packetlogger: return try PacketDocument(bytes, as: form)
    case .raw: return try RawDocument(bytes)
    case .transcript: return TranscriptDocument(bytes)
    case .log, .hex: return LogDocument(bytes, as: form)
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

protocol RedactedDocument {
  /// Whether the file is a capture, which easim can decode.
  var isCapture: Bool { get }
  /// Whether the file shows which values are secrets. A file without this information must be redacted together with a
  /// file that has it.
  var namesSecrets: Bool { get }
  /// Adds the secrets in the file to `names`. Documents that are read line by line also report progress.
  mutating func collect(into names: inout SecretNames, _ progress: (Double) -> Void)
  /// Returns the file with its secrets replaced. Call this method only once, because it may release the document's
  /// data.
  mutating func rewrite(_ names: inout SecretNames, _ progress: (Double) -> Void) -> [UInt8]
}

extension RedactedDocument {
  var isCapture: Bool { true }
  var namesSecrets: Bool { true }
}

/// The structure of a decoded capture, without its contents. Redaction must not change the structure.
private struct CaptureSketch: Equatable {
  /// The number of bytes that the decoder reads at a time.
  private static let step = 1 << 20

  /// Why the file cannot be read as a transcript, or nil if it can.
  let refusal: String?
  /// A hash of all entries.
  private let entries: Int
  private let summary: CaptureSummary
  private let findings: Int
  private let streams: [String: WireStream]

  init(_ bytes: [UInt8], keepsStreams: Bool = false, _ progress: (Double) -> Void) {
    let decoder = CaptureDecoder()
    var failure: String?
    var analysis = CaptureAnalysis()
    var findings = 0
    var entries = Hasher()
    var streams: [String: WireStream] = [:]
    func count(_ events: [CaptureAnalysis.Event]) {
      for case .finding in events { findings += 1 }
    }
    func take(_ entry: CaptureEntry) {
      var cable = 0
      if case .packet(_, _, let number, _) = entry.place { cable = number }
      if keepsStreams, entry.event != .transfer {
        _ = streams["\(cable) \(entry.from)", default: WireStream()].append(entry.bytes)
      }
      let messages = entry.messages.map { "\($0.id)/\($0.body.count)" }.joined(separator: ",")
      let header = entry.header.map { "\($0)" } ?? ""
      entries.combine("\(entry.event.rawValue) \(entry.from) \(entry.bytes.count) \(header) \(messages)")
      count(analysis.add(entry))
    }
    do throws(CaptureError) {
      var place = 0
      while place < bytes.count {
        let end = min(place + Self.step, bytes.count)
        try decoder.append(Array(bytes[place..<end]), take)
        place = end
        // A file that fits in one chunk is read too quickly to need a progress report.
        if place < bytes.count { progress(Double(place) / Double(bytes.count)) }
      }
      try decoder.finish(take)
    } catch { failure = "\(error)" }
    count(analysis.finish())
    refusal = failure ?? decoder.foreignLines.map { "line \($0.first) is not a line of a transcript" }
    (self.entries, summary, self.findings) = (entries.finalize(), decoder.summary, findings)
    self.streams = streams
  }

  func collect(into names: inout SecretNames) {
    for key in streams.keys.sorted() {
      var stream = streams[key]
      stream?.collect(into: &names)
    }
  }

  static func == (left: Self, right: Self) -> Bool {
    left.entries == right.entries && left.summary == right.summary && left.findings == right.findings
      && left.refusal == right.refusal
  }
}

/// A file with the raw bytes that one or both sides of a cable sent, in order.
struct RawDocument: RedactedDocument {
  private var stream = WireStream()

  init() {}

  init(_ bytes: [UInt8]) throws(RedactionRefusal) {
    var scanner = PacketScanner()
    var hasPackets = false
    scanner.forEach(in: bytes.span.bytes) { piece, _ in if case .packet = piece { hasPackets = true } }
    guard hasPackets else { throw RedactionRefusal("", "it contains no iAP2") }
    _ = stream.append(bytes)
  }

  mutating func collect(into names: inout SecretNames, _: (Double) -> Void) { stream.collect(into: &names) }

  mutating func rewrite(_ names: inout SecretNames, _: (Double) -> Void) -> [UInt8] {
    stream.rewrite(&names)
    return stream.bytes
  }
}

struct TranscriptDocument: RedactedDocument {
  private var bytes: [UInt8]

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  mutating func collect(into names: inout SecretNames, _ progress: (Double) -> Void) {
    forEachLine(progress) { ShownMessages.collect(Array($0[$1]), into: &names) }
  }

  mutating func rewrite(_ names: inout SecretNames, _ progress: (Double) -> Void) -> [UInt8] {
    forEachLine(progress) { bytes, range in
      var line = Array(bytes[range])
      HexInText.rewrite(&line, &names)
      bytes.replaceSubrange(range, with: line)
    }
    return bytes
  }

  private mutating func forEachLine(
    _ progress: (Double) -> Void, _ take: (_ bytes: inout [UInt8], _ range: Range<Int>) -> Void
  ) {
    var (start, number) = (0, 0)
    while start < bytes.count {
      let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
      take(&bytes, start..<end)
      (start, number) = (end + 1, number + 1)
      if number.isMultiple(of: 10_000) { progress(Double(start) / Double(bytes.count)) }
    }
  }
}

/// A capture file that was written with `--capture`, or recorded from USB or Bluetooth by another program. Redaction
/// changes iAP2 packets, native transfers, comments and interface descriptions in place. All other USB and Bluetooth
/// traffic is erased except for its headers, and Bluetooth addresses are replaced.
///
/// A file that contains unknown link types or blocks is refused because such data could contain secrets.
struct PacketDocument: RedactedDocument {
  private var bytes: [UInt8]
  private let places: CapturePlaces
  private var streams: [WireStream] = []
  private var texts: [Range<Int>] = []
  /// The positions of interface descriptions, which contain the names of accessories.
  private var descriptions: [Range<Int>] = []

  init(_ bytes: [UInt8], as form: CaptureForm) throws(RedactionRefusal) {
    self.bytes = bytes
    do throws(CaptureProblem) {
      places = try CapturePlaces(bytes, as: form)
    } catch { throw RedactionRefusal("", "\(error)") }
    for stream in places.streams {
      var wire = WireStream(isNative: stream.isNative)
      for piece in stream.pieces { _ = wire.append(bytes[piece]) }
      streams.append(wire)
    }
    if form == .pcapng { try readTexts() }
  }

  private mutating func readTexts() throws(RedactionRefusal) {
    var order = ByteOrder.little
    var place = 0
    func number(_ place: Int, _ count: Int) -> Int { Int(bytes.number(at: place, count, order)) }
    while place < bytes.count {
      func refusal(_ reason: String) -> RedactionRefusal { RedactionRefusal("", "byte \(place): \(reason)") }
      if bytes[place..<place + 4].elementsEqual([0x0A, 0x0D, 0x0D, 0x0A]) {
        order = bytes[place + 8] == 0x4D ? .little : .big
      }
      let (type, count) = (number(place, 4), number(place + 4, 4))
      let end = place + count - 4
      var options: Int
      switch type {
      case 0x0A0D_0D0A: options = place + 24
      case 1: options = place + 16
      case 3: options = end
      case 5: options = place + 20
      case 6 where count >= 32: options = place + 28 + (number(place + 20, 4) + 3) / 4 * 4
      default: throw refusal("a block of type \(type), which may contain names")
      }
      while options + 4 <= end, number(options, 2) != 0 {
        let (code, size) = (number(options, 2), number(options + 2, 2))
        guard options + 4 + size <= end else { throw refusal("an option without its end") }
        let range = options + 4..<options + 4 + size
        // These options contain comments, the names of hardware, systems and programs, and the names, descriptions and
        // filters of interfaces.
        let isText = code == 1 || (type == 1 && [2, 3, 11, 12].contains(code)) || (type == 0x0A0D_0D0A && code <= 4)
        if isText { texts.append(range) }
        if type == 1, code == 3, number(place + 8, 2) == 147 { descriptions.append(range) }
        options += 4 + (size + 3) / 4 * 4
      }
      place += count
    }
  }

  mutating func collect(into names: inout SecretNames, _: (Double) -> Void) {
    for index in streams.indices { streams[index].collect(into: &names) }
    for range in places.addresses { names.add(bytes[range].reversed(), .address) }
    for range in places.names { names.add(bytes[range].prefix { $0 != 0 }, .name) }
    for range in texts { ShownMessages.collect(Array(bytes[range]), into: &names) }
    for range in descriptions where !bytes[range].elementsEqual("events".utf8) { names.add(bytes[range], .name) }
  }

  mutating func rewrite(_ names: inout SecretNames, _: (Double) -> Void) -> [UInt8] {
    // A copy is needed only if USB or Bluetooth headers must be kept.
    let original = places.headers.isEmpty && places.addresses.isEmpty ? [] : bytes
    for range in places.frames { bytes.replaceSubrange(range, with: [UInt8](repeating: 0, count: range.count)) }
    for range in places.headers { bytes.replaceSubrange(range, with: original[range]) }
    for range in places.addresses {
      let address = Array(original[range].reversed())
      let name = names.kept.contains(.address) ? address : names.name(of: address) ?? []
      bytes.replaceSubrange(range, with: name.isEmpty ? [UInt8](repeating: 0, count: 6) : name.reversed())
    }
    for (index, stream) in places.streams.enumerated() {
      streams[index].rewrite(&names)
      var start = 0
      for piece in stream.pieces {
        bytes.replaceSubrange(piece, with: streams[index].bytes[start..<start + piece.count])
        start += piece.count
      }
      streams[index] = WireStream()
    }
    for range in texts {
      var text = Array(bytes[range])
      HexInText.rewrite(&text, &names)
      bytes.replaceSubrange(range, with: text)
    }
    return bytes
  }
}
