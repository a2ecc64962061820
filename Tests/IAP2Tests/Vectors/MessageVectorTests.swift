import IAP2
import Testing

/// Tests control messages that are not in packets.
@Suite struct MessageVectorTests {
  struct Vector: Sendable, CustomTestStringConvertible {
    let number: String
    let hex: String
    let line: String
    let encoded: ControlMessage
    var testDescription: String { number }
  }

  static let vectors = [
    Vector(
      number: "M04 4E0A en", hex: "4040000d4e0a00070000656e00", line: "4E0A DeviceLanguageUpdate language=\"en\"",
      encoded: ControlMessage(.deviceLanguageUpdate) { $0.text(0, "en") }),
    Vector(
      number: "M05 1D03 refusing 3 and 7", hex: "4040000e1d030004000300040007",
      line: "1D03 IdentificationRejected 3=yes 7=yes",
      encoded: ControlMessage(.identificationRejected) {
        $0.none(3)
        $0.none(7)
      }),
    Vector(
      number: "M06 4E0B", hex: "4040001d4e0b000c00000000000069f6bc7100060001fe98000500023c",
      line: "4E0B DeviceTimeUpdate seconds=1777777777 zone-minutes=-360 DST-minutes=60",
      encoded: ControlMessage(.deviceTimeUpdate) {
        $0.number(0, UInt64(1_777_777_777))
        $0.number(1, Int16(-360))
        $0.number(2, Int8(60))
      }),
  ]

  @Test(arguments: vectors)
  func theMessageIsReadAsWhatItIsAndEncodedToTheSameBytes(_ vector: Vector) {
    let bytes = Sheet.unhex(vector.hex)
    let message = ControlMessage(vector.encoded.id, body: Array(bytes[6...]))
    #expect(MessageText.line(message) == vector.line)
    #expect(Sheet.hex(vector.encoded.encoded) == vector.hex)
  }
}
