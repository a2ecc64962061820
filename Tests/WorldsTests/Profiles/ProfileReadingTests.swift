import AccessoryFormats
import Testing

@testable import AccessoryProfiles

@Suite struct ProfileReadingTests {
  func read(_ text: String) throws -> Profile {
    try readTemplate(text).instance()
  }

  @Test func everyKeyReachesItsField() throws {
    let profile = try read(everyKey)
    var expected = Profile(
      name: "test",
      identity: Profile.Identity(
        name: "N", manufacturer: "M", modelNumber: "X", serialNumber: "S", firmwareRevision: "1", hardwareRevision: "3")
    )
    expected.summary = "every key"
    expected.identity.productPlanUID = "P"
    expected.identity.regionCode = "R"
    expected.identity.firmwareRevisionPending = "2"
    expected.identity.dockType = "D"
    expected.identity.currentLanguage = "de"
    expected.identity.supportedLanguages = ["en", "de"]
    expected.identity.appMatchTeamID = "AB12CD34EF"
    expected.protocols = [
      .init("com.example.a", id: 0),
      .init(
        "com.example.b", id: 0xB1, matchAction: .noAlert, behavior: .sink(check: false), nativeTransportComponent: 9),
    ]
    expected.link.maximumOutstandingPackets = 127
    expected.link.maximumPacketLength = 24
    expected.link.retransmissionTimeout = .milliseconds(20)
    expected.link.cumulativeAcknowledgementTimeout = .milliseconds(10)
    expected.link.maximumRetransmissions = 1
    expected.link.maximumCumulativeAcknowledgements = 0
    (expected.link.controlSession, expected.link.externalAccessorySession) = (10, 11)
    expected.link.fileTransferSession = 12
    expected.link.controlSessionVersion = 2
    expected.link.zeroAcknowledgement = true
    expected.authentication = .init(.older, challenge: .hashed)
    (expected.authentication.certSerial, expected.authentication.certData) = (14, 900)
    expected.power.capability = .advanced
    expected.power.maximumCurrent = 500
    expected.messages.sent = [.id(0xEA03), .name("RequestAppLaunch")]
    expected.messages.received = [.id(0xEA00), .id(0xEA01)]
    expected.transports = [
      .init(.usbDevice, id: 9, name: "one", supportsIAP2: false),
      .init(.bluetooth(.init(0x02_00_5E_10_00_0F)), id: 4, name: "two"),
    ]
    (expected.usb.vendor, expected.usb.product, expected.usb.speed) = (0xABCD, 2, .super)
    expected.usb.manufacturerString = "m"
    expected.usb.productString = "p"
    expected.usb.serialString = "s"
    expected.behavior = .exec(.init("python3", ["-u", "x.py"]))
    var keys = Profile.HID(id: 3)
    (keys.name, keys.function) = ("keys", .mediaRemote)
    expected.hid = [keys]
    var location = Profile.Location()
    (location.id, location.name, location.provides) = (4, "receiver", [.gga, .heading])
    expected.location = location
    var ask = MessageRuleEntry(send: .name("StartPowerUpdates"))
    ask.every = .seconds(2)
    ask.parameters = [Named("battery percent", .boolean(true)), Named("77", .group([Named("hex", .text("0a 0b"))]))]
    var answer = MessageRuleEntry(send: .id(0xAE03))
    (answer.on, answer.until) = (.name("PowerUpdate"), .id(0xAE02))
    answer.with = [Named("charging", .number(2))]
    answer.after = .milliseconds(10)
    (answer.selects, answer.ignoresDeclaration) = (true, true)
    answer.parameters = [Named("available mA", .text("=battery percent"))]
    expected.rules = [ask, answer]
    expected.quirks = [try Quirk("no-status"), try Quirk("flicker,cycles=3,empty=1s,gap=1s,jitter=1ms,auth=never")]
    #expect(profile == expected)
  }

  @Test func whatIsLeftOutHasTheDefaults() throws {
    let profile = try read(document(protocols: "[]"))
    let identity = Profile.Identity(
      name: "N", manufacturer: "M", modelNumber: "X", serialNumber: "S", firmwareRevision: "1", hardwareRevision: "1")
    #expect(profile == Profile(name: "test", identity: identity))
    #expect(profile.messages.received == [.id(0xEA00), .id(0xEA01)])
    #expect(profile.authentication == .init(.current))
  }

