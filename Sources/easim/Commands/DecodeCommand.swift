import AccessoryCaptures

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
    run: runDecode)
}

private struct DecodeOptions: CommandOptions {
  var path = ""
  var form: CaptureForm?
  var wish = CapturePrinter.Wish()
  var shared = SharedOptions()

  static let operands: [Operand<Self>] = [Operand(\.path, .text, as: "FILE|-")]
  static let options: [Option<Self>] = [
    Option(
      "--as", \.form, .optional(.choice), as: "FORM",
      "format: raw, hex, transcript, log, pcap, pcapng, btsnoop or packetlogger (default: detected)"),
    Option("--verbose", short: "-v", \.wish.isVerbose, "show every parameter of control messages, and every byte"),
    Option(
      "--sessions", \.wish.sessions, .optional(.text), as: "FOLDER|-",
      "write each session's bytes to files in FOLDER; - prints them in hex"),
    Option(
      "--stats", \.wish.wantsStatistics,
      "print rates, retransmissions, round trips and gaps for each cable and direction"),
    Option("--check", \.wish.checks, "print each rule that either end broke, and the packet that broke the rule"),
    .json,
  ]
}

private func runDecode(_ options: DecodeOptions, _ console: Console) throws -> ExitCode {
  try CapturePrinter(console, options.wish, as: options.form).printFile(options.path)
}
