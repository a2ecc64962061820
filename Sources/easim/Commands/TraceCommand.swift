import AccessoryCaptures
import AccessoryPages

extension CommandSpec {
  /// `easim trace`.
  static let trace = CommandSpec(
    name: "trace", summary: "turn a capture into a trace: one HTML file that shows it in any browser",
    details: """
      Read a capture from FILE, or from stdin with -, and write a page of HTML that shows its cables, identifications,
      sessions and packets. The page is one file: it opens without a server and without a network. FILE may have every
      format that 'easim decode' reads, except a transcript, which has no bytes.

      The page is written to --out, or else beside FILE with .html at the end of its name. A capture that does not fit into
      --trace-limit is shortened; the page says what was left out.

      --trace FILE.html makes such a page of a run: easim run, send, burst, check, scenario run, replay, soak and demo
      have it.
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
    Option(
      "--as", \.form, .optional(.choice), as: "FORM", "format of FILE, as for 'easim decode' (default: detected)"),
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
  let decoder = CaptureDecoder(as: options.form)
  let name = options.path == "-" ? "stdin" : options.path
  do {
    try InputFile.read(options.path) { bytes in
      try decoder.append(bytes) { recorder.add($0) }
      if decoder.form == .transcript { throw UsageError("\(name): a transcript has no bytes: give the capture itself") }
      return true
    }
    try decoder.finish { recorder.add($0) }
  } catch let error as CaptureError { throw UsageError("\(name):\(error)") }
  if decoder.form == .transcript { throw UsageError("\(name): a transcript has no bytes: give the capture itself") }
  let page = recorder.page(TraceVerdict("capture", "\(name): \(decoder.summary.text)"))
  if let reason = PatientFile.write(page, to: file) { console.lose(out, reason) } else { console.out(out) }
  return .done
}
