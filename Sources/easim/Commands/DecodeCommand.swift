import AccessoryCore
import AccessoryTransports

extension CommandSpec {
  /// `easim decode`.
  static let decode = CommandSpec(
    name: "decode", summary: "decode captured bytes: raw, hex dumps, transcripts",
    details: """
      Read captured bytes from FILE, or from stdin with -, and print one line per packet: its offset, its sender as far as
      the capture shows it, and its contents. Bytes that belong to no packet and packets with a wrong checksum are reported
      too. The format is detected: raw bytes; hex in the forms of xxd, hexdump, od, tcpdump and Wireshark, with A:, D:, TX
      or RX before lines whose direction is known; the lines of --transcript. Try:

        echo ff550200ee10 ff5a000940014000 1d | easim decode -

      The exit code is 0 when every byte is part of a whole packet, 1 when not, and 2 when FILE is not a capture.
      """,
    examples: ["easim decode capture.bin", "echo FF 55 02 00 EE 10 | easim decode --verbose --as hex -"],
    run: runDecode)
}

private struct DecodeOptions: CommandOptions {
  var path = ""
  var form: CaptureForm?
  var isVerbose = false
  var shared = SharedOptions()

  static let operands: [Operand<Self>] = [Operand(\.path, .text, as: "FILE|-")]
  static let options: [Option<Self>] = [
    Option(
      "--as", \.form, .optional(.choice), as: "FORM", "format of FILE: raw, hex or transcript (default: detected)"),
    Option("--verbose", short: "-v", \.isVerbose, "show every parameter of control messages, and every byte"),
    .json,
  ]
}

private func runDecode(_ options: DecodeOptions, _ console: Console) throws -> ExitCode {
  let path = options.path
  let input = try InputFile.read(path)
  let name = path == "-" ? "stdin" : path
  let capture: DecodedCapture
  do {
    capture = try DecodedCapture(input, as: options.form)
  } catch {
    console.err("easim decode: \(name):\(error)")
    return .usage
  }
  let isVerbose = options.isVerbose
  for entry in capture.entries {
    if console.isJSON {
      console.out(entry.json(isVerbose: isVerbose))
    } else {
      console.out(entry.line)
      if isVerbose { for line in entry.details { console.out(line) } }
    }
  }
  if let first = capture.foreignLines.first {
    let count = capture.foreignLines.count
    console.err(
      "easim: \(count.counted("line is", "lines are")) not part of a transcript and skipped; the first is "
        + "\(name):\(first)")
  }
  return finish(capture, console)
}

private func finish(_ capture: DecodedCapture, _ console: Console) -> ExitCode {
  if console.isJSON {
    var object = JSONObject()
    object.add("v", 1)
    object.add("event", "result")
    object.add("passed", capture.isSound)
    object.add("text", capture.summary)
    console.out(object.text)
  } else {
    console.err("easim: \(capture.form.rawValue): \(capture.entries.isEmpty ? "nothing to decode" : capture.summary)")
  }
  return capture.isSound ? .done : .checkFailed
}
