import IAP2
import Testing

/// Reads and writes parameters of every type, and compares the results with bytes written by hand.
@Suite struct ParameterTests {
  private func written(_ write: (inout ParameterWriter) -> Void) -> String {
    var writer = ParameterWriter()
    write(&writer)
    return Sheet.hex(writer.bytes)
  }

  private func read(_ hex: String) throws -> [Parameter] {
    try ParameterReader.read(Sheet.unhex(hex))
  }

  private func problem(_ hex: String, _ use: ([Parameter]) throws -> Void = { _ in }) -> String? {
    do {
      try use(try read(hex))
      return nil
    } catch {
      return "\(error)"
    }
  }

  @Test func everyTypeIsWrittenAsTheSheetSays() {
    #expect(written { $0.u8(8, 2) } == "0005000802")
    #expect(written { $0.u16(9, 500) } == "0006000901f4")
    #expect(written { $0.number(2, UInt32(0x01020304)) } == "0008000201020304")
    #expect(written { $0.number(0, UInt64(0x69F6_BC71)) } == "000c00000000000069f6bc71")
    #expect(written { $0.number(2, Int8(-1)) } == "00050002ff")
    #expect(written { $0.number(1, Int16(-360)) } == "00060001fe98")
    #expect(written { $0.text(0, "en") } == "00070000656e00")
    #expect(written { $0.text(0, "") } == "0005000000")
    #expect(written { $0.text(0, "é") } == "00070000c3a900")
    #expect(written { $0.blob(0, [0xDE, 0xAD]) } == "00060000dead")
    #expect(written { $0.list(6, [0xEA00, 0xEA01]) } == "00080006ea00ea01")
    #expect(written { $0.list(7, []) } == "00040007")
    #expect(written { $0.none(2) } == "00040002")
    #expect(
      written {
        $0.group(16) {
          $0.u16(0, 0)
          $0.none(2)
        }
      } == "000e0010" + "000600000000" + "00040002")
  }

  @Test func everyTypeIsReadBack() throws {
    #expect(try read("0005000802")[0].number(as: UInt8.self) == 2)
    #expect(try read("0006000901f4")[0].number(as: UInt16.self) == 500)
    #expect(try read("0008000201020304")[0].number(as: UInt32.self) == 0x0102_0304)
    #expect(try read("000c00000000000069f6bc71")[0].number(as: UInt64.self) == 0x69F6_BC71)
    #expect(try read("00050002ff")[0].number(as: Int8.self) == -1)
    #expect(try read("00060001fe98")[0].number(as: Int16.self) == -360)
    #expect(try read("00070000656e00")[0].text() == "en")
    #expect(try read("0005000000")[0].text() == "")
    #expect(try read("00070000c3a900")[0].text() == "é")
    #expect(try read("00060000dead")[0].value == [0xDE, 0xAD])
    #expect(try read("00080006ea00ea01")[0].list() == [0xEA00, 0xEA01])
    #expect(try read("00040007")[0].list() == [])
    let group = try read("000e0010" + "000600000000" + "00040002")[0].group()
    #expect(group.map(\.id) == [0, 2])
    #expect(group.map(\.offset) == [4, 10])
  }

  @Test func aListOfTextIsTheParameterRepeated() throws {
    let hex = written {
      $0.text(13, "en")
      $0.text(13, "de")
    }
    #expect(hex == "0007000d656e00" + "0007000d646500")
    #expect(try read(hex).map { try $0.text() } == ["en", "de"])
    #expect(try read(hex).first(13)?.text() == "en")
    #expect(try read(hex).first(14) == nil)
  }

  @Test func parametersMayComeInAnyOrderAndUnknownOnesAreCarried() throws {
    let parameters = try read("0006f00000aa" + "00050001ff" + "00040000")
    #expect(parameters.map(\.id) == [0xF000, 1, 0])
    #expect(parameters[0].value == [0, 0xAA])
    #expect(parameters.map(\.offset) == [0, 6, 11])
  }

  // MARK: Unreadable values

  @Test func lengthsThatLieAreShown() {
    #expect(problem("000500") == "a parameter needs 4 bytes but has 3, at byte 0: 00 05 00")
    #expect(problem("00040001" + "00") == "a parameter needs 4 bytes but has 1, at byte 4: 00")
    #expect(problem("00000001") == "a parameter claims 0 bytes, at byte 0: 00 00 00 01")
    #expect(problem("00040001" + "00030002") == "a parameter claims 3 bytes, at byte 4: 00 03 00 02")
    #expect(
      problem("0009000102") == "a parameter claims 9 bytes, but only 5 are left, at byte 0: 00 09 00 01 02")
    #expect(
      problem("ffff0001") == "a parameter claims 65535 bytes, but only 4 are left, at byte 0: ff ff 00 01")
  }

  @Test func anErrorShowsAtMostThirtyTwoBytes() {
    let text = problem("ffff0001" + String(repeating: "aa", count: 100))
    #expect(text?.hasSuffix(Array(repeating: "aa", count: 28).joined(separator: " ")) == true)
  }

  @Test func valuesOfTheWrongSizeAreShown() {
    #expect(
      problem("0006000801f4") { _ = try $0[0].number(as: UInt8.self) }
        == "parameter 8 has 2 bytes instead of 1, at byte 0: 01 f4")
    #expect(
      problem("00040009") { _ = try $0[0].number(as: UInt16.self) }
        == "parameter 9 has 0 bytes instead of 2, at byte 0: (nothing)")
    #expect(
      problem("00070006ea00ea") { _ = try $0[0].list() }
        == "parameter 6 has 3 bytes, which is not a list of two-byte numbers, at byte 0: ea 00 ea")
  }

  @Test func textThatIsNoneIsShown() {
    #expect(
      problem("00060000656e") { _ = try $0[0].text() }
        == "parameter 0 is text without a terminating zero byte, at byte 0: 65 6e")
    #expect(
      problem("00040000") { _ = try $0[0].text() }
        == "parameter 0 is text without a terminating zero byte, at byte 0: (nothing)")
    #expect(
      problem("0008000065006e00") { _ = try $0[0].text() }
        == "parameter 0 is text that contains a zero byte, at byte 0: 65 00 6e 00")
    #expect(
      problem("00070000c32800") { _ = try $0[0].text() } == "parameter 0 is not UTF-8, at byte 0: c3 28 00")
  }

  @Test func anErrorInAGroupSaysWhereInTheMessage() {
    #expect(
      problem("00040000" + "000b000a" + "00070001ff6100") { _ = try $0[1].group()[0].text() }
        == "parameter 1 is not UTF-8, at byte 8: ff 61 00")
  }

  /// Groups are parsed one level at a time, so deeply nested groups cost no more to parse than other bytes.
  @Test func groupsNestedWithoutEndAreNoMatter() throws {
    var body: [UInt8] = []
    for _ in 0..<10_000 { body = [UInt8((body.count + 4) >> 8), UInt8((body.count + 4) & 255), 0, 0x0A] + body }
    let parameters = try ParameterReader.read(body)
    #expect(parameters.count == 1)
    #expect(parameters[0].value.count == 39_996)
    let line = MessageText.line(ControlMessage(.identificationInformation, body: body))
    #expect(line.count < 200)
  }
}