  @Test func aTransportIsNamedAndNumberedByDefault() throws {
    let profile = try read(document("transports: [{ kind: 'usbHost' }, { kind: 'serial' }]"))
    #expect(profile.transports == [.init(.usbHost, id: 0, name: "usbHost"), .init(.serial, id: 1, name: "serial")])
  }

  @Test func theSizesOfAuthenticationFollowTheGeneration() throws {
    let profile = try read(document("authentication: { generation: 'older' }"))
    #expect((profile.authentication.certSerial, profile.authentication.certData) == (15, 908))
  }

  @Test func aSmallWindowAloneLowersTheAcknowledgementsWithIt() throws {
    let link = try read(document("link: { maximumOutstandingPackets: 4 }")).link
    #expect((link.maximumOutstandingPackets, link.maximumCumulativeAcknowledgements) == (4, 4))
  }

  @Test func theLanguageSpokenIsSupportedWhenNoListSaysOtherwise() throws {
    let identity = try read(document(accessory: "currentLanguage: 'fr'")).identity
    #expect(identity.supportedLanguages == ["fr"])
  }

  static let behaviors: [(text: String, behavior: Behavior)] = [
    ("'echo'", Behavior.echo), ("'sink'", .sink(check: false)), ("'sink,check'", .sink(check: true)),
    ("'sink,check=no'", .sink(check: false)), ("{ type: 'sink', check: true }", .sink(check: true)),
    ("'source'", .source(.init())), ("'source,rate=5,chunk=2,total=9'", .source(.init(rate: 5, chunk: 2, total: 9))),
    ("'source,pattern=random'", .source(.init(pattern: .random))),
    ("' source , text = 12 '", .source(.init(pattern: .text("12")))),
    ("'exec:cat -n, 5'", .exec(.init("/bin/sh", ["-c", "cat -n, 5"]))),
    ("{ type: 'exec', command: 'cat' }", .exec(.init("cat"))),
    (
      "{ type: 'exec', command: 'cat', environment: ['API_KEY', 'MODE=fast'] }",
      .exec(.init("cat", environment: ["API_KEY", "MODE=fast"]))
    ),
    (
      "{ type: 'script', rules: [{ request: 'é', response: { hex: 'ff 00' }, delay: '5ms' }, { request: 'b' }] }",
      .script(
        Script(
          framing: .any,
          rules: [
            .init(request: [0xC3, 0xA9], response: [0xFF, 0], delay: .milliseconds(5)),
            .init(request: [0x62], response: []),
          ]))
    ),
    (
      "{ type: 'script', framing: { delimiter: '\\r\\n' }, rules: [], otherwise: '?' }",
      .script(Script(framing: .delimiter([13, 10]), rules: [], otherwise: [0x3F]))
    ),
    ("{ type: 'script', framing: { fixed: 8 }, rules: [] }", .script(Script(framing: .fixed(8), rules: []))),
  ]

  @Test(arguments: behaviors)
  func aBehaviorIsANameWithParametersOrAnObject(text: String, behavior: Behavior) throws {
    #expect(try read(document("behavior: \(text)")).behavior == behavior)
  }

  @Test func aProtocolsOwnBehaviorComesBeforeTheProfiles() throws {
    let profile = try read(
      document(protocols: "[{ name: 'a.b', behavior: 'sink' }, 'c.d']", "behavior: 'source'"))
    #expect(profile.protocols.map(profile.behavior(of:)) == [.sink(check: false), .source(.init())])
  }
}

