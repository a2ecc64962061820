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

      FILE may have any size, and a pipe is decoded while it is read.

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
  try CaptureTeller(console, isVerbose: options.isVerbose, as: options.form).tell(options.path)
}
