import IAP2
import Testing

/// Checks that every captured or computed packet is parsed correctly, and that encoding the result yields the same
/// packet again.
@Suite struct LinkVectorTests {
  @Test(arguments: LinkVector.synchronizations + LinkVector.others)
  func thePacketIsReadAsWhatItIs(_ vector: LinkVector) {
    var scanner = PacketScanner()
    var offset = 0
    let piece = scanner.next(in: vector.bytes.span.bytes, at: &offset)
    #expect(piece == .packet(vector.header, .input(0..<vector.bytes.count)))
    #expect(offset == vector.bytes.count)
    var narrator = PacketNarrator()
    #expect(narrator.line(for: vector.header, packet: vector.bytes.span.bytes) == vector.line)
  }

  @Test(arguments: LinkVector.synchronizations + LinkVector.others)
  func ourEncoderMakesExactlyTheseBytes(_ vector: LinkVector) throws {
    let payload = try #require(vector.encoded)
    #expect(Sheet.hex(PacketWriter.packet(vector.header, payload: payload)) == Sheet.hex(vector.bytes))
  }

  @Test(arguments: LinkVector.synchronizations)
  func theParametersOfASynSurviveTheWay(_ vector: LinkVector) throws {
    let payload = Array(vector.bytes[9..<vector.bytes.count - 1])
    #expect(try LinkParameters(decoding: payload.span.bytes).encoded == payload)
  }

  @Test func v17AnEmptyPayloadWithAChecksumIsTakenAndNeverSent() throws {
    let bytes = Sheet.unhex("ff5a000a400706024e00")
    var scanner = PacketScanner()
    var offset = 0
    guard case .packet(let header, .input(0..<10)) = scanner.next(in: bytes.span.bytes, at: &offset) else {
      Issue.record("V17 is a packet")
      return
    }
    #expect(header.length == 10)
    #expect(header.payloadCount == 0)
    #expect(header.control == .ack)
    #expect((header.sequence, header.acknowledgement, header.session) == (7, 6, 2))
    // easim encodes a packet that equals V18.
    let ours = PacketHeader(control: .ack, sequence: 7, acknowledgement: 6, session: 2)
    #expect(Sheet.hex(PacketWriter.packet(ours)) == "ff5a0009400706024f")
  }

  @Test(arguments: [
    ("V01 detection", "ff550200ee10"), ("V02 iAP1 refusal", "ff5504000204ee08"),
    ("V03 iAP1 RequestIdentify", "ff55020000fe"),
  ])
  func aFrameOfIAP1IsReadAsOne(_ name: String, _ hex: String) {
    let bytes = Sheet.unhex(hex)
    var scanner = PacketScanner()
    var offset = 0
    let expected: PacketScanner.Piece = name.hasPrefix("V01") ? .detection : .legacy(.input(0..<bytes.count))
    #expect(scanner.next(in: bytes.span.bytes, at: &offset) == expected)
    #expect(offset == bytes.count)
  }

  @Test func theFramesOfIAP1WeSendAreV01V02AndV03() {
    #expect(Sheet.hex(PacketWriter.detection) == "ff550200ee10")
    #expect(Sheet.hex(Link.legacyRefusal) == "ff5504000204ee08")
    #expect(Sheet.hex(Link.legacyRequestIdentify) == "ff55020000fe")
  }
}
