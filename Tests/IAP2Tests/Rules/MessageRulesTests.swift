import IAP2
import Testing

/// Tests the rules that determine which control messages a peer sends unprompted, and when.
@Suite struct MessageRulesTests {
  static let subscribe = MessageID(rawValue: 0xAE00)
  static let update = MessageID(rawValue: 0xAE01)
  static let unsubscribe = MessageID(rawValue: 0xAE02)

  private func time(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }

  private func plays(_ rules: inout MessageRules, until end: Int64) -> [String] {
    var lines: [String] = []
    while let due = rules.deadline, due <= time(end), lines.count < 1_000 {
      while let message = rules.next(now: due) {
        lines.append("\(due.nanoseconds / 1_000_000) \(MessageText.line(message))")
      }
    }
    return lines
  }

  private var power: MessageRule {
    var rule = MessageRule(
      .message(Self.subscribe, with: []), send: Self.update,
      [.init(0, .bytes([1, 0xF4])), .init(5, .bytes([1])), .init(6, .bytes([0, 80]))])
    rule.selects = true
    rule.until = Self.unsubscribe
    return rule
  }

  @Test func nothingIsSaidBeforeTheIdentification() {
    var rules = MessageRules([power, MessageRule(.connection, send: Self.update)])
    rules.heard(ControlMessage(Self.subscribe) { $0.none(6) }, now: time(0))
    rules.connected(now: time(0))
    #expect(rules.deadline == nil)
    #expect(rules.next(now: time(0)) == nil)
  }

  @Test func anAnswerHasWhatWasAskedFor() {
    var rules = MessageRules([power])
    rules.begin(declared: nil)
    rules.heard(ControlMessage(Self.subscribe) { $0.none(6) }, now: time(5))
    #expect(plays(&rules, until: 5) == ["5 AE01 PowerUpdate battery-percent=80"])
    #expect(rules.deadline == nil)
  }

  @Test func aChangeIsToldToWhoeverSubscribedAndKeptForTheNext() {
    var rules = MessageRules([power])
    rules.begin(declared: [Self.update])
    #expect(rules.change(Self.update, [.init(6, .bytes([0, 20]))], now: time(0)) == .kept)
    #expect(rules.change(Self.subscribe, [], now: time(0)) == .unknown)
    rules.heard(ControlMessage(Self.subscribe) { $0.none(6) }, now: time(1))
    #expect(plays(&rules, until: 1) == ["1 AE01 PowerUpdate battery-percent=20"])
    #expect(rules.change(Self.update, [.init(6, .bytes([0, 19]))], now: time(2)) == .sent(1))
    #expect(plays(&rules, until: 2) == ["2 AE01 PowerUpdate battery-percent=19"])
    rules.heard(ControlMessage(Self.unsubscribe), now: time(3))
    #expect(rules.change(Self.update, [.init(6, .bytes([0, 18]))], now: time(4)) == .kept)
    #expect(plays(&rules, until: 10) == [])
  }

  @Test func whatTheOtherEndDidNotDeclareIsNotSent() {
    var rules = MessageRules([power])
    rules.begin(declared: [])
    rules.heard(ControlMessage(Self.subscribe) { $0.none(6) }, now: time(0))
    #expect(rules.deadline == nil)
    var stubborn = power
    stubborn.ignoresDeclaration = true
    #expect(!MessageRules.concern([power], declared: []))
    #expect(MessageRules.concern([stubborn], declared: []))
    #expect(MessageRules.heard(by: [power]) == [Self.subscribe, Self.unsubscribe])
  }

