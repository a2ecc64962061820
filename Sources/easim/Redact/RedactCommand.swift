import AccessoryCaptures
import AccessoryFormats

extension CommandSpec {
  static let redact = CommandSpec(
    name: "redact", summary: "remove names, serial numbers and keys from files before you send them",
    details: """
      Read captures (of easim, USB or Bluetooth), transcripts, logs with bytes in hex, traces, reports, raw bytes and the
      JSON lines of other commands, and write them with every serial number, MAC address, name, certificate, Wi-Fi network
      and position replaced. A replacement is as long as what it replaces, and the same in all FILEs of one command. The
      result has correct checksums, and 'easim decode --check' reports the same findings.

      For USB and Bluetooth traffic other than iAP2, only headers are kept.

      The bytes that apps and accessories sent each other are kept, except for secrets in them, unless you pass --payload.

      The result of capture.pcapng is written next to it as capture.redacted.pcapng, or to --out. If easim does not
      understand a FILE completely, it refuses the file and writes nothing. HTML and JUnit reports do not show which words
      are names, so also pass the JSON report of the same run.

      Kinds: \(SecretKind.allCases.map(\.rawValue).joined(separator: ", "))
      """,
    examples: [
      "easim redact capture.pcapng", "easim redact --payload --keep name trace.html",
      "easim redact --out clean.pcapng capture.pcapng",
    ],
    run: runRedact)
}

private struct RedactOptions: CommandOptions {
  var paths: [String] = []
  var out: String?
  var kept: [SecretKind] = []
  var blanksPayload = false
  var shared = SharedOptions()

  static let operands: [Operand<Self>] = [Operand(each: "FILE…", 1...1_000, \.paths, .text)]
  static let options: [Option<Self>] = [
    Option("--out", \.out, as: "PATH", "write the result of the only FILE to PATH").standard(nil),
    Option("--payload", \.blanksPayload, "also replace what apps and accessories sent each other"),
    Option(each: "--keep", \.kept, .choice, as: "KIND", "keep secrets of this kind (see above)"),
    .json,
  ]
}

private func runRedact(_ options: RedactOptions, _ console: Console) throws -> ExitCode {
  if options.out != nil, options.paths.count > 1 {
    throw UsageError("--out is for one FILE, but \(options.paths.count) are given")
  }
  if options.out == nil, options.paths.contains("-") { throw UsageError("redact - needs --out PATH") }
  var kept = Set(options.kept)
  if !options.blanksPayload { kept.insert(.payload) }
  let bar = ProgressBar(console)
  defer { bar.clear() }
  var redaction = Redaction(keeping: kept) { step, fraction in
    bar.draw(fraction, "\(Int(fraction * 100)) %  \(step.printable)")
  }
  let redacted: [[UInt8]]
  do {
    for path in options.paths { try redaction.add(InputFile.read(path), named: path) }
    redacted = try redaction.finish()
    bar.clear()
  } catch let refusal as RedactionRefusal {
    throw UsageError("\(refusal); nothing was written")
  }
  for (path, bytes) in zip(options.paths, redacted) {
    let out = options.out ?? place(besides: path)
    let file = try PatientFile.whole(out, named: options.out.map { "--out \($0)" } ?? out)
    if let reason = PatientFile.write(bytes, to: file) {
      console.lose(out, reason)
    } else if !console.isJSON {
      console.out(out)
    }
  }
  printNames(redaction.names, options, console)
  return .done
}

/// Returns the path of the redacted copy, such as "a/capture.redacted.pcapng" for "a/capture.pcapng".
private func place(besides path: String) -> String {
  let name = path.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
  guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return "\(path).redacted" }
  return "\(path.dropLast(name[dot...].count)).redacted\(name[dot...])"
}

private func printNames(_ names: SecretNames, _ options: RedactOptions, _ console: Console) {
  let counts = SecretKind.allCases.compactMap { kind in names.counts[kind].map { (kind, $0) } }
  guard console.isJSON else {
    for (kind, count) in counts {
      console.err(
        "easim: \(kind.rawValue): \(count.values.counted("value")) at \(count.places.counted("place"))")
    }
    if counts.isEmpty { console.err("easim: nothing had to be replaced") }
    return
  }
  var object: JSONObject = [
    "v": 1, "event": "redacted", "files": options.paths.map { options.out ?? place(besides: $0) },
  ]
  for (kind, count) in counts {
    object.add(kind.rawValue, JSONObject(["values": count.values, "places": count.places]))
  }
  console.out(object)
}
