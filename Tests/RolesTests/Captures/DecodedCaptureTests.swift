import AccessoryCore
import AccessoryFaults
import IAP2
import Testing

@testable import AccessoryCaptures

@Suite struct DecodedCaptureTests {
  private static let vectors = Fixture.vectors.map { Hex.plain($0) }
  private static let lines = zip(["00000000", "00000006", "00000020", "0000003a", "0000004a"], Fixture.texts).map {
    "\($0)  \($1)"
  }

  private static func text(_ lines: [String]) -> [UInt8] { Array(lines.joined(separator: "\n").utf8) }

  private static func raw(_ hex: [String]) throws -> [UInt8] { try hex.flatMap { try Hex.parse($0) } }

  @Test func rawBytesAndHexTellTheSame() throws {
    let raw = try DecodedCapture(try Self.raw(Self.vectors))
    #expect(raw.form == .raw)
    #expect(raw.entries.map(\.line) == Self.lines)
    #expect(raw.isSound)
    #expect(raw.summary == "4 packets")
    let hex = try DecodedCapture(Self.text(Self.vectors))
    #expect(hex.form == .hex)
    #expect(hex.entries == raw.entries)
  }

  @Test func directionsThatAreMarkedAreTold() throws {
    let marked = zip(["A", "A", "D", "D", "D"], Self.vectors).map { "\($0): \($1)" }
    let capture = try DecodedCapture(Self.text(marked))
    #expect(capture.entries.map(\.from) == ["A", "A", "D", "D", "D"])
    #expect(capture.entries.map(\.line)[2].hasPrefix("00000000  D SYN+ACK seq=64"))
    #expect(capture.entries.map(\.text) == Fixture.texts)
  }

