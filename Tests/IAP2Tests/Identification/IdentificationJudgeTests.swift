import IAP2
import Testing

/// Breaks each rule separately, at each severity, and checks the text shown to firmware developers.
@Suite struct IdentificationJudgeTests {
  typealias Body = [(id: UInt16, value: String)]

  struct Case: Sendable, CustomTestStringConvertible {
    let check: IdentificationCheck
    let parameter: UInt16
    let reason: String
    let body: String
    var testDescription: String { "\(check.rawValue): \(reason)" }

    init(_ check: IdentificationCheck, _ parameter: UInt16, _ reason: String, _ change: (inout Body) -> Void) {
      self.check = check
      self.parameter = parameter
      self.reason = reason
      var body = IdentificationJudgeTests.good
      change(&body)
      self.body = body.map { Sheet.parameter($0.id, $0.value) }.joined()
    }
  }

  static let echo =
    Sheet.parameter(0, "01") + Sheet.parameter(1, Sheet.text("com.example.echo")) + Sheet.parameter(2, "01")
  static let usb = Sheet.parameter(0, "0000") + Sheet.parameter(1, Sheet.text("USB")) + Sheet.parameter(2)

  static let good: Body = [
    (0, Sheet.text("Example")), (1, Sheet.text("E1")), (2, Sheet.text("Nobody")), (3, Sheet.text("0001")),
    (4, Sheet.text("1")), (5, Sheet.text("1")), (6, "ea03"), (7, "ea00ea01"), (8, "00"), (9, "0000"), (10, echo),
    (12, Sheet.text("en")), (13, Sheet.text("en")), (16, usb),
  ]

  private static func set(_ id: UInt16, _ value: String) -> (inout Body) -> Void {
    { body in for index in body.indices where body[index].id == id { body[index].value = value } }
  }

  private static func add(_ id: UInt16, _ value: String) -> (inout Body) -> Void {
    { body in body.append((id, value)) }
  }

  private static func without(_ id: UInt16) -> (inout Body) -> Void {
    { body in body.removeAll { $0.id == id } }
  }

  static let missing: [Case] = [
    (0, "the name"), (1, "the model"), (2, "the manufacturer"), (3, "the serial number"), (4, "the firmware version"),
    (5, "the hardware version"), (6, "the list of messages sent"), (7, "the list of messages received"),
    (8, "the power capability"), (9, "the maximum current mA"), (12, "the current language"),
    (13, "the supported language"),
  ].map { id, name in Case(.missingParameter, id, "\(name) is missing", without(id)) }

  static let unreadable: [Case] = [
    Case(.unreadableParameter, 0, "parameter 0 is not UTF-8, at byte 0: ff 00", set(0, "ff00")),
    Case(
      .unreadableParameter, 1, "parameter 1 is text that contains a zero byte, at byte 12: 45 00 31 00",
      set(1, "45003100")
    ),
    Case(.unreadableParameter, 8, "parameter 8 has 2 bytes instead of 1, at byte 65: 00 00", set(8, "0000")),
    Case(
      .unreadableParameter, 6,
      "parameter 6 has 3 bytes, which is not a list of two-byte numbers, at byte 51: ea 03 ea",
      set(6, "ea03ea")),
    Case(
      .unreadableParameter, 10, "parameter 0 (protocol number) is missing, at byte 76: (nothing)",
      set(10, Sheet.parameter(1, Sheet.text("a.b")))),
    Case(
      .unreadableParameter, 16, "a parameter needs 4 bytes but has 1, at byte 129: 00", set(16, "00")),
    Case(
      .unreadableParameter, 18, "parameter 2 (HID function) is missing, at byte 147: (nothing)",
      add(18, Sheet.parameter(0, "0007") + Sheet.parameter(1, Sheet.text("K")))),
  ]

  static let repeated: [Case] = [
    Case(.repeatedParameter, 0, "the name comes 2 times", add(0, Sheet.text("Other"))),
    Case(.repeatedParameter, 9, "the maximum current mA comes 2 times", add(9, "0000")),
    Case(.repeatedParameter, 34, "the product plan UID comes 3 times") { body in
      for _ in 0..<3 { body.append((34, Sheet.text("0123456789ABCDEF"))) }
    },
  ]

