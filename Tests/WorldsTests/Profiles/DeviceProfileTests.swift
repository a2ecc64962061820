import AccessoryFormats
import IAP2
import Testing

@testable import AccessoryProfiles

@Suite struct DeviceProfileTests {
  @Test func powerAttributesCanComeInSeparateMessages() {
    var profile = DeviceProfile()
    profile.powerUpdates = .separate
    var rules = MessageRules(profile.messageRules)
    rules.begin(declared: [.powerUpdate])
    rules.heard(
      ControlMessage(.startPowerUpdates) {
        $0.none(6)
        $0.none(0)
      }, now: .origin)
    var sent: [[UInt8]] = []
    while let message = rules.next(now: .origin) { sent.append(message.body) }
    #expect(sent == [[0, 6, 0, 0, 0, 100], [0, 6, 0, 6, 0, 80]])
    #expect(rules.change(.powerUpdate, [.init(6, .bytes([0, 50]))], now: .origin) == .sent(1))
    #expect(rules.next(now: .origin)?.body == [0, 6, 0, 6, 0, 50])
  }

  private func read(_ text: String) throws(SourceProblems) -> DeviceProfile {
    try DeviceProfile.format.read("{ version: 1, \(text) }", file: "d")
  }

  private func rule(_ text: String) throws -> MessageRule {
    let profile = try read("answers: false, rules: [\(text)]")
    return try #require(profile.messageRules.first)
  }

  private func problems(_ text: String) -> [String] {
    do {
      _ = try read("rules: [\(text)]")
      return []
    } catch { return error.problems.map(\.message) }
  }

  @Test func theUpdatesComeInTheOrderOfACarsLog() throws {
    let connected = DeviceProfile().messageRules.filter { $0.trigger == .connection }.map(\.message.rawValue)
    #expect(connected == [0x4E0C, 0x5702, 0xA100, 0x4E0B, 0x4E0D, 0x4E0A, 0x4E09, 0x4E0E, 0x00B0, 0xFFFA])
    #expect(try read("answers: false").messageRules == [])
  }

  @Test func aRateOfAudioIsSentByItsPlaceInTheList() throws {
    let profile = try read("audioRate: 44100")
    #expect(profile.messageRules.first { $0.message.rawValue == 0xDA01 }?.parameters == [.init(0, .bytes([7]))])
    #expect(throws: SourceProblems.self) { try read("audioRate: 9000") }
  }

  @Test func anOwnRuleReplacesAReadyMadeOne() throws {
    let profile = try read("rules: [{ send: '4E0A', parameters: { language: 'de' } }]")
    let languages = profile.messageRules.filter { $0.message == .deviceLanguageUpdate }
    #expect(languages.map(\.parameters) == [[.init(0, .bytes([0x64, 0x65, 0]))]])
  }

  @Test func wiFiCanHaveEitherLayout() throws {
    func parameters(_ profile: DeviceProfile) -> [UInt16] {
      profile.messageRules.first { $0.message.rawValue == 0x5701 }?.parameters.map(\.id) ?? []
    }
    #expect(parameters(DeviceProfile()) == [0, 1, 2])
    #expect(parameters(try read("wifi: { ssidParameter: 2 }")) == [0, 2, 3])
  }

  @Test func parametersAreWrittenByNameOrNumber() throws {
    let rule = try self.rule(
      """
      { on: 'StartPowerUpdates', with: { 'battery percent': true, '77': 'ff' }, after: '1s', every: '2s', until: 'AE02',
        send: 'PowerUpdate', select: true, undeclared: true,
        parameters: { 'maximum-current-drawn-mA': 500, 'will charge': true, '99': '0a 0b', '98': true, '97': { '1': '05' },
          '96': { hex: '01' }, '95': ['01', '02'], '94': '=battery percent', '93': '=time' } }
      """)
    #expect(rule.trigger == .message(.startPowerUpdates, with: [.init(6, .present), .init(77, .bytes([0xFF]))]))
    #expect(rule.after == 1_000)
    #expect(rule.every == 2_000)
    #expect(rule.until == .stopPowerUpdates)
    #expect(rule.message == .powerUpdate)
    #expect(rule.selects && rule.ignoresDeclaration)
    #expect(
      rule.parameters == [
        .init(0, .bytes([1, 0xF4])), .init(1, .bytes([1])), .init(99, .bytes([0x0A, 0x0B])), .init(98, .bytes([])),
        .init(97, .group([.init(1, .bytes([5]))])), .init(96, .bytes([1])), .init(95, .bytes([1])),
        .init(95, .bytes([2])), .init(94, .copy(6)), .init(93, .time),
      ])
    let text = try self.rule(
      "{ send: '1D01', parameters: { name: 'Ü', 'messages sent': ['EA03', 0xAE00], protocol: [{ id: 1 }] } }")
    #expect(
      text.parameters == [
        .init(0, .bytes([0xC3, 0x9C, 0])), .init(6, .bytes([0xEA, 0x03, 0xAE, 0x00])),
        .init(10, .group([.init(0, .bytes([1]))])),
      ])
  }

  @Test(arguments: [
    ("{ send: 'AE01', parameters: { 'will charge': 256 } }", "expected a number from 0 to 255"),
    ("{ send: 'AE01', parameters: { '99': 'xy' } }", "'99' of AE01 PowerUpdate"),
    ("{ send: 'AE01', parameters: { '6': '=component' } }", "only an answer copies parameters"),
    ("{ send: 'AE01', parameters: { '99': 5 } }", "expected bytes in hex, such as \"00 2a\""),
    ("{ send: 'AE00', parameters: { charging: 3 } }", "expected true, because it has no value"),
    (
      "{ send: 'Nonsense' }",
      "there is no message 'Nonsense'; write a message without a known name as its number, such as 0xAE01"
    ),
    ("{ send: 'AE01', parameters: { 'battery percent': 'full' } }", "expected a number from 0 to 65535"),
    ("{ send: 'AE01', parameters: { 'battery percent': [true] } }", "expected a number from 0 to 65535"),
    ("{ send: '4E09', parameters: { 'device name': 5 } }", "expected a text"),
    ("{ send: '5001', parameters: { playback: { stats: 1 } } }", "did you mean 'status'?"),
    ("{ send: '5001', parameters: { playback: 1 } }", "expected an object with its parameters"),
    (
      "{ on: 'AE00', send: 'AE01', parameters: { '6': '=batery' } }", "AE00 StartPowerUpdates has no parameter 'batery'"
    ),
    ("{ on: 'AE00', with: { '6': '=time' }, send: 'AE01' }", "the condition needs a value"),
    ("{ send: 'AE01', with: {} }", "only for an answer ('on')"),
  ])
  func whatIsWrongIsNamed(text: String, sentence: String) {
    let found = problems(text)
    #expect(found.contains { $0.contains(sentence) }, "\(found)")
  }

  @Test func wordsOfACommandLine() throws {
    let words = try [Named<MessageValue>](words: ["battery-percent=20", "playback.status=2", "playback.app=x=y"])
    #expect(
      words == [
        Named("battery-percent", .text("20")),
        Named("playback", .group([Named("status", .text("2")), Named("app", .text("x=y"))])),
      ])
    #expect(
      try MessageParameters(of: .nowPlayingUpdate).elements(Array(words.dropFirst())) == [
        .init(1, .group([.init(0, .bytes([2])), .init(7, .bytes([0x78, 0x3D, 0x79, 0]))]))
      ])
    #expect(throws: OptionError.self) { try [Named<MessageValue>](words: ["battery"]) }
  }
}
