import AccessoryCaptures
import AccessoryCore
import IAP2
import TestSupport
import Testing

/// Tests logs that other programs wrote. Each log contains the same six packets in a different format.
@Suite struct LogTests {
  private static let detection = "FF 55 02 00 EE 10"
  // BOYA's handshake, as captured.
  private static let syn = "FF 5A 00 1A 80 01 10 00 FC 01 05 04 00 13 88 00 FF 1E 03 01 00 01 02 02 01 34"
  private static let answer = "FF 5A 00 1A C0 40 01 00 8C 01 05 04 00 13 88 00 FF 1E 03 01 00 01 02 02 01 34"
  private static let acknowledgement = "FF 5A 00 09 40 01 40 00 1D"
  private static let request = "FF 5A 00 10 40 41 01 01 14 40 40 00 06 1D 00 5D"
  private static let passed = [
    ("RX", detection), ("TX", detection), ("RX", syn), ("TX", answer), ("RX", acknowledgement), ("TX", request),
  ]

  struct Form: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let text: String

    init(_ name: String, _ line: (_ number: Int, _ direction: String, _ hex: String) -> String) {
      testDescription = name
      text = passed.enumerated().map { line($0, $1.0, $1.1) }.joined(separator: "\n") + "\n"
    }
  }

  private static func pairs(_ hex: String) -> [Substring] { hex.split(separator: " ") }

  static let forms: [Form] = [
    Form("accessoryd of iOS") { number, direction, hex in
      "2026-01-02 12:00:0\(number).250 accessoryd[77] Packet \(direction) \(pairs(hex).count): \(hex)"
    },
    Form("arrows, 0x and commas") { number, direction, hex in
      "[    \(number).000125] \(direction == "RX" ? "<-" : "->") "
        + pairs(hex).map { "0x\($0.lowercased())" }.joined(separator: ", ")
    },
    Form("words, digits without blanks") { _, direction, hex in
      "iap: \(direction == "RX" ? "Received" : "Sent") packet: \(hex.replacing(" ", with: ""))"
    },
    Form("in and out, colons") { number, direction, hex in
      "\(number).5s \(direction == "RX" ? "in" : "out") data=\n" + hex.replacing(" ", with: ":")
    },
    Form("a dump below each line") { number, direction, hex in
      "I (\(number)) uart: \(direction == "RX" ? "read" : "wrote") \(pairs(hex).count) bytes\n"
        + rows(hex, 16).enumerated().map { "  00\($0)0: \($1)  .U..Z" }.joined(separator: "\n")
    },
    Form("btmon") { number, direction, hex in
      "\(direction == "RX" ? "> ACL Data RX" : "< ACL Data TX"): Handle 256 flags 0x02 dlen 24   #\(number) [hci0] 1.\(number)5\n"
        + """
              Channel: 64 len 20 [PSM 3 mode Basic (0x00)] {chan 0}
              RFCOMM: Unnumbered Info with Header Check (UIH) (0xef)
                 Address: 0x0b cr 1 dlci 0x02
                 Control: 0xef poll/final 0
                 Length: \(pairs(hex).count)
                 FCS: 0x9a

        """
        + rows(hex + " 9A", 16).map { "        \($0.lowercased())  ..Z.\n" }.joined()
        + "@ MGMT Event: Device Connected (0x000b) plen 13   {0x0001} [hci0] 9.25"
    },
    Form("Saleae Logic 2") { number, direction, hex in
      (number == 0 ? "name,type,start_time,duration,data,error\n" : "")
        + pairs(hex).map { "\"UART \(direction)\",\"data\",\(number).001,8.6e-05,0x\($0)," }.joined(separator: "\n")
    },
    Form("PulseView") { number, direction, hex in
      (number == 0 ? "Sample,Time,Decoder,Ann Row,Ann Class,Value\n" : "")
        + pairs(hex).map { byte in
          "1-2,\(number).1 s,UART,\(direction) bits,\(direction) start bit,S\n"
            + "3-9,\(number).2 s,UART,\(direction),\(direction) data,\(byte)"
        }.joined(separator: "\n")
    },
    Form("Saleae Logic 2 with dates") { number, direction, hex in
      (number == 0 ? "name,type,start_time,duration,data\n" : "")
        + pairs(hex).map { "\(direction),data,2026-01-02T12:00:0\(number).250000000+01:00,8.6e-05,0x\($0)" }
        .joined(separator: "\n")
    },
    Form("PulseView, a column for each line") { number, direction, hex in
      (number == 0 ? "Sample,UART: TX data,UART: RX data\n" : "")
        + pairs(hex).map { "\(number)61,\(direction == "TX" ? "\($0)," : ",\($0)")" }.joined(separator: "\n")
    },
    Form("PulseView's annotations") { number, direction, hex in
      pairs(hex).map { "\(number)61-\(number)99 UART: \(direction) data: \($0)" }.joined(separator: "\n")
    },
    Form("sigrok-cli") { _, direction, hex in
      pairs(hex).map { "uart-1: \(direction): \($0)" }.joined(separator: "\n")
    },
  ]

  private static func rows(_ hex: String, _ count: Int) -> [String] {
    let all = pairs(hex)
    return stride(from: 0, to: all.count, by: count).map {
      all[$0..<min($0 + count, all.count)].joined(separator: " ")
    }
  }

  private func decode(_ text: String, as form: CaptureForm? = nil, parts: Int = .max) throws -> DecodedCapture {
    try DecodedCapture(Array(text.utf8), as: form, by: parts)
  }

  @Test(arguments: forms, [1, 7, 1 << 20]) func eachFormHasTheSamePackets(_ form: Form, _ parts: Int) throws {
    let capture = try decode(form.text, as: .log, parts: parts)
    #expect(capture.form == .log, "\(form.text)")
    #expect(capture.isSound, "\(capture.entries.map(\.line))")
    let found = capture.entries.map { "\($0.from) \(Hex.spaced($0.bytes).uppercased())" }
    #expect(found == Self.passed.map { "\($0) \($1)" })
  }

  private func times(_ capture: DecodedCapture) -> [Double] {
    capture.entries.compactMap { entry in
      if case .packet(_, let time, _, _) = entry.place { time.seconds } else { nil }
    }
  }

  @Test func timesAreSinceTheFirst() throws {
    #expect(times(try decode(Self.forms[0].text)) == [0, 1, 2, 3, 4, 5])
  }

  @Test func aVersionBeforeTheFirstLineWithBytesIsNoTime() throws {
    let capture = try decode(
      "monitor ver 5.66\n[250 ms] RX \(Self.detection)\n1250ms TX \(Self.detection)\n3.75 RX \(Self.detection)\n")
    #expect(times(capture) == [0, 1, 3.5])
  }

  /// sigrok-cli prints no direction, so each decoder's name is used as a direction.
  @Test func aDecoderOfSigrokIsADirection() throws {
    let lines = Self.pairs(Self.detection).map { "uart-1: \($0)\nuart-1: Stop bit\nuart-2: \($0)" }
    let capture = try decode(lines.joined(separator: "\n") + "\n")
    #expect(capture.form == .log)
    #expect(Set(capture.entries.map(\.from)) == ["uart-1", "uart-2"])
    #expect(capture.decoder.skippedLines.count == 6)
  }

  @Test func linesWithoutBytesAreListed() throws {
    let log = """
      accessoryd[77] starting, version 12
      nothing here
      accessoryd[77] Packet RX 6: FF 55 02 00 EE 10
      a line at 12:00:01 with pid 4711 and MAC 00:11:22:33:44:55
      accessoryd[77] Packet TX 6: FF 55 02 00 EE 10
      """
    let capture = try decode(log)
    #expect(capture.entries.map(\.from) == ["RX", "TX"])
    let skipped = capture.decoder.skippedLines
    #expect(skipped.ranges == [1...2, 4...4] && skipped.count == 3)
  }

  /// Files in other formats are not mistaken for logs.
  @Test(arguments: [
    ("ff550200ee10\n", CaptureForm.hex), ("RX: ff 55 02 00 ee 10\nTX: ff 55 02 00 ee 10\n", .hex),
    ("0000: ff55 0200 ee10  .U....\n", .hex), ("0.000213 D ACK seq=1 ack=0\n", .transcript),
  ])
  func whatIsNoLogIsNotTakenForOne(_ text: String, _ form: CaptureForm) {
    #expect(CaptureForm(of: Array(text.utf8)) == form)
  }

  @Test func aTextWithoutBytesIsAnError() {
    #expect(throws: CaptureError.self) { try decode("RX nothing\nTX nothing\n", as: .log) }
  }
}
