import AccessoryCore
import AccessoryFormats
import AccessoryProfiles
import LinuxIO
import Testing

@testable import AccessorySimulator

/// Tests that the shipped accessories with scripts behave as their pages describe.
@Suite struct ShippedScriptTests {
  private let loop = VirtualLoop()

  private func rig(_ name: String) throws -> BehaviorRig {
    try BehaviorRig(try ProfileLibrary().profile(name), on: loop)
  }

  private func answer(_ ear: SessionEar, _ bytes: [UInt8], within time: Duration = .milliseconds(500)) throws -> [UInt8]
  {
    try ear.answer(to: bytes, within: time)
  }

  private func answer(_ ear: SessionEar, _ text: String, within time: Duration = .milliseconds(500)) throws -> String {
    try ear.answer(to: text, within: time)
  }

  @Test func aTriggerOfTheScannerSendsACodeOnTheOtherProtocol() throws {
    let rig = try rig("scanner")
    let control = try rig.open("com.example.scanner.control")
    let data = try rig.open("com.example.scanner.data")
    #expect(try answer(control, "TRIGGER\r\nTRIGGER\r\n", within: .milliseconds(300)) == "OK\r\n")
    #expect(data.text == "")
    try loop.advance(by: .seconds(1))
    #expect(control.text == "OK\r\nGOOD READ 1\r\nBUSY\r\n")
    #expect(data.text == "4012345000001\r\n")
    #expect(
      try answer(control, "DISABLE\r\nTRIGGER\r\nENABLE\r\nTRIGGER\r\n", within: .seconds(1)).hasSuffix(
        "GOOD READ 2\r\n"))
    #expect(data.text == "4012345000001\r\n4012345000002\r\n")
    #expect(try answer(control, "", within: .seconds(31)) == "BEAM OFF\r\n")
  }

  @Test func aSessionThatEndsDuringAScanLeavesNoScannerThatIsBusyForEver() throws {
    let rig = try rig("scanner")
    let control = try rig.open("com.example.scanner.control")
    _ = try answer(control, "TRIGGER\r\n", within: .milliseconds(100))
    control.session.close()
    try loop.advance(by: .seconds(1))
    let next = try rig.open("com.example.scanner.control")
    try loop.advance(by: .seconds(2))
    #expect(try answer(next, "STATE?\r\n") == "STATE ready\r\n")
  }

  @Test func thePrinterRunsOutOfPaperAndPrintsSlowly() throws {
    let rig = try rig("printer")
    guard case .script(let script) = rig.accessory.profile.behavior, case .frame(let frame) = script.framing else {
      Issue.record("the printer has no frames")
      return
    }
    let ear = try rig.open("com.example.printer")
    func send(_ text: String, within time: Duration = .milliseconds(700)) throws -> [UInt8] {
      try answer(ear, try frame.encode(Array(text.utf8)), within: time)
    }
    func framed(_ text: String) throws -> [UInt8] { try frame.encode(Array(text.utf8)) }
    #expect(try send("S") == framed("S0"))
    for number in 1...5 { #expect(try send("P receipt") == framed("A000\(number)")) }
    #expect(try send("P receipt") == framed("N paper out"))
    #expect(try send("S") == framed("S1"))
    #expect(try send("", within: .seconds(6)) == framed("N unknown command") + framed("E paper out"))
    #expect(try send("LOAD", within: .seconds(2)) == framed("A paper loaded"))
    let long = "P" + String(repeating: "x", count: 1_000)
    #expect(try send(long + "", within: .milliseconds(300)) == [])
    #expect(try answer(ear, [], within: .seconds(1)) == framed("A0006"))
    var wrong = try framed("S")
    wrong[4] ^= 1
    #expect(try answer(ear, wrong) == [0x15])
  }

  @Test func theReceiverSendsSentencesWithRightChecksumsAndTheTime() throws {
    let rig = try rig("gps")
    let ear = try rig.open("com.example.gps")
    try loop.advance(by: .milliseconds(9_500))
    let sentences = ear.text.split(separator: "\r\n")
    #expect(
      sentences.map { $0.prefix(6) } == Array(repeating: "$GPGGA", count: 4)
        + Array(repeating: ["$GPGGA", "$GPRMC"], count: 4).flatMap(\.self))
    for sentence in sentences {
      let parts = sentence.dropFirst().split(separator: "*")
      #expect(parts.count == 2)
      #expect(parts.last.map(String.init) == parts.first.map { Hex.number($0.utf8.reduce(0, ^)) })
    }
    let times = sentences.compactMap { $0.split(separator: ",").dropFirst().first.flatMap { Double($0) } }
    #expect(times.count == sentences.count)
    #expect(times[3] - times[0] == 3)
    #expect(try answer(ear, "$PEXW,OFF*79\r\n", within: .seconds(5)) == "")
    #expect(try answer(ear, "$PEXW,VERSION*6C\r\n") == "$PEXW,VERSION,2.0*6C\r\n")
    #expect(try answer(ear, "$PEXW,ON*37\r\n", within: .seconds(2)).hasPrefix("$GPGGA,"))
  }

  @Test func theTerminalIsPairedBeforeItTakesPayments() throws {
    let rig = try rig("terminal")
    var ear = try rig.open("com.example.terminal")
    #expect(try answer(ear, "{\"pay\":5}\n") == "{\"error\":\"not paired, or no amount\"}\n")
    #expect(try answer(ear, "{\"do\":\"pair\"}\n") == "{\"event\":\"code\",\"digits\":6}\n")
    #expect(
      try answer(ear, "{\"code\":\"111111\"}\n{\"code\":\"2\"}\n")
        == "{\"event\":\"wrong code\"}\n{\"event\":\"wrong code\"}\n")
    #expect(try answer(ear, "{\"code\":\"333333\"}\n") == "{\"event\":\"locked\"}\n")
    #expect(ear.end != nil)
    ear = try rig.open("com.example.terminal")
    #expect(try answer(ear, "{\"do\":\"pair\"}\n", within: .seconds(70)).hasSuffix("{\"event\":\"code expired\"}\n"))
    #expect(
      try answer(ear, "{\"do\":\"pair\"}\n{\"code\":\"246810\"}\n").hasSuffix(
        "{\"event\":\"paired\",\"token\":\"00000001\"}\n"))
    #expect(
      try answer(ear, "{\"pay\":1250}\n{\"pay\":1}\n", within: .seconds(4)).hasSuffix(
        "{\"event\":\"paid\",\"cents\":1250,\"receipt\":1}\n{\"error\":\"busy\"}\n"))
    #expect(try answer(ear, "{\"do\":\"reset\"}\n", within: .seconds(10)) == "{\"event\":\"restarting\"}\n")
    #expect(ear.end != nil)
    ear = try rig.open("com.example.terminal")
    #expect(try answer(ear, "{\"pay\":5}\n") == "{\"error\":\"not paired, or no amount\"}\n")
  }

  @Test func theCardWantsItsPINAndBlocksAfterThreeWrongOnes() throws {
    let rig = try rig("card-reader")
    let ear = try rig.open("com.example.cardreader")
    func apdu(_ text: String) throws -> String {
      let bytes = try Hex.parse(text)
      return Hex.spaced(try answer(ear, [0, UInt8(bytes.count)] + bytes).dropFirst(2))
    }
    let select = "00 a4 04 00 08 f0 45 58 41 4d 50 4c 45"
    #expect(try apdu("00 b0 00 00 00") == "69 82")
    #expect(try apdu("00 a4 04 00 01 ff") == "6a 82")
    #expect(try apdu(select).hasSuffix("90 00"))
    #expect(try apdu("00 20 00 01 04 30 30 30 30") == "63 c2")
    #expect(try apdu("00 20 00 01 04 31 32 33 34") == "90 00")
    #expect(try apdu("00 b0 00 00 00") == "45 58 41 4d 50 4c 45 20 43 41 52 44 20 30 30 30 31 90 00")
    #expect(try apdu(select).hasSuffix("90 00"))
    #expect(try (1...4).map { _ in try apdu("00 20 00 01 04 30 30 30 30") } == ["63 c2", "63 c1", "69 83", "69 83"])
    #expect(try apdu("80 01 00 00") == "6d 00")
  }

  @Test func theStrapMeasuresAndLosesContact() throws {
    let rig = try rig("heart-rate")
    let ear = try rig.open("com.example.heartrate")
    try loop.advance(by: .milliseconds(19_500))
    #expect(ear.heard.count == 19 * 4)
    for start in stride(from: 0, to: ear.heard.count, by: 4) {
      #expect(ear.heard[start] == 0x16)
      #expect((62...75).contains(ear.heard[start + 1]))
      #expect((820...990).contains(Int(ear.heard[start + 2]) + Int(ear.heard[start + 3]) << 8))
    }
    let lost = try answer(ear, [], within: .seconds(4))
    #expect(lost.suffix(6) == [4, 0, 4, 0, 4, 0])
    #expect(try answer(ear, [], within: .seconds(2)).contains(0x16))
    #expect(try answer(ear, [1], within: .milliseconds(10)) == [0x80, 1, 0])
  }
}
