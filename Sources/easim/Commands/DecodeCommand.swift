import AccessoryCore
import AccessoryTransports

extension CommandSpec {
  /// `easim decode`.
  static let decode = CommandSpec(
    name: "decode", summary: "take captured bytes apart: raw, hex dumps in any form, transcripts",
    arguments: "FILE|-", argumentCount: 1...1,
    details: """
      Reads what a wire carried from FILE, or from stdin with -, and prints one line per packet: where it begins, who
      sent it as far as the capture says, and what it is. Bytes that belong to no packet and packets whose checksum is
      wrong are told too. The form is found out: raw bytes; hex as xxd, hexdump, od, tcpdump, Wireshark and people write
      it, with A:, D:, TX or RX before a line where directions are known; the lines of --transcript. Try:

        echo ff550200ee10 ff5a000940014000 1d | easim decode -

      The exit code is 0 when every byte is part of a whole packet, 1 when not, 2 when FILE is no capture.
      """,
    options: [
      OptionSpec(
        name: "--as", value: "FORM", summary: "raw, hex or transcript, instead of finding out",
        choices: CaptureForm.allCases.map(\.rawValue)),
      OptionSpec(name: "--verbose", short: "-v", summary: "every parameter of every control message, and every byte"),
      .json,
    ],
    examples: ["easim decode capture.bin", "echo FF 55 02 00 EE 10 | easim decode --verbose --as hex -"],
    run: runDecode)
}

private func runDecode(_ arguments: ParsedArguments, _ console: Console) throws -> ExitCode {
  let path = arguments.words[0]
  let input = try InputFile.read(path, arguments.command)
  let name = path == "-" ? "stdin" : path
  let form = arguments.value("--as").flatMap(CaptureForm.init(rawValue:))
  let capture: DecodedCapture
  do {
    capture = try DecodedCapture(input, as: form)
  } catch {
    console.err("easim decode: \(name):\(error)")
    return .usage
  }
  let isVerbose = arguments.has("--verbose")
  for entry in capture.entries {
    if arguments.has("--json") {
      console.out(entry.json(isVerbose: isVerbose))
    } else {
      console.out(entry.line)
      if isVerbose { for line in entry.details { console.out(line) } }
    }
  }
  if let first = capture.foreignLines.first {
    let count = capture.foreignLines.count
    console.err(
      "easim: \(count.counted("line is", "lines are")) none of a transcript and passed over, the first is "
        + "\(name):\(first)")
  }
  return finish(capture, arguments, console)
}

private func finish(_ capture: DecodedCapture, _ arguments: ParsedArguments, _ console: Console) -> ExitCode {
  if arguments.has("--json") {
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
