import AccessoryCaptures
import AccessoryCore
import AccessoryFormats
import AccessoryPages
import AccessorySessions
import Glibc
import LinuxIO

extension CommandSpec {
  static let decode = CommandSpec(
    name: "decode",
    summary: "decode captures: pcap, pcapng, Bluetooth logs, raw bytes, hex dumps, transcripts, other logs",
    details: """
      Read a capture from FILE, or from stdin with -, and print one line per packet: its offset or time, its sender as far as
      the capture shows it, and its contents. Bytes outside packets and packets with a wrong checksum are reported too. easim
      detects the format, even if FILE is compressed by gzip:

      pcap, pcapng   files from --capture, Wireshark and tcpdump: link types 147 (iAP2), 189 and 220 (USB), 187, 201 and 254
                     (Bluetooth); easim finds the connections that carry iAP2, and sums up the others in one line at the end
      btsnoop        Bluetooth logs from Android and BlueZ
      packetlogger   Bluetooth logs from Apple's PacketLogger (.pklg)
      raw            the bytes themselves
      hex            as printed by xxd, hexdump, od, tcpdump and Wireshark; A:, D:, TX or RX before a line gives its direction
      transcript     the lines of --transcript
      log            other text with runs of hex, such as logs from iOS (accessoryd), btmon's text, and UART tables (CSV) from
                     Saleae Logic and PulseView. Words such as RX, TX, in, out, Received, Sent or <- -> give the direction;
                     times are read, too. Lines without bytes are skipped and listed

      A sender is A or D (accessory or device), IN or OUT (of the USB device), or RX or TX (of the machine that recorded).
      Try:

        echo ff550200ee10 ff5a000940014000 1d | easim decode -

      FILE can be of any size; a pipe is decoded while it is read.

      The exit code is 0 if every byte is part of a whole packet; 1 if not, if the file is damaged, or if --check finds a
      broken rule; and 2 if FILE is not a capture.
      """,
    examples: [
      "easim decode capture.bin", "easim decode --check --stats capture.pcapng",
      "echo FF 55 02 00 EE 10 | easim decode --verbose --as hex -",
    ],
    run: { (options: DecodeOptions, console) in try CapturePrinter(options, console).printFile(options.path) })
}

private struct DecodeOptions: CommandOptions {
  var path = ""
  var form: CaptureForm?
  var isVerbose = false
  var wantsStatistics = false
  var checks = false
  /// The folder for session data, or `-` to print the data as lines of hex.
  var sessions: String?
  var shared = SharedOptions()

  var showsPackets: Bool { !wantsStatistics && !checks && sessions == nil }

  static let operands: [Operand<Self>] = [Operand(\.path, .text, as: "FILE|-")]
  static let options: [Option<Self>] = [
    Option(
      "--as", \.form, .optional(.choice), as: "FORM",
      "format: raw, hex, transcript, log, pcap, pcapng, btsnoop or packetlogger (default: detected)"),
    Option("--verbose", short: "-v", \.isVerbose, "show every parameter of control messages, and every byte"),
    Option(
      "--sessions", \.sessions, as: "FOLDER|-", "write each session's bytes to files in FOLDER; - prints them in hex"),
    Option(
      "--stats", \.wantsStatistics,
      "print rates, retransmissions, round trips and gaps for each cable and direction"),
    Option("--check", \.checks, "print each rule that either end broke, and the packet that broke the rule"),
    .json,
  ]
}

private final class CapturePrinter {
  /// Lines are printed when this many bytes are buffered, and before more input is read.
  private static let mostText = 1 << 16

  private let console: Console
  private let options: DecodeOptions
  private let decoder: CaptureDecoder
  private var analysis = CaptureAnalysis()
  private var files: SessionFiles?
  private var text = ""
  private var findings = 0
  private var failure: (any Error)?

  init(_ options: DecodeOptions, _ console: Console) throws {
    (self.options, self.console) = (options, console)
    decoder = CaptureDecoder(as: options.form)
    if let folder = options.sessions, folder != "-" { files = try SessionFiles(in: folder) }
  }

