import IAP2

// The messages that a device sends automatically. The messages that follow identification are in the same order as in a
// car's log. Cars from two manufacturers do not continue until they have received 4E0E and 4E0A.

extension DeviceProfile {
  private static let standard = DeviceProfile()
  private static let standardRules = standard.madeRules

  /// The rules in effect. The user's rules come first, followed by the built-in rules that no user rule replaces.
  public var messageRules: [MessageRule] { self == Self.standard ? Self.standardRules : madeRules }

  private var madeRules: [MessageRule] {
    let own = rules.compactMap { try? $0.rule() }
    guard answers else { return own }
    let readyMade = updates + requests + components
    return own + readyMade.filter { rule in !own.contains { $0.message == rule.message && $0.heard == rule.heard } }
  }

  private static func rule(
    _ trigger: MessageRule.Trigger, _ message: UInt16, until: UInt16? = nil, selects: Bool = false,
    _ parameters: [MessageRule.Element] = []
  ) -> MessageRule {
    var rule = MessageRule(trigger, send: MessageID(rawValue: message), parameters)
    rule.until = until.map { MessageID(rawValue: $0) }
    rule.selects = selects
    return rule
  }

  private static func on(_ message: UInt16) -> MessageRule.Trigger { .message(MessageID(rawValue: message), with: []) }

  private static func text(_ id: UInt16, _ text: String) -> MessageRule.Element {
    .init(id, .bytes(Array(text.utf8) + [0]))
  }

  private static func number(_ id: UInt16, _ value: some FixedWidthInteger) -> MessageRule.Element {
    .init(id, .bytes(withUnsafeBytes(of: value.bigEndian) { Array($0) }))
  }

  private var updates: [MessageRule] {
    // Devices repeat message 5702 until the accessory answers it.
    var askWiFi = Self.rule(.connection, 0x5702, until: 0x5703)
    askWiFi.every = 2_000
    return [
      Self.rule(.connection, 0x4E0C, [Self.text(0, uuid)]), askWiFi,
      Self.rule(.connection, 0xA100, [3, 4, 6].map { .init($0, .bytes([])) }),
      Self.rule(.connection, 0x4E0B, [.init(0, .time), Self.number(1, zone), Self.number(2, daylight)]),
      Self.rule(.connection, 0x4E0D, [Self.number(0, UInt8(0))]),
      Self.rule(.connection, 0x4E0A, [Self.text(0, language)]), Self.rule(.connection, 0x4E09, [Self.text(0, name)]),
      Self.rule(.connection, 0x4E0E, [Self.text(0, bluetooth.description), Self.text(1, usb)]),
    ]
  }

  private var requests: [MessageRule] {
    powerAnswers + [
      Self.rule(Self.on(0x5000), 0x5001, until: 0x5002, selects: true, playing),
      Self.rule(Self.on(0x4E03), 0x4E04, until: 0x4E05, [.init(0, .copy(0))]),
      Self.rule(
        Self.on(0x5700), 0x5701,
        [
          Self.number(0, wifi.status), Self.text(wifi.ssidParameter, wifi.ssid),
          Self.text(wifi.ssidParameter + 1, wifi.passphrase),
        ]),
      Self.rule(
        Self.on(0xDA00), 0xDA01, until: 0xDA02,
        [Self.number(0, UInt8(DeviceProfile.audioRates.firstIndex(of: audioRate) ?? 8))]),
    ]
  }

  private var powerAnswers: [MessageRule] {
    let charging = Power.Charging.allCases.firstIndex(of: power.charging) ?? 0
    let attributes = [
      Self.number(0, power.maximumCurrent), Self.number(1, UInt8(power.willCharge ? 1 : 0)),
      Self.number(2, power.mode), Self.number(4, UInt8(power.externalCharger ? 1 : 0)),
      Self.number(5, UInt8(charging)), Self.number(6, power.battery),
    ]
    switch powerUpdates {
    case .combined: return [Self.rule(Self.on(0xAE00), 0xAE01, until: 0xAE02, selects: true, attributes)]
    case .separate:
      return attributes.map { attribute in
        let asked = MessageRule.Trigger.message(MessageID(rawValue: 0xAE00), with: [.init(attribute.id, .present)])
        var rule = Self.rule(asked, 0xAE01, until: 0xAE02, [attribute])
        rule.takesNewParameters = false
        return rule
      }
    }
  }

  private var playing: [MessageRule.Element] {
    let item = [
      Self.text(1, nowPlaying.title), Self.number(4, UInt32(clamping: nowPlaying.duration.milliseconds)),
      Self.text(6, nowPlaying.album), Self.text(12, nowPlaying.artist),
    ]
    let playback = [
      Self.number(0, UInt8(nowPlaying.isPlaying ? 1 : 2)), Self.number(1, UInt32(0)), Self.text(7, nowPlaying.app),
    ]
    return [.init(0, .group(item)), .init(1, .group(playback))]
  }

  private var components: [MessageRule] {
    var rules = [
      Self.rule(.connection, 0x00B0),
      Self.rule(Self.on(0x00B1), 0x00B2, [.init(0, .bytes(linkKey)), .init(1, .bytes(bluetooth.bytes))]),
    ]
    if let hidReport {
      rules.append(Self.rule(Self.on(0x6800), 0x6801, [.init(0, .copy(0)), .init(1, .bytes(hidReport))]))
    }
    if !location.isEmpty {
      rules.append(Self.rule(.connection, 0xFFFA, location.map { .init($0.parameter, .bytes([])) }))
    }
    return rules
  }
}
