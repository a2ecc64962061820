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
}