  @Test func messagesOfTheConnectionComeInOrderAndSomeAgain() {
    var first = MessageRule(.connection, send: .deviceUUIDUpdate)
    first.after = 10
    var second = MessageRule(.connection, send: .deviceLanguageUpdate)
    second.every = 20
    second.until = .deviceTimeUpdate
    let third = MessageRule(.connection, send: .deviceInformationUpdate)
    var rules = MessageRules([first, second, third])
    rules.begin(declared: nil)
    rules.connected(now: time(0))
    #expect(
      plays(&rules, until: 45) == [
        "0 4E0A DeviceLanguageUpdate", "0 4E09 DeviceInformationUpdate", "10 4E0C DeviceUUIDUpdate",
        "20 4E0A DeviceLanguageUpdate", "40 4E0A DeviceLanguageUpdate",
      ])
    rules.heard(ControlMessage(.deviceTimeUpdate), now: time(50))
    #expect(plays(&rules, until: 1_000) == [])
    rules.stop()
    #expect(rules.deadline == nil)
  }

  /// After a delay, only one of the missed repetitions is sent.
  @Test func aRhythmThatWasHeldUpGoesOnFromNow() {
    var rule = MessageRule(.connection, send: .deviceLanguageUpdate)
    rule.every = 10
    var rules = MessageRules([rule])
    rules.begin(declared: nil)
    rules.connected(now: time(0))
    var count = 0
    while rules.next(now: time(1_000)) != nil { count += 1 }
    #expect(count == 2)
    #expect(rules.deadline == time(1_010))
  }

  @Test func conditionsCopiesAndTheTime() {
    let component = MessageID(rawValue: 0x4E03)
    let rule = MessageRule(
      .message(component, with: [.init(0, .bytes([0, 1])), .init(9, .group([.init(2, .present)]))]),
      send: MessageID(rawValue: 0x4E04), [.init(0, .copy(0)), .init(1, .copy(77)), .init(2, .time)])
    var rules = MessageRules([rule], epoch: 0x0100)
    rules.begin(declared: nil)
    func ask(_ number: UInt16, _ inner: UInt16) -> ControlMessage {
      ControlMessage(component) {
        $0.u16(0, number)
        $0.group(9) { $0.u8(inner, 1) }
      }
    }
    rules.heard(ask(2, 2), now: time(0))
    rules.heard(ask(1, 3), now: time(0))
    #expect(rules.deadline == nil)
    rules.heard(ask(1, 2), now: time(2_000))
    let answer = rules.next(now: time(2_000))
    #expect(answer?.body == [0, 6, 0, 0, 0, 1] + [0, 12, 0, 2, 0, 0, 0, 0, 0, 0, 1, 2])
  }

  @Test func inAGroupOnlyWhatIsAskedForIsSent() {
    var rule = MessageRule(
      .message(.startNowPlayingUpdates, with: []), send: .nowPlayingUpdate,
      [
        .init(0, .group([.init(1, .bytes([0x61, 0])), .init(6, .bytes([0x62, 0]))])),
        .init(1, .group([.init(0, .bytes([1]))])),
      ])
    rule.selects = true
    var rules = MessageRules([rule])
    rules.begin(declared: nil)
    rules.heard(ControlMessage(.startNowPlayingUpdates) { $0.group(0) { $0.none(6) } }, now: time(0))
    #expect(plays(&rules, until: 0) == ["0 5001 NowPlayingUpdate media-item={album=\"b\"}"])
    rules.heard(ControlMessage(.startNowPlayingUpdates) { $0.none(1) }, now: time(0))
    #expect(plays(&rules, until: 0) == ["0 5001 NowPlayingUpdate playback={status=1}"])
  }

  /// However fast requests arrive, the number of pending answers is limited.
  @Test func aFloodOfQuestionsIsCounted() {
    var rule = power
    rule.after = 1_000
    rule.until = nil
    var rules = MessageRules([rule])
    rules.begin(declared: nil)
    for _ in 0..<1_000 { rules.heard(ControlMessage(Self.subscribe) { $0.none(6) }, now: time(0)) }
    #expect(rules.dropped == 1_000 - MessageRules.pendingLimit)
    #expect(plays(&rules, until: 2_000).count == MessageRules.pendingLimit)
  }
}
