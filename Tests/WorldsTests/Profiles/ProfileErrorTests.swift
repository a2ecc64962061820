import Testing

@testable import AccessoryProfiles

/// Tests problems that depend on several keys or on a rule: their exact texts and their order. The golden texts of
/// ErrorTextTests cover problems with single keys (missing, misspelled, of the wrong type, or out of range).
@Suite struct ProfileErrorTests {
  @Test func aSoundProfileEarnsNone() {
    #expect(complaints(document()).isEmpty)
  }

  @Test func allMistakesOfAFileAreReportedInItsOrderEachWithItsPlace() {
    let text = """
      {
        version: 1,
        accessory: {
          name: 5,
          manufacturer: "M", modelNumber: "X", serialNumber: "S",
          protocol: ["com.example.echo"],
          hardwareRevision: "1",
        },
        link: { maximumOutstandingPackets: 500, sessions: { control: 2 } },
        quirks: ["flickr"],
        behaviour: "echo",
      }
      """
    #expect(
      complaints(text) == [
        "f:3:14: accessory: the key 'firmwareRevision' is missing",
        "f:4:11: accessory.name: expected text, found number 5",
        "f:6:5: unknown key 'protocol' in accessory, did you mean 'protocols'?",
        "f:9:38: link.maximumOutstandingPackets: expected a whole number from 1 to 127, found number 500",
        "f:9:53: link.sessions: two or more sessions have the same id: 2, 2",
        "f:10:12: quirks[0]: unknown quirk 'flickr', did you mean 'flicker'?",
        "f:11:3: unknown key 'behaviour' in profile, did you mean 'behavior'?",
      ])
  }

  @Test(arguments: [
    (
      "{version: 1, version: 1, accessory: 1}",
      "f:1:14: key 'version' occurs twice in profile: first at line 1, column 2"
    )
  ])
  func ofTheDocument(text: String, complaint: String) {
    #expect(complaints(text).first == complaint)
  }

  @Test(arguments: [
    ("dockType: 'a\\0'", "f:7:11: accessory.dockType: a NUL would end the text on the wire"),
    (
      "dockType: '\(String(repeating: "é", count: 256))'",
      "f:7:11: accessory.dockType: a text has at most 255 characters, but this one has 256"
    ),
    (
      "dockType: '{index:4}'",
      "f:7:11: accessory.dockType: '{index:4}' is not a template: write '{index}', '{index:04}' or '{index:04x}'"
    ),
    (
      "supportedLanguages: []",
      "f:7:21: accessory.supportedLanguages: expected a list of at least 1 element, found none"
    ),
  ])
  func ofTheIdentity(key: String, complaint: String) {
    #expect(complaints(document(accessory: key)) == [complaint])
  }

  @Test(arguments: [
    (
      "['echo']",
      "f:5:2: accessory.protocols[0].name: 'echo' is not a protocol name: expected reverse DNS, such as "
        + "'com.example.echo'"
    ),
    (
      "[{ name: 'com..echo' }]",
      "f:5:10: accessory.protocols[0].name: 'com..echo' is not a protocol name: expected reverse DNS, such as "
        + "'com.example.echo'"
    ),
    (
      "[{ name: 'a.b', id: 256 }]",
      "f:5:21: accessory.protocols[0].id: expected a whole number from 0 to 255, found number 256"
    ),
    (
      "[{ name: 'a.b', id: 1.5 }]",
      "f:5:21: accessory.protocols[0].id: expected a whole number from 0 to 255, found number 1.5"
    ),
    (
      "[{ name: 'a.b', matchAction: 'noalert' }]",
      "f:5:30: accessory.protocols[0].matchAction: unknown value 'noalert', did you mean 'no-alert'?"
    ),
    (
      "[{ name: 'a.b', matchAction: 'ask' }]",
      "f:5:30: accessory.protocols[0].matchAction: unknown value 'ask': expected 'none', 'optional', 'no-alert'"
    ),
    (
      "[{ name: 'a.b', matchAction: -1 }]",
      "f:5:30: accessory.protocols[0].matchAction: expected a whole number from 0 to 255, found number -1"
    ),
    ("['a.b', 'a.b']", "f:5:9: accessory.protocols[1].name: the protocol 'a.b' is listed twice"),
    (
      "['a.b', { name: 'c.d', id: 0 }]",
      "f:5:28: accessory.protocols[1].id: the protocols 'a.b' and 'c.d' have the same id 0"
    ),
    (
      "[{ name: 'c.d', id: 1 }, 'a.b']",
      "f:5:26: accessory.protocols[1].id: the protocols 'c.d' and 'a.b' have the same id 1"
    ),
    (
      "[{ name: 'a.b', nativeTransportComponent: 7 }]",
      "f:5:43: accessory.protocols[0].nativeTransportComponent: there is no transport with the id 7: the declared USB "
        + "transports are 0"
    ),
  ])
  func ofTheProtocols(protocols: String, complaint: String) {
    #expect(complaints(document(protocols: protocols)) == [complaint])
  }

  @Test(arguments: [
    (
      "transports: [{ kind: 'serial' }]",
      "the transport 0 is serial, but native transport needs endpoints on USB: declare one of kind usbHost"
    ),
    (
      "transports: [{ kind: 'bluetooth', mac: '02:00:5E:10:00:01' }, { kind: 'usbHost', id: 3 }]",
      "the transport 0 is bluetooth, but native transport needs endpoints on USB: the declared USB transports are 3"
    ),
  ])
  func nativeTransportIsForUSBAlone(transports: String, complaint: String) {
    #expect(
      complaints(document(protocols: "[{ name: 'a.b', nativeTransportComponent: 0 }]", transports)) == [
        "f:5:43: accessory.protocols[0].nativeTransportComponent: \(complaint)"
      ])
  }

  @Test func aDeviceHasEndpointsForThirteenProtocolsOfNativeTransport() {
    func protocols(_ count: Int) -> String {
      "[" + (0..<count).map { "{ name: 'a.p\($0)', nativeTransportComponent: 0 }" }.joined(separator: ",\n") + "]"
    }
    #expect(complaints(document(protocols: protocols(13))).isEmpty)
    #expect(
      complaints(document(protocols: protocols(14))) == [
        "f:18:44: accessory.protocols[13].nativeTransportComponent: a USB device has endpoints for 13 protocols of native "
          + "transport, and this profile has 14"
      ])
  }

  @Test func moreThan256ProtocolsAreTooMany() {
    let many = "[" + (0...256).map { "'a.p\($0)'" }.joined(separator: ",") + "]"
    #expect(
      complaints(document(protocols: many)) == [
        "f:5:1: accessory.protocols: expected a list of at most 256 elements, found 257"
      ])
    let most = "[" + (0...255).map { "'a.p\($0)'" }.joined(separator: ",") + "]"
    #expect(complaints(document(protocols: most)).isEmpty)
  }

  @Test func aProtocolThatCannotBeReadDoesNotMoveTheComplaintsAboutTheOthers() {
    #expect(
      complaints(document(protocols: "[5, 'a.b', 'bad', { name: 'a.b', id: 'x' }]")) == [
        "f:5:2: accessory.protocols[0]: expected a protocol name or an object, found number 5",
        "f:5:12: accessory.protocols[2].name: 'bad' is not a protocol name: expected reverse DNS, such as "
          + "'com.example.echo'",
        "f:5:27: accessory.protocols[3].name: the protocol 'a.b' is listed twice",
        "f:5:38: accessory.protocols[3].id: expected a whole number from 0 to 255, found text 'x'",
      ])
  }

  @Test(arguments: [
    (
      "maximumPacketLength: 23",
      "f:9:30: link.maximumPacketLength: expected a whole number from 24 to 65535, found number 23"
    ),
    (
      "retransmissionTimeout: '2m'",
      "f:9:32: link.retransmissionTimeout: expected a duration from 20ms to 65.535s, found text '2m'"
    ),
    (
      "maximumRetransmissions: 0",
      "f:9:33: link.maximumRetransmissions: expected a whole number from 1 to 30, found number 0"
    ),
    (
      "sessions: { control: 0 }",
      "f:9:30: link.sessions.control: expected a whole number from 1 to 255, found number 0"
    ),
    (
      "retransmissionTimeout: '250'",
      "f:9:32: link.retransmissionTimeout: '250' has no unit: write '250ms', '250s' or '250m'"
    ),
    (
      "maximumCumulativeAcknowledgements: 17",
      "f:9:44: link.maximumCumulativeAcknowledgements: 17 cumulative acknowledgements are more than the 16 outstanding "
        + "packets"
    ),
    (
      "maximumCumulativeAcknowledgements: 8, maximumOutstandingPackets: 4",
      "f:9:44: link.maximumCumulativeAcknowledgements: 8 cumulative acknowledgements are more than the 4 outstanding "
        + "packets"
    ),
  ])
  func ofTheLink(key: String, complaint: String) {
    #expect(complaints(document("link: { \(key) }")) == [complaint])
  }

  @Test(arguments: [
    (
      "authentication: { certSerial: 65 }",
      "f:9:31: authentication.certSerial: expected a whole number from 0 to 64, found number 65"
    ),
    (
      "messages: { sent: [0x10000] }",
      "f:9:20: messages.sent[0]: expected a message's number from 0 to 0xFFFF or its name, found number 0x10000"
    ),
    (
      "messages: { sent: ['StatusExternalAccessoryProtocolSesion'] }",
      "f:9:20: messages.sent[0]: there is no message 'StatusExternalAccessoryProtocolSesion', did you mean "
        + "'StatusExternalAccessoryProtocolSession'?"
    ),
    ("transports: []", "f:9:13: transports: expected a list of at least 1 element, found none"),
    ("transports: [{ kind: 'bluetooth' }]", "f:9:14: transports[0]: the key 'mac' is missing"),
    (
      "transports: [{ kind: 'bluetooth', mac: '02:00' }]",
      "f:9:40: transports[0].mac: '02:00' is not an address: expected six bytes such as '02:00:5E:10:00:01'"
    ),
    (
      "transports: [{ kind: 'serial', mac: '02:00:5E:10:00:01' }]",
      "f:9:37: transports[0].mac: only a bluetooth transport has an address"
    ),
    (
      "transports: [{ kind: 'serial', id: 3 }, { kind: 'usbHost', id: 3 }]",
      "f:9:64: transports[1].id: two transports have the id 3"
    ),
    ("quirks: ['no-status', 'no-status']", "f:9:23: quirks[1]: the quirk 'no-status' is given twice"),
  ])
  func ofTheOtherSections(section: String, complaint: String) {
    #expect(complaints(document(section)) == [complaint])
  }

  @Test(arguments: [
    ("'exec:  '", "f:9:11: behavior: the command is missing: write 'exec:COMMAND'"),
    ("'exec,command=cat'", "f:9:11: behavior: the command is missing: write 'exec:COMMAND'"),
    (
      "'script'",
      "f:9:11: behavior: a script needs rules: write it in a profile, as { type: 'script', rules: [ … ] }"
    ),
    ("{ type: 'script' }", "f:9:11: behavior: the key 'rules' is missing"),
    ("'sink,chek'", "f:9:11: behavior: unknown word 'chek' for the behavior 'sink', did you mean 'check'?"),
    ("'source,rate=0'", "f:9:11: behavior.rate: expected a whole number from 1 to 1000000000, found number 0"),
    ("{ type: 'echo', check: true }", "f:9:27: 'echo' has no 'check': it belongs to 'sink'"),
    ("{ type: 'source', text: '' }", "f:9:35: behavior.text: empty text cannot be sent repeatedly"),
    (
      "{ type: 'source', text: 'a', pattern: 'random' }",
      "f:9:49: behavior.pattern: a source repeats text or generates a pattern: omit 'text' or 'pattern'"
    ),
    (
      "{ type: 'source', pattern: 'text' }",
      "f:9:38: behavior.pattern: unknown value 'text': expected 'counting', 'random'"
    ),
    (
      "{ type: 'exec', command: 'a', environment: ['A', '1=2'] }",
      "f:9:60: behavior.environment[1]: '1=2' is not a variable: expected NAME or NAME=VALUE"
    ),
    ("{ type: 'exec', command: '' }", "f:9:36: behavior.command: the command is empty"),
    (
      "{ type: 'script', rules: [], otherwise: 1 }",
      "f:9:51: behavior.otherwise: expected text or { hex: … }, found number 1"
    ),
    (
      "{ type: 'script', rules: [{ request: { hex: '0' } }] }",
      "f:9:55: behavior.rules[0].request.hex: a byte is two hex digits, but the last one has only one"
    ),
    ("{ type: 'script', rules: [{ request: {} }] }", "f:9:48: behavior.rules[0].request: the key 'hex' is missing"),
    ("{ type: 'script', rules: [{}] }", "f:9:37: behavior.rules[0]: a rule needs a 'request', a 'prefix' or a 'regex'"),
    (
      "{ type: 'script', rules: [{ request: 'a', delay: '2h' }] }",
      "f:9:60: behavior.rules[0].delay: expected a duration from 0ms to 1h, found text '2h'"
    ),
    (
      "{ type: 'script', rules: [{ request: 'a' }], framing: 'line' }",
      "f:9:65: behavior.framing: expected 'any', { delimiter: … }, { fixed: … } or { frame: … }, found text 'line'"
    ),
    (
      "{ type: 'script', rules: [{ request: 'a' }], framing: {} }",
      "f:9:65: behavior.framing: expected exactly one of 'delimiter', 'fixed' and 'frame'"
    ),
    (
      "{ type: 'script', rules: [{ request: 'a' }], framing: { fixed: 1, delimiter: 'x' } }",
      "f:9:65: behavior.framing: expected exactly one of 'delimiter', 'fixed' and 'frame'"
    ),
    (
      "{ type: 'script', rules: [{ request: 'a' }], framing: { delimiter: '' } }",
      "f:9:78: behavior.framing.delimiter: an empty delimiter cannot end a request"
    ),
    (
      "{ type: 'script', rules: [{ request: 'a' }], framing: { fixed: 0 } }",
      "f:9:74: behavior.framing.fixed: expected a whole number from 1 to 65536, found number 0"
    ),
  ])
  func ofTheBehavior(behavior: String, complaint: String) {
    #expect(complaints(document("behavior: \(behavior)")) == [complaint])
  }

  @Test func ofAProtocolsOwnBehavior() {
    #expect(
      complaints(document(protocols: "[{ name: 'a.b', behavior: 'eco' }]")) == [
        "f:5:27: accessory.protocols[0].behavior: unknown behavior 'eco', did you mean 'echo'?"
      ])
  }
}
