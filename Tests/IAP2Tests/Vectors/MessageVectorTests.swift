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
      number: "M01 EA03, session 1, OK", hex: "40400011ea030006000000010005000100",
      line: "EA03 StatusExternalAccessoryProtocolSession session=1 status=0",
      encoded: ControlMessage(.externalAccessorySessionStatus) {
        $0.u16(0, 1)
        $0.u8(1, 0)
      }),
    Vector(
      number: "M02 EA00, protocol 2, session 1", hex: "40400011ea000005000002000600010001",
      line: "EA00 StartExternalAccessoryProtocolSession protocol=2 session=1",
      encoded: ControlMessage(.startExternalAccessorySession) {
        $0.u8(0, 2)
        $0.u16(1, 1)
      }),
    Vector(
      number: "M03 AA00", hex: "40400006aa00", line: "AA00 RequestAuthenticationCertificate",
      encoded: ControlMessage(.requestAuthenticationCertificate)),
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
  func theMessageIsReadAsWhatItIs(_ vector: Vector) {
    let bytes = Sheet.unhex(vector.hex)
    let message = ControlMessage(vector.encoded.id, body: Array(bytes[6...]))
    #expect(MessageText.line(message) == vector.line)
  }

  @Test(arguments: vectors)
  func ourEncoderMakesExactlyTheseBytes(_ vector: Vector) {
    #expect(Sheet.hex(vector.encoded.encoded) == vector.hex)
  }

  /// In vector M05, a device refuses parameters 3 and 7. Here, the reasons are a blank serial number and a missing
  /// list.
  @Test func m05IsTheRefusalOfABlankSerialNumberAndAMissingList() {
    let body =
      Sheet.parameter(0, Sheet.text("Example")) + Sheet.parameter(1, Sheet.text("E1"))
      + Sheet.parameter(2, Sheet.text("Nobody")) + Sheet.parameter(3, Sheet.text(" "))
      + Sheet.parameter(4, Sheet.text("1")) + Sheet.parameter(5, Sheet.text("1")) + Sheet.parameter(6)
      + Sheet.parameter(8, "00") + Sheet.parameter(9, "0000") + Sheet.parameter(12, Sheet.text("en"))
      + Sheet.parameter(13, Sheet.text("en"))
    let reading = IdentificationReading(ControlMessage(.identificationInformation, body: Sheet.unhex(body)))
    #expect(Sheet.hex(IdentificationJudge().judge(reading).rejection.encoded) == "4040000e1d030004000300040007")
  }
}