  static let blank: [Case] =
    [
      (0, "the name"), (1, "the model"), (2, "the manufacturer"), (3, "the serial number"),
      (4, "the firmware version"), (5, "the hardware version"), (12, "the current language"),
      (13, "a supported language"),
    ].map { id, name in Case(.blankText, id, "\(name) is blank", set(id, Sheet.text(id % 2 == 0 ? "" : " \t"))) }
    + [
      Case(.blankOptionalText, 11, "the team id is blank", add(11, Sheet.text(""))),
      Case(.blankOptionalText, 34, "the product plan UID is blank", add(34, Sheet.text(" "))),
      Case(
        .blankText, 10, "the name of protocol 2 is blank",
        add(10, Sheet.parameter(0, "02") + Sheet.parameter(1, Sheet.text("")))),
      Case(
        .blankText, 17, "the name of component 9 is blank",
        add(17, Sheet.parameter(0, "0009") + Sheet.parameter(1, Sheet.text(" ")))),
      Case(
        .blankText, 18, "the name of component 9 is blank",
        add(18, Sheet.parameter(0, "0009") + Sheet.parameter(1, Sheet.text("")) + Sheet.parameter(2, "00"))),
    ]

  static let others: [Case] = [
    Case(.textWithoutEnd, 1, "the text lacks its terminating zero byte", set(1, "45")),
    Case(
      .textWithoutEnd, 10, "its parameter 1: the text lacks its terminating zero byte",
      set(10, Sheet.parameter(0, "01") + Sheet.parameter(1, "612e62"))),
    Case(
      .packedLanguages, 13, "2 languages are packed in one parameter; each needs its own parameter",
      set(13, Sheet.text("en") + Sheet.text("de"))),
    Case(
      .presenceWithValue, 16, "its parameter 2 must have no value but has 1 bytes",
      set(16, Sheet.parameter(0, "0000") + Sheet.parameter(1, Sheet.text("USB")) + Sheet.parameter(2, "01"))),
    Case(
      .presenceWithValue, 10, "its parameter 4 must have no value but has 1 bytes",
      set(10, echo + Sheet.parameter(4, "01"))),
    Case(
      .duplicateProtocol, 10, "two protocols have the number 1",
      add(10, Sheet.parameter(0, "01") + Sheet.parameter(1, Sheet.text("com.example.other")))),
    Case(
      .duplicateProtocol, 10, "two protocols are named com.example.echo",
      add(10, Sheet.parameter(0, "02") + Sheet.parameter(1, Sheet.text("com.example.echo")))),
    Case(
      .duplicateComponent, 16, "two components have the number 0",
      add(16, Sheet.parameter(0, "0000") + Sheet.parameter(1, Sheet.text("BT")))),
    Case(
      .duplicateComponent, 18, "two components have the number 0",
      { body in
        let keyboard = Sheet.parameter(0, "0000") + Sheet.parameter(1, Sheet.text("K")) + Sheet.parameter(2, "00")
        add(18, keyboard)(&body)
        add(18, keyboard)(&body)
      }),
    Case(.missingTransport, 16, "no transport component is declared (14 to 17)", without(16)),
    Case(
      .unknownNativeTransport, 10, "com.example.echo names transport component 3, which is not declared",
      set(10, echo + Sheet.parameter(3, "0003"))),
    Case(.nativeTransportBesideUSB, 10, "com.example.echo names transport component 3, which is not USB") { body in
      set(10, echo + Sheet.parameter(3, "0003"))(&body)
      add(17, Sheet.parameter(0, "0003") + Sheet.parameter(1, Sheet.text("BT")))(&body)
    },
    Case(
      .startWithoutStop, 6, "the message that ends it is not declared: AE00 StartPowerUpdates", set(6, "ea03ae00")),
    Case(
      .receivedWithoutRequest, 7, "the message that requests it is not declared as sent: AE01 PowerUpdate",
      set(7, "ea00ea01ae01")),
    Case(
      .reservedMessage, 6, "these messages are implied and must not be listed: 1D01 IdentificationInformation",
      set(6, "ea031d01")),
    Case(
      .reservedMessage, 7,
      "these messages are implied and must not be listed: AA00 RequestAuthenticationCertificate, 1D02 "
        + "IdentificationAccepted",
      set(7, "ea00ea01aa001d02")),
    Case(
      .wrongDirection, 6, "these messages are sent by the other end: EA00 StartExternalAccessoryProtocolSession",
      set(6, "ea03ea00")),
    Case(
      .wrongDirection, 7, "these messages are sent by the other end: EA02 RequestAppLaunch", set(7, "ea00ea01ea02")),
    Case(
      .sessionsWithoutMessages, 7,
      "protocols are declared without EA00 StartExternalAccessoryProtocolSession and "
        + "EA01 StopExternalAccessoryProtocolSession", set(7, "")),
    Case(
      .sessionsWithoutMessages, 7, "protocols are declared without EA01 StopExternalAccessoryProtocolSession",
      set(7, "ea00")),
  ]

  static var all: [Case] { missing + unreadable + repeated + blank + others }

  private func judge(
    _ body: String, _ judge: IdentificationJudge = .strict
  ) -> IdentificationJudge.Verdict {
    judge.judge(IdentificationReading(ControlMessage(.identificationInformation, body: Sheet.unhex(body))))
  }

