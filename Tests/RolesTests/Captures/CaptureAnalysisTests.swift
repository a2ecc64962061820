import AccessoryCables
import IAP2
import Testing

@testable import AccessoryCaptures

@Suite struct CaptureAnalysisTests {
  private static func packet(
    _ control: ControlBits, seq: UInt8, ack: UInt8, session: UInt8 = 0, _ payload: [UInt8] = []
  ) -> [UInt8] {
    var bytes: [UInt8] = []
    let header = PacketHeader(
      control: control, sequence: seq, acknowledgement: ack, session: session, payloadCount: payload.count)
    PacketWriter.append(header, payload: payload.span.bytes, to: &bytes)
    return bytes
  }

  /// Returns a capture of packets on one cable, one millisecond apart. `true` marks packets that the accessory sent.
  private static func file(_ packets: [(Bool, [UInt8])]) -> [UInt8] {
    var writer = PcapngWriter(program: "tests")
    var bytes = writer.begin() + writer.interface(named: "a", description: "", .iap2)
    for (index, packet) in packets.enumerated() {
      bytes += writer.packet(
        packet.1.span.bytes, on: 0, at: Int64(index) * 1_000_000, from: packet.0 ? .accessory : .device)
    }
    return bytes
  }

  private static func analyze(_ packets: [(Bool, [UInt8])]) throws -> (CaptureAnalysis, [CaptureAnalysis.Event]) {
    var analysis = CaptureAnalysis()
    var events: [CaptureAnalysis.Event] = []
    for entry in try DecodedCapture(file(packets)).entries { events += analysis.add(entry) }
    return (analysis, events + analysis.finish())
  }

  private static let parameters: [UInt8] = [1, 3, 0, 64, 0x13, 0x88, 0, 0xFF, 30, 3, 1, 0, 1, 2, 2, 1]
  private static let beginning: [(Bool, [UInt8])] = [
    (true, packet(.syn, seq: 10, ack: 0, parameters)),
    (false, packet([.syn, .ack], seq: 50, ack: 10, parameters)),
    (true, packet(.ack, seq: 10, ack: 50)),
  ]
  /// The message StartExternalAccessoryProtocolSession, for protocol 1 and session 7.
  private static let start: [UInt8] = [
    0x40, 0x40, 0, 17, 0xEA, 0, 0, 5, 0, 0, 1, 0, 6, 0, 1, 0, 7,
  ]

  private static func sessionBytes(_ events: [CaptureAnalysis.Event]) -> [UInt8] {
    events.flatMap { event -> [UInt8] in if case .session(let found) = event { found.bytes } else { [] } }
  }

  private static func findings(_ events: [CaptureAnalysis.Event]) -> [String] {
    events.compactMap { if case .finding(let text) = $0 { text } else { nil } }
  }

  @Test func eachByteOfASessionComesOnceAndInOrder() throws {
    var packets = Self.beginning
    packets.append((false, Self.packet(.ack, seq: 51, ack: 10, session: 1, Self.start)))
    packets.append((true, Self.packet(.ack, seq: 12, ack: 51, session: 2, [0, 7, 3, 4])))
    packets.append((true, Self.packet(.ack, seq: 11, ack: 51, session: 2, [0, 7, 1, 2])))
    packets.append((true, Self.packet(.ack, seq: 12, ack: 51, session: 2, [0, 7, 3, 4])))
    packets.append((false, Self.packet(.ack, seq: 51, ack: 12)))
    let (analysis, events) = try Self.analyze(packets)
    #expect(Self.sessionBytes(events) == [1, 2, 3, 4])
    #expect(Self.findings(events) == [])
    let accessory = try #require(analysis.statistics.first)
    #expect(accessory.from == "A")
    #expect(accessory.packets == 5)
    #expect(accessory.sessionBytes == 4)
    #expect(accessory.retransmissions == 1)
    #expect(accessory.missing == 0)
    // Packet 11 was acknowledged after two milliseconds. Packet 12 was sent twice, so its round trip time is unknown.
    #expect(accessory.roundTrips.count == 1)
    #expect(accessory.roundTrips.longest == .milliseconds(2))
  }