@Suite struct ProfileCheckTests {
  static let warnings: [(text: String, warning: String)] = [
    (
      document(accessory: "dockType: 'a\\nb'"),
      "f:7:11: warning: accessory.dockType: contains a line break or another control character"
    ),
    (
      document("messages: { received: [] }"),
      "f:9:23: warning: messages.received: without StartExternalAccessoryProtocolSession (0xEA00), no device opens a "
        + "session"
    ),
    (
      document("transports: [{ kind: 'serial', supportsIAP2: false }]"),
      "f:9:13: warning: transports: no transport supports iAP2"
    ),
    (
      document("behavior: { type: 'script', rules: [{ request: 'a' }, { request: 'a' }] }"),
      "f:9:66: warning: behavior.rules[1].request: this rule never answers: an earlier rule has the same request"
    ),
    (
      document("behavior: { type: 'script', rules: [{ request: 'a' }, { request: 'ab' }] }"),
      "f:9:66: warning: behavior.rules[1].request: this rule never answers: an earlier rule matches sooner"
    ),
    (
      document("behavior: { type: 'script', rules: [{ request: '' }] }"),
      "f:9:48: warning: behavior.rules[0].request: this rule never answers: its request is empty"
    ),
    (
      document("behavior: { type: 'script', framing: { fixed: 2 }, rules: [{ request: 'abc' }] }"),
      "f:9:71: warning: behavior.rules[0].request: this rule never answers: its request has 3 bytes, but every "
        + "request has 2"
    ),
    (
      document("behavior: { type: 'script', framing: { delimiter: 'bc' }, rules: [{ request: 'abcd' }] }"),
      "f:9:78: warning: behavior.rules[0].request: this rule never answers: its request contains the delimiter, which "
        + "is not part of a request"
    ),
  ]

  @Test(arguments: warnings)
  func whatIsAllowedAndProbablyNotMeantIsAWarningWithItsPlace(text: String, warning: String) {
    #expect(complaints(text) == [warning])
  }

  @Test func aBlankSerialNumberIsAWarning() {
    let identity = Profile.Identity(name: "N", manufacturer: "M", modelNumber: "X", serialNumber: " ")
    let profile = Profile(name: "p", identity: identity, protocols: [.init("a.b", id: 0)])
    #expect(profile.check().map(\.description) == ["warning: accessory.serialNumber: is blank"])
  }

  @Test func aProfileMadeInSwiftIsHeldToTheSameRules() {
    var identity = Profile.Identity(name: "N", manufacturer: "M", modelNumber: "X", serialNumber: "S")
    identity.supportedLanguages = []
    identity.regionCode = "\0"
    var profile = Profile(name: "p", identity: identity, protocols: [.init("a.b", id: 3), .init("nothing", id: 3)])
    profile.link.maximumOutstandingPackets = 200
    profile.link.maximumPacketLength = 10
    profile.link.maximumRetransmissions = 0
    profile.link.externalAccessorySession = 0
    profile.link.fileTransferSession = 1
    profile.link.retransmissionTimeout = .seconds(70)
    profile.transports = []
    profile.behavior = .source(.init(rate: 0, chunk: 0, pattern: .text(""), total: 0))
    #expect(
      profile.check().map(\.description) == [
        "accessory.regionCode: a NUL would end the text on the wire",
        "accessory.supportedLanguages: expected a list of at least 1 element, found none",
        "accessory.protocols[1].name: 'nothing' is not a protocol name: expected reverse DNS, such as "
          + "'com.example.echo'",
        "link.maximumOutstandingPackets: expected a whole number from 1 to 127, found number 200",
        "link.maximumPacketLength: expected a whole number from 24 to 65535, found number 10",
        "link.retransmissionTimeout: expected a duration from 20ms to 65.535s, found text '70s'",
        "link.maximumRetransmissions: expected a whole number from 1 to 30, found number 0",
        "link.sessions.externalAccessory: expected a whole number from 1 to 255, found number 0",
        "transports: expected a list of at least 1 element, found none",
        "behavior.rate: expected a whole number from 1 to 1000000000, found number 0",
        "behavior.chunk: expected a whole number from 1 to 1048576, found number 0",
        "behavior.total: expected a whole number from 1 to 1000000000000, found number 0",
        "behavior.text: empty text cannot be sent repeatedly",
      ])
  }

  @Test func twoQuirksOfAKindAreAnErrorAndApplyingReplacesInstead() throws {
    var profile = try ProfileLibrary().profile("echo")
    profile.quirks = [.noStatus, .noStatus]
    #expect(profile.check().map(\.description) == ["quirks[1]: the quirk 'no-status' is given twice"])
    profile.quirks = [.flicker(Flicker())]
    profile.apply(try Quirk("flicker,cycles=2"))
    #expect(profile.quirks.map(\.description) == ["flicker,cycles=2"])
    #expect(profile.quirks.flicker?.cycles == 2)
    #expect(profile.quirks.session == nil)
  }
}