  @Test func damageIsToldAndCounted() throws {
    var bytes = try Self.raw([Self.vectors[0], "0102", Self.vectors[3], Self.vectors[4]])
    bytes[bytes.count - 1] ^= 1
    bytes += [0xFF, 0x5A, 0x00, 0x10, 0x40, 0x41, 0x01, 0x01, 0x14, 0x40]
    let capture = try DecodedCapture(bytes)
    #expect(
      capture.entries.map(\.line) == [
        "00000000  DETECT", "00000006  SKIPPED 2 bytes that belong to no packet: 01 02",
        "00000008  DATA seq=65 ack=1 session=1 1D00 StartIdentification",
        "00000018  SPOILED seq=67 ack=4 session=1 17 bytes with a wrong checksum",
        "00000033  UNFINISHED seq=65 ack=1 session=1 10 of 16 bytes",
      ])
    #expect(!capture.isSound)
    #expect(capture.summary == "2 packets, 1 of them spoiled, 1 unfinished, 2 bytes skipped")
  }

  @Test func quotedMessagesNeedNoPackets() throws {
    let capture = try DecodedCapture(Self.text(["40400011ea030006000000010005000100"]))
    #expect(capture.entries.map(\.event) == [.message])
    #expect(capture.entries.map(\.text) == ["EA03 StatusExternalAccessoryProtocolSession session=1 status=0"])
    #expect(capture.summary == "0 packets, 1 messages outside packets")
  }

  @Test func detailsShowEveryParameterAndEveryByte() throws {
    let capture = try DecodedCapture(try Self.raw(Self.vectors))
    #expect(
      capture.entries[4].details == [
        "          EA00 StartExternalAccessoryProtocolSession", "            0 protocol = 177",
        "            1 session = 1",
        "          0000004a  ff 5a 00 1b 40 43 04 01 04 40 40 00 11 ea 00 00",
        "          0000005a  05 00 00 b1 00 06 00 01 00 01 c7",
      ])
  }

  @Test func jsonHasTheNumbersAndOnRequestTheBytes() throws {
    let capture = try DecodedCapture(try Self.raw(Self.vectors))
    #expect(
      capture.entries[3].json(isVerbose: false)
        == #"{"v":1,"event":"packet","offset":58,"length":16,"control":"ACK","seq":65,"ack":1,"session":1,"#
        + #""text":"DATA seq=65 ack=1 session=1 1D00 StartIdentification","#
        + #""messages":[{"id":"1D00","name":"StartIdentification"}]}"#)
    #expect(
      capture.entries[4].json(isVerbose: true).hasSuffix(
        #""parameters":["0 protocol = 177","1 session = 1"]}],"#
          + #""hex":"ff5a001b404304010440400011ea0000050000b1000600010001c7"}"#))
  }

  @Test func aTranscriptMayClaimAnyLength() throws {
    let lines = ["0.1 A SKIPPED 9223372036854775807 bytes", "0.2 A SKIPPED 9 bytes", "0.3 D SKIPPED -9 bytes", ""]
    #expect(try DecodedCapture(Self.text(lines)).summary == "0 packets, 9223372036854775807 bytes skipped")
  }

  @Test func aTranscriptIsReadAgain() throws {
    let lines = [
      "   0.003  accessory  + plugged in at unix:/tmp/a.sock", "0.000000 A DETECT",
      "0.000213 D DATA seq=1 ack=0 session=1 AA00 RequestAuthenticationCertificate",
      "0.000214 A SPOILED seq=2 ack=1 session=2 100 bytes with a wrong checksum",
      "0.000215 A SKIPPED 3 bytes that belong to no packet: 01 02 03", "0.250000 A closed\r", "",
    ]
    let capture = try DecodedCapture(Self.text(lines))
    #expect(capture.form == .transcript)
    #expect(capture.entries.map(\.event) == [.detection, .packet, .spoiled, .skipped, .note])
    #expect(capture.entries.map(\.line) == lines[1...4] + ["0.250000 A closed"])
    #expect(capture.decoder.foreignLines?.count ?? 0 == 1)
    #expect(!capture.isSound)
    #expect(capture.summary == "2 packets, 1 of them spoiled, 3 bytes skipped")
    #expect(
      capture.entries[1].json(isVerbose: false)
        == #"{"v":1,"event":"packet","line":3,"t":0.000213,"from":"D","#
        + #""text":"DATA seq=1 ack=0 session=1 AA00 RequestAuthenticationCertificate"}"#)
  }

  @Test func whatATranscriptWritesIsReadAgainWordForWord() throws {
    var written: [String] = []
    let transcript = Transcript { written.append($0) }
    let (sent, received) = (try Self.raw(Self.vectors) + [1, 2, 3], try Self.raw([Self.vectors[3]]))
    transcript.passed(sent.span.bytes, from: .accessory, at: .origin)
    transcript.passed(received.span.bytes, from: .device, at: .origin + .milliseconds(1))
    transcript.ended(at: .accessory, nil, at: .origin + .seconds(61))
    let capture = try DecodedCapture(Self.text(written))
    #expect(capture.decoder.foreignLines?.count ?? 0 == 0)
    #expect(capture.entries.map(\.line) == written)
    #expect(written.count == 7)
  }

  @Test func aFormThatIsForcedIsNotGuessed() throws {
    #expect(try DecodedCapture(Array("ff5a".utf8), as: .raw).entries.map(\.skippedText) == ["66 66 35 61"])
    #expect(throws: CaptureError.self) { try DecodedCapture(Array("hello".utf8), as: .hex) }
    #expect {
      try DecodedCapture(Array("\n\nff5a".utf8), as: .transcript)
    } throws: { error in
      "\(error)" == "3:1: no line is a transcript line, such as '0.000213 D ACK seq=1 ack=0'"
    }
  }

  /// A dump in hexdump's format, which consists of words with the low byte first. If the number of bytes is odd, the
  /// last word is padded.
  private static let words = [
    "0000000 55ff 0002 10ee 5aff 1000 4140 0101 4014", "0000010 0040 1d06 5d00", "0000016",
  ]

  @Test(arguments: [1, 2, 3, 7, 64, 1_000_000]) func aCaptureIsToldAlikeHoweverItComes(size: Int) throws {
    let raw = try Self.raw(Self.vectors)
    var garbled = raw + [1, 2, 3] + raw.dropLast(2)
    garbled[20] ^= 1
    let marked = zip(["A", "A", "D", "D", "D"], Self.vectors).map { "\($0): \($1)" }
    let inputs = [
      raw, garbled, [], [0, 0, 9], try Self.raw(["40400006aa00", "404000061d00", "4040"]), Self.text(Self.vectors),
      Self.text(marked), Self.text(Self.words), Self.text(["", "note", "0.000213 D ACK seq=1 ack=0", "more"]),
    ]
    for input in inputs {
      let pieces = try DecodedCapture(input, as: CaptureForm(of: input), by: size)
      #expect(pieces.entries == (try DecodedCapture(input)).entries)
    }
  }

  @Test func theFirstPacketIsToldAsSoonAsItIsWhole() throws {
    for input in [try Self.raw(Self.vectors), Self.text(Self.vectors + [""])] {
      let decoder = CaptureDecoder()
      var told: [String] = []
      let first = input[0] == 0xFF ? 6 : 13
      try decoder.append(Array(input[..<first])) { told.append($0.line) }
      #expect(told == [Self.lines[0]])
    }
  }

  @Test func aLineOfAnyLengthIsRead() throws {
    let hex = Self.vectors.joined()
    for separator in ["", " "] {
      let line = [String](repeating: hex, count: 2_000).joined(separator: separator)
      let capture = try DecodedCapture(Array(line.utf8))
      #expect(capture.summary == "8000 packets")
      #expect(capture.entries.last?.place == .offset(2_000 * hex.utf8.count / 2 - 27))
    }
    let spoiled = String(repeating: hex, count: 2_000) + " no"
    #expect {
      try DecodedCapture(Array(spoiled.utf8))
    } throws: { error in "\(error)".hasPrefix("1:\(2_000 * hex.utf8.count + 2): 'no' is not hex") }
  }

  @Test func garbageOfAnyLengthIsToldInPieces() {
    let capture = PacketCapture()
    var lengths: [Int] = []
    for _ in 0..<100 {
      for piece in capture.append([UInt8](repeating: 7, count: 50_000)) {
        lengths.append(piece.range.count)
        #expect(capture.bytes(of: piece).count == piece.range.count)
      }
    }
    lengths += capture.finish().map(\.range.count)
    #expect(lengths.reduce(0, +) == 5_000_000)
    #expect(lengths.count == 5 && lengths.allSatisfy { $0 < PacketCapture.longestSkip + 5_000 })
  }

  @Test func nothingIsNotSound() throws {
    for form in CaptureForm.allCases {
      let capture = try DecodedCapture([], as: form)
      #expect(!capture.isSound)
    }
  }

  @Test func rawBytesAreNeverTakenForText() throws {
    #expect(CaptureForm(of: try Self.raw([Self.vectors[0]])) == .raw)
    #expect(CaptureForm(of: [0x30, 0x00]) == .raw)
    #expect(CaptureForm(of: Array("ff 5a — a note".utf8)) == .hex)
  }
}

extension CaptureEntry {
  fileprivate var skippedText: String { String(text.split(separator: ": ").last ?? "") }
}
