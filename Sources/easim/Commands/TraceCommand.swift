import AccessoryCaptures
import AccessoryCore
import AccessoryPages
import AccessorySessions

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
    Option(
      "--out", \.out, .optional(.text), as: "FILE", "write the page to FILE (default: FILE.html beside the capture)"),
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
  console.err("easim: \(name), read as \((decoder.form ?? .hex).rawValue), has nothing to show: \(summary.text)")
  return .checkFailed
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