  func printFile(_ path: String) throws -> ExitCode {
    let name = path == "-" ? "stdin" : path
    let progress = ReadingProgress(path, console)
    defer { progress.end() }
    do {
      try InputFile.read(path) { bytes in
        try decoder.append(bytes, handle)
        flush()
        progress.add(bytes.count)
        if let failure { throw failure }
        return !console.hasNoReader
      }
      progress.end()
      if !console.hasNoReader {
        try decoder.finish(handle)
        if !options.showsPackets { analysis.finish().forEach(show) }
      }
      flush()
      if let failure { throw failure }
    } catch let error as CaptureError {
      flush()
      return console.end(.usage, "\(name):\(error)")
    }
    let skipped = decoder.skippedLines
    if skipped.count > 0 {
      let ranges = skipped.ranges.map { $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound)-\($0.upperBound)" }
      let known = skipped.ranges.reduce(0) { $0 + $1.count }
      console.err(
        "easim: \(name): \(skipped.count.counted("line has", "lines have")) no bytes and \(skipped.count == 1 ? "was" : "were") "
          + "skipped: \(ranges.joined(separator: ", "))\(known < skipped.count ? ", …" : "")")
    }
    if let foreign = decoder.foreignLines {
      console.err(
        "easim: \(foreign.count.counted("line is", "lines are")) not part of a transcript and skipped; the first is "
          + "\(name):\(foreign.first)")
    }
    return conclude()
  }

  // MARK: Lines

  private func handle(_ entry: CaptureEntry) {
    if options.showsPackets {
      let lines =
        console.isJSON
        ? [entry.json(isVerbose: options.isVerbose)] : [entry.line] + (options.isVerbose ? entry.details : [])
      return lines.forEach(print)
    }
    switch entry.event {
    case .cable, .problem, .others: print(console.isJSON ? entry.json(isVerbose: false) : entry.line)
    default: break
    }
    analysis.add(entry).forEach(show)
  }

  private func show(_ event: CaptureAnalysis.Event) {
    switch event {
    case .finding(let sentence):
      guard options.checks else { return }
      findings += 1
      guard console.isJSON else { return print("broken: \(sentence)") }
      print(JSONObject(["v": 1, "event": "broken", "text": sentence]).text)
    case .session(let bytes):
      guard options.sessions != nil else { return }
      if let files {
        do { try files.add(bytes) } catch { failure = failure ?? error }
        return
      }
      guard console.isJSON else {
        return print("cable \(bytes.cable) session \(bytes.session) \(bytes.from) \(Hex.plain(bytes.bytes))")
      }
      print(
        JSONObject([
          "v": 1, "event": "sessionBytes", "cable": bytes.cable, "session": Int(bytes.session), "from": bytes.from,
          "hex": Hex.plain(bytes.bytes),
        ]).text)
    }
  }

  private func print(_ line: String) {
    text += line
    text += "\n"
    if text.utf8.count >= Self.mostText { flush() }
  }

  private func flush() {
    if !text.isEmpty { console.out(text, ending: "") }
    text.removeAll(keepingCapacity: true)
  }

  private func conclude() -> ExitCode {
    if options.wantsStatistics {
      for figures in analysis.statistics { console.out(console.isJSON ? figures.json.text : figures.line) }
    }
    let summary = decoder.summary
    let passed = summary.isSound && findings == 0
    let found = options.checks ? "; \(findings == 0 ? "no rule is broken" : findings.counted("broken rule"))" : ""
    if console.isJSON {
      console.out(["v": 1, "event": "result", "passed": passed, "text": summary.text + found])
    } else if !console.hasNoReader {
      // If the process that was reading stdout has exited, decoding stopped early.
      let form = decoder.form ?? .hex
      let contents = summary.entries == 0 ? "nothing to decode" : summary.text + found
      console.err("easim: read as \(form.rawValue): \(contents)")
    }
    return passed ? .done : .checkFailed
  }
}

/// A folder with two files for each session in a capture, one for each direction.
private final class SessionFiles {
  /// The maximum number of files, which keeps a capture from using up all file descriptors.
  private static let mostFiles = 512

  private let folder: String
  private var descriptors: [String: Int32] = [:]

  init(in folder: String) throws {
    self.folder = folder
    try PatientFile.makeFolder(folder, named: "--sessions \(folder)")
  }

  deinit { for descriptor in descriptors.values { close(descriptor) } }

  func add(_ bytes: CaptureAnalysis.SessionBytes) throws {
    let from = bytes.from.isEmpty ? "" : "-\(bytes.from)"
    let path = "\(folder)/cable\(bytes.cable)-session\(bytes.session)\(from).bin"
    let descriptor = try descriptors[path] ?? open(path)
    if let code = FileWriting.write(bytes.bytes, to: descriptor) {
      throw UsageError("--sessions: \(path): \(String(cString: strerror(code)))")
    }
  }

  private func open(_ path: String) throws -> Int32 {
    guard descriptors.count < Self.mostFiles else {
      throw UsageError("--sessions: the capture has more than \(Self.mostFiles) sessions and directions")
    }
    let descriptor = try PatientFile.open(path, O_WRONLY | O_CREAT | O_TRUNC, named: "--sessions: \(path)")
    descriptors[path] = descriptor
    return descriptor
  }
}