  @Test func theGoodOneIsAccepted() {
    let verdict = judge(Self.good.map { Sheet.parameter($0.id, $0.value) }.joined())
    #expect(verdict.errors == [])
    #expect(verdict.warnings == [])
  }

  @Test func everyCheckIsBrokenByACase() {
    #expect(Set(Self.all.map(\.check)) == Set(IdentificationCheck.allCases))
  }

  @Test(arguments: all)
  func theRuleIsBrokenAloneAndSaysSo(_ one: Case) {
    let verdict = judge(one.body)
    let findings = verdict.errors + verdict.warnings
    #expect(findings.map(\.reason) == [one.reason])
    #expect(findings.map(\.check) == [one.check])
    #expect(findings.map(\.parameter) == [one.parameter])
    #expect(verdict.isAccepted == one.check.isTolerated)
    #expect(
      findings.first?.description == "parameter \(one.parameter): \(one.reason) (\(one.check.rawValue))")
  }

  @Test func severitiesAreWhatAnIPhoneWasSeenToDo() {
    let tolerated: Set<IdentificationCheck> = [
      .missingTransport, .wrongDirection, .sessionsWithoutMessages, .unknownNativeTransport,
      .nativeTransportBesideUSB, .textWithoutEnd, .packedLanguages, .blankOptionalText,
    ]
    #expect(Set(IdentificationCheck.allCases.filter(\.isTolerated)) == tolerated)
  }

  @Test func theLenientJudgeRefusesNothing() {
    for one in Self.all { #expect(judge(one.body, .lenient).isAccepted, "\(one.reason)") }
  }

  /// Some devices, and the stack of one open-source accessory, put several zero-terminated language codes into one
  /// value.
  @Test func packedLanguagesAndTextsWithoutEndAreRead() {
    var body = Self.good
    Self.set(1, "4531")(&body)
    Self.set(13, Sheet.text("en") + Sheet.text("de"))(&body)
    let bytes = Sheet.unhex(body.map { Sheet.parameter($0.id, $0.value) }.joined())
    let reading = IdentificationReading(ControlMessage(.identificationInformation, body: bytes))
    #expect(reading.identification.model == "E1")
    #expect(reading.identification.supportedLanguages == ["en", "de"])
  }

  /// Parameter 4 has a meaning only in groups 16 and 24. In one accessory, group 17 has a string as parameter 4.
  @Test func aNumberWithoutMeaningInItsGroupIsIgnored() {
    var body = Self.good
    Self.add(
      17, Sheet.parameter(0, "0009") + Sheet.parameter(1, Sheet.text("BT")) + Sheet.parameter(4, Sheet.text("x")))(
        &body)
    let verdict = judge(body.map { Sheet.parameter($0.id, $0.value) }.joined())
    #expect(verdict.errors + verdict.warnings == [])
  }

  /// Sessions that bypass the link are opened and closed without messages.
  @Test func protocolsOfNativeTransportAloneNeedNoMessages() {
    var body = Self.good
    Self.set(7, "")(&body)
    Self.set(10, Self.echo + Sheet.parameter(3, "0000"))(&body)
    let verdict = judge(body.map { Sheet.parameter($0.id, $0.value) }.joined())
    #expect(verdict.errors + verdict.warnings == [])
  }

  @Test func aBodyThatCannotBeCutIntoParametersIsOneFinding() {
    let verdict = judge("0009000045")
    #expect(
      verdict.errors.map(\.reason) == [
        "a parameter claims 9 bytes, but only 5 are left, at byte 0: 00 09 00 00 45"
      ])
    #expect(verdict.warnings == [])
    #expect(!judge("0009000045", .lenient).isAccepted)
  }

  @Test func severalMistakesAreAllToldAtOnce() {
    let body = Sheet.parameter(0, Sheet.text("")) + Sheet.parameter(8, "0000")
    let verdict = judge(body)
    #expect(Set(verdict.errors.map(\.parameter)) == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13])
  }

  /// The refusal has the same form as vector M05: it names each parameter once and, for parameters 6 and 7, lists the
  /// offending messages.
  @Test func theRefusalNamesEachParameterOnceAndTheMessages() {
    let body = Self.all.first { $0.check == .reservedMessage && $0.parameter == 7 }.map(\.body) ?? ""
    #expect(Sheet.hex(judge(body).rejection.encoded) == "4040000e1d03" + "00080007aa001d02")
    let two = Sheet.parameter(0, Sheet.text("Example")) + Sheet.parameter(1, Sheet.text("E1"))
    let rest = Self.good.dropFirst(2).map { Sheet.parameter($0.id, $0.id == 6 ? "ae005000" : $0.value) }.joined()
    #expect(Sheet.hex(judge(two + rest).rejection.encoded) == "4040000e1d03" + "00080006" + "5000ae00")
  }
}