  @Test func brokenRulesAreToldWithTheirPacket() throws {
    var packets = Self.beginning
    packets.append((true, Self.packet(.ack, seq: 11, ack: 50, session: 2, [0, 7, 1])))
    packets.append((true, Self.packet(.ack, seq: 12, ack: 60, session: 1, Self.start)))
    packets.append((true, Self.packet(.ack, seq: 13, ack: 50, session: 2, [0, 7] + [UInt8](repeating: 0, count: 60))))
    packets.append((true, Self.packet(.ack, seq: 16, ack: 50, session: 2, [0, 7, 1])))
    let findings = Self.findings(try Self.analyze(packets).1)
    func expect(_ text: String) { #expect(findings.contains { $0.contains(text) }, "\(text) in \(findings)") }
    expect("A: 1 byte of session 7, which is not open")
    expect("A: an acknowledgement of packet 60, which had not been sent: 0.004000 A DATA seq=12 ack=60")
    expect("A: a message that only the other end may send")
    expect("A: a packet of 72 bytes, although the other end accepts at most 64")
    expect("4 unacknowledged packets, although the other end accepts 3")
    expect("A: 2 packets are missing before number 16 on cable 1")
  }

  @Test func aCaptureThatBeginsInTheMiddleBreaksNoRule() throws {
    let packets: [(Bool, [UInt8])] = [
      (true, Self.packet(.ack, seq: 200, ack: 3)), (true, Self.packet(.ack, seq: 201, ack: 3, session: 2, [0, 7, 1])),
      (false, Self.packet(.ack, seq: 3, ack: 201)),
    ]
    #expect(Self.findings(try Self.analyze(packets).1) == [])
  }

  /// The SYN requests zero retransmissions. A link changes this value to one, so the SYN's session table still counts.
  @Test func aSynWithAValueOutOfRangeTellsItsSessions() throws {
    var offer = Self.parameters
    offer[8] = 0
    var packets = Self.beginning
    packets[0].1 = Self.packet(.syn, seq: 10, ack: 0, offer)
    packets[1].1 = Self.packet([.syn, .ack], seq: 50, ack: 10, offer)
    packets.append((false, Self.packet(.ack, seq: 51, ack: 10, session: 1, Self.start)))
    packets.append((true, Self.packet(.ack, seq: 11, ack: 51, session: 2, [0, 7, 1, 2])))
    let (analysis, events) = try Self.analyze(packets)
    #expect(Self.sessionBytes(events) == [1, 2])
    #expect(analysis.statistics.first?.sessionBytes == 2)
    let findings = Self.findings(events)
    #expect(findings.count == 2, "\(findings)")
    #expect(
      findings.allSatisfy {
        $0.contains("a SYN with values outside their ranges")
          && $0.hasSuffix("sessions=1:control,2:accessory; maximum retransmissions is 0; it must be 1 to 30")
      }, "\(findings)")
  }

  @Test func aSynThatNoLinkCanUseChangesNothing() throws {
    var packets = Self.beginning
    packets.append((false, Self.packet(.ack, seq: 51, ack: 10, session: 1, Self.start)))
    // The session table lists session 2 as a control session, and lacks one byte.
    packets.append((true, Self.packet(.syn, seq: 99, ack: 51, Array(Self.parameters.prefix(10)) + [2, 0, 1, 1, 0])))
    packets.append((true, Self.packet(.ack, seq: 11, ack: 51, session: 2, [0, 7, 1, 2])))
    let events = try Self.analyze(packets).1
    #expect(Self.sessionBytes(events) == [1, 2])
    let findings = Self.findings(events)
    #expect(findings.count == 1, "\(findings)")
    #expect(findings.first?.contains("A: a SYN that cannot be used") == true, "\(findings)")
  }
}
