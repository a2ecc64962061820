import Testing

@testable import IAP2

/// Each piece of a capture yields one line with its offset, length and kind.
@Suite struct PacketCaptureTests {
  private static let detection: [UInt8] = [0xFF, 0x55, 0x02, 0x00, 0xEE, 0x10]
  private static let acknowledgement: [UInt8] = [0xFF, 0x5A, 0x00, 0x09, 0x40, 0x63, 0x05, 0x00, 0xF6]
  private static let data: [UInt8] = [
    0xFF, 0x5A, 0x00, 0x11, 0x40, 0x05, 0x45, 0x02, 0x0A, 0x00, 0x01, 0x68, 0x65, 0x6C, 0x6C, 0x6F, 0xEB,
  ]

  private static func transcript(_ parts: [[UInt8]]) -> [String] {
    let capture = PacketCapture()
    let pieces = parts.flatMap { capture.append($0) } + capture.finish()
    return pieces.map { piece in
      let what =
        switch piece.kind {
        case .packet: "packet"
        case .spoiled: "spoiled"
        case .unfinished(let header): "unfinished of \(header.length)"
        case .detection: "detection"
        case .legacy: "iap1"
        case .message(let message): "message \(message.id)"
        case .skipped(let skipped): "skipped \(skipped.count)"
        }
      return "\(piece.range.lowerBound)+\(piece.range.count) \(what)"
    }
  }

  @Test(
    arguments: [
      (detection + acknowledgement + data, ["0+6 detection", "6+9 packet", "15+17 packet"]),
      ([1, 2, 3] + acknowledgement, ["0+3 skipped 3", "3+9 packet"]),
      ([0, 0] + acknowledgement + [0, 0, 0] + data + [0], ["2+9 packet", "14+17 packet"]),
      (acknowledgement + [0, 0, 7, 0] + data, ["0+9 packet", "11+2 skipped 2", "13+17 packet"]),
      (data.dropLast() + [0], ["0+17 spoiled"]),
      (data.dropLast(4), ["0+13 unfinished of 17"]),
      ([9] + data.dropLast(4), ["0+1 skipped 1", "1+13 unfinished of 17"]),
      (data + [0xFF, 0x5A, 0x00], ["0+17 packet", "17+3 skipped 3"]),
      (detection + [0xFF, 0x55, 0x04, 0x00, 0x02, 0x04, 0xEE, 0x08], ["0+6 detection", "6+8 iap1"]),
      ([0x40, 0x40, 0x00, 0x06, 0xAA, 0x00], ["0+6 message AA00 RequestAuthenticationCertificate"]),
      (
        [0x40, 0x40, 0x00, 0x06, 0xAA, 0x00, 0x40, 0x40, 0x00, 0x06, 0x1D, 0x00, 0x40, 0x40],
        [
          "0+6 message AA00 RequestAuthenticationCertificate", "6+6 message 1D00 StartIdentification", "12+2 skipped 2",
        ]
      ),
      ([0x40, 0x40, 0x00, 0x06, 0xAA, 0x00] + acknowledgement, ["0+6 skipped 6", "6+9 packet"]),
      ([], []),
      ([0, 0, 0], []),
    ] as [([UInt8], [String])]) func everyByteIsToldHoweverTheCaptureIsSplit(bytes: [UInt8], expected: [String])
  {
    #expect(Self.transcript([bytes]) == expected)
    #expect(Self.transcript(bytes.map { [$0] }) == expected)
    for cut in 0...bytes.count {
      #expect(Self.transcript([Array(bytes[..<cut]), Array(bytes[cut...])]) == expected)
    }
  }

  @Test func aParameterLineShowsAllOfItAndAGroupInside() {
    let message = ControlMessage(.identificationInformation) {
      $0.text(0, "LAWK\u{1B}View")
      $0.group(10) {
        $0.u8(0, 1)
        $0.text(1, "com.lawaken.iap2")
      }
      $0.u16(9, 500)
    }
    #expect(
      MessageText.parameterLines(message) == [
        "0 name = \"LAWK\\u{1b}View\"", "10 protocol", "  0 id = 1", "  1 name = \"com.lawaken.iap2\"",
        "9 maximum current mA = 500",
      ])
    #expect(
      MessageText.parameterLines(ControlMessage(.startIdentification, body: [0, 9, 0])) == [
        "unreadable: a parameter needs 4 bytes but has 3, at byte 0: 00 09 00"
      ])
  }
}
