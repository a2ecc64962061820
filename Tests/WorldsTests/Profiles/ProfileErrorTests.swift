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
    ("dockType: 'a\\0'", "f:7:11: accessory.dockType: a NUL would end the text on the wire"),
    (
      "dockType: '\(String(repeating: "é", count: 256))'",
      "f:7:11: accessory.dockType: a text has at most 255 characters, but this one has 256"
    ),
    (
      "dockType: '{index:4}'",
      "f:7:11: accessory.dockType: '{index:4}' is not a template: write '{index}', '{index:04}' or '{index:04x}'"
    ),
  ])
  func ofTheIdentity(key: String, complaint: String) {
    #expect(complaints(document(accessory: key)) == [complaint])
  }

  @Test(arguments: [
    (
      "[{ name: 'com..echo' }]",
      "f:5:10: accessory.protocols[0].name: 'com..echo' is not a protocol name: expected reverse DNS, such as "
        + "'com.example.echo'"
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
    func protocols(_ count: Int) -> String { "\((0..<count).map { "a.p\($0)" })" }
    #expect(complaints(document(protocols: protocols(256))).isEmpty)
    #expect(
      complaints(document(protocols: protocols(257))) == [
        "f:5:1: accessory.protocols: expected a list of at most 256 elements, found 257"
      ])
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
      "transports: [{ kind: 'serial', mac: '02:00:5E:10:00:01' }]",
      "f:9:37: transports[0].mac: only a bluetooth transport has an address"
    ),
    (
      "transports: [{ kind: 'serial', id: 3 }, { kind: 'usbHost', id: 3 }]",
      "f:9:64: transports[1].id: two transports have the id 3"
    ),
  ])
  func ofTheOtherSections(section: String, complaint: String) {
    #expect(complaints(document(section)) == [complaint])
  }

  @Test(arguments: [
    ("{ type: 'echo', check: true }", "f:9:27: 'echo' has no 'check': it belongs to 'sink'"),
    (
      "{ type: 'exec', command: 'a', environment: ['A', '1=2'] }",
      "f:9:60: behavior.environment[1]: '1=2' is not a variable: expected NAME or NAME=VALUE"
    ),
    ("{ type: 'exec', command: '' }", "f:9:36: behavior.command: the command is empty"),
    (
      "{ type: 'script', rules: [{ request: 'a' }], framing: { delimiter: '' } }",
      "f:9:78: behavior.framing.delimiter: an empty delimiter cannot end a request"
    ),
  ])
  func ofTheBehavior(behavior: String, complaint: String) {
    #expect(complaints(document("behavior: \(behavior)")) == [complaint])
  }
}