extension CommandSpec {
  static let trace = CommandSpec(
    name: "trace", summary: "turn a capture into a trace: one HTML file that shows it in any browser",
    details: """
      Read a capture from FILE, or from stdin with -, and write an HTML page that shows its cables, identifications, sessions
      and packets. The page is a single file, which opens without a server or a network. FILE may have any format that
      'easim decode' reads, except a transcript, which does not contain all bytes.

      The page is written to --out, or next to FILE with .html added to its name. A capture that does not fit into
      --trace-limit is shortened; the page says what is missing.

      To make such a page of a run, pass --trace FILE.html to easim run, send, burst, check, scenario run, replay, soak or
      demo.
      """,
    examples: ["easim trace capture.pcapng", "easim trace --out trace.html capture.pcapng"], run: runTrace)
}

private struct TraceOptions: CommandOptions {
  var path = ""
  var out: String?
  var form: CaptureForm?
  var shared = SharedOptions()

  static let operands: [Operand<Self>] = [Operand(\.path, .text, as: "FILE|-")]
  static let options: [Option<Self>] = [
    Option("--out", \.out, as: "FILE", "write the page to FILE (default: FILE.html beside the capture)"),
    Option("--as", \.form, .optional(.choice), as: "FORM", "format of FILE, as for 'easim decode' (default: detected)"),
    .traceLimit,
  ]
}

private func runTrace(_ options: TraceOptions, _ console: Console) throws -> ExitCode {
  guard let out = options.out ?? (options.path == "-" ? nil : "\(options.path).html") else {
    throw UsageError("trace - needs --out FILE")
  }
  let file = try PatientFile.whole(out, named: options.out.map { "--out \($0)" } ?? out)
  let recorder = TraceRecorder(
    program: Version.program, command: TraceFile.command, time: "recorded",
    limit: options.shared.traceLimit ?? TraceRecorder.usualLimit)
  recorder.readsLinks = true
  var capture = TracedCapture(recorder)
  let decoder = CaptureDecoder(as: options.form)
  let name = options.path == "-" ? "stdin" : options.path
  let progress = ReadingProgress(options.path, console)
  defer { progress.end() }
  do {
    try InputFile.read(options.path) { bytes in
      try decoder.append(bytes) { capture.add($0) }
      progress.add(bytes.count)
      return decoder.form != .transcript
    }
    try decoder.finish { capture.add($0) }
  } catch let error as CaptureError { throw UsageError("\(name):\(error)") }
  if decoder.form == .transcript {
    throw UsageError("\(name): a transcript does not contain all bytes: pass the capture itself")
  }
  let summary = decoder.summary
  let page = recorder.page(TraceVerdict("capture", "\(name): \(summary.text)"))
  if let reason = PatientFile.write(page, to: file) { console.lose(out, reason) } else { console.out(out) }
  if summary.hasContents { return .done }
  return console.end(
    .checkFailed, "\(name), read as \((decoder.form ?? .hex).rawValue), has nothing to show: \(summary.text)")
}

private struct TracedCapture {
  private let recorder: TraceRecorder
  private var witnesses: [Int: any CableWitness] = [:]

  init(_ recorder: TraceRecorder) { self.recorder = recorder }

  /// Adds an entry. The recording was made on the device, so the bytes that it received came from the accessory.
  mutating func add(_ entry: CaptureEntry) {
    let (time, cable): (Instant, Int) =
      switch entry.place {
      case .packet(_, let time, let cable, _): (time, max(cable, 1))
      default: (.origin, 1)
      }
    let from: Cable.End = ["A", "RX", "IN"].contains { entry.from.hasPrefix($0) } ? .accessory : .device
    switch entry.event {
    case .packet, .spoiled, .unfinished, .detection, .iap1, .skipped:
      witness(ofCable: cable).passed(entry.bytes.span.bytes, from: from, at: time)
    case .transfer:
      let name = entry.channel?.protocolName ?? ""
      recorder.log.witness(of: "cable \(cable)", cable: cable, protocolName: name)
        .passed(entry.bytes.span.bytes, from: from, at: time)
    case .problem: recorder.add(TimelineEvent(time: time, side: .cable, kind: .warning(entry.text)))
    case .cable, .others, .note, .message:
      recorder.add(TimelineEvent(time: time, side: .cable, kind: .note(entry.text)))
    }
  }

  private mutating func witness(ofCable cable: Int) -> any CableWitness {
    if let known = witnesses[cable] { return known }
    let made = recorder.log.witness(of: "cable \(cable)", cable: cable, protocolName: nil)
    witnesses[cable] = made
    return made
  }
}
