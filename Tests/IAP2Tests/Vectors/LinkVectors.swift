import IAP2
import Testing

/// Captured and computed packets. Each packet is listed with its meaning and, if easim could send the packet, its
/// payload.
struct LinkVector: Sendable, CustomTestStringConvertible {
  let number: String
  let bytes: [UInt8]
  let line: String
  /// The header's fields, decoded by hand from the hex text.
  let header: PacketHeader
  /// The payload as easim's encoders produce it, or nil if easim never sends the packet.
  let encoded: [UInt8]?

  var testDescription: String { number }

  init(
    _ number: String, _ hex: String, _ line: String, _ control: ControlBits, _ sequence: UInt8,
    _ acknowledgement: UInt8, session: UInt8 = 0, payloadCount: Int = 0, encoded: [UInt8]? = []
  ) {
    self.number = number
    bytes = Sheet.unhex(hex)
    self.line = line
    header = PacketHeader(
      control: control, sequence: sequence, acknowledgement: acknowledgement, session: session,
      payloadCount: payloadCount)
    self.encoded = encoded
  }

  /// Creates a vector for a SYN, with or without ACK. The parameters are the meaning of the SYN, and easim's encoder
  /// must produce the SYN's bytes from them.
  init(
    synchronization number: String, _ hex: String, _ control: ControlBits, _ sequence: UInt8,
    _ acknowledgement: UInt8, _ parameters: LinkParameters, _ shown: String
  ) {
    let name = control.contains(.ack) ? "SYN+ACK" : "SYN"
    self.init(
      number, hex, "\(name) seq=\(sequence) ack=\(acknowledgement) \(shown)", control, sequence, acknowledgement,
      payloadCount: 10 + 3 * parameters.sessions.count, encoded: parameters.encoded)
  }
}

extension LinkVector {
  private static func sessions(_ entries: (UInt8, LinkSession.Kind, UInt8)...) -> [LinkSession] {
    entries.map { LinkSession(id: $0.0, kind: $0.1, version: $0.2) }
  }

  private static func parameters(
    _ window: UInt8, _ length: UInt16, _ timeout: UInt16, _ hold: UInt16, _ repeats: UInt8, _ acks: UInt8,
    _ sessions: [LinkSession]
  ) -> LinkParameters {
    LinkParameters(
      maximumOutstandingPackets: window, maximumPacketLength: length, retransmissionTimeout: timeout,
      cumulativeAcknowledgementTimeout: hold, maximumRetransmissions: repeats,
      maximumCumulativeAcknowledgements: acks, sessions: sessions)
  }

  static let synchronizations = [
    LinkVector(
      synchronization: "V04 FLIR SYN", "ff5a001a8074000099017fffff07d000321e0101000102020153", .syn, 0x74, 0,
      parameters(127, 65_535, 2_000, 50, 30, 1, sessions((1, .control, 1), (2, .externalAccessory, 1))),
      "window=127 length=65535 timeout=2000 hold=50 repeats=30 acks=1 sessions=1:control,2:accessory"),
    LinkVector(
      synchronization: "V05 BOYA SYN", "ff5a001a80011000fc01050400138800ff1e0301000102020134", .syn, 1, 0x10,
      parameters(5, 1_024, 5_000, 255, 30, 3, sessions((1, .control, 1), (2, .externalAccessory, 1))),
      "window=5 length=1024 timeout=5000 hold=255 repeats=30 acks=3 sessions=1:control,2:accessory"),
    LinkVector(
      synchronization: "V06 SYN|ACK to BOYA", "ff5a001ac04001008c01050400138800ff1e0301000102020134", [.syn, .ack],
      0x40, 1, parameters(5, 1_024, 5_000, 255, 30, 3, sessions((1, .control, 1), (2, .externalAccessory, 1))),
      "window=5 length=1024 timeout=5000 hold=255 repeats=30 acks=3 sessions=1:control,2:accessory"),
    LinkVector(
      synchronization: "V10 Canon Ivy SYN", "ff5a001a802b0000e2010503ef05dc104903030a00010b0201af", .syn, 0x2B, 0,
      parameters(5, 1_007, 1_500, 4_169, 3, 3, sessions((10, .control, 1), (11, .externalAccessory, 1))),
      "window=5 length=1007 timeout=1500 hold=4169 repeats=3 acks=3 sessions=10:control,11:accessory"),
    LinkVector(
      synchronization: "V11 CarPlay adapter SYN", "ff5a001a800000000d0120100007d007d01e06010001020101f7", .syn, 0, 0,
      parameters(32, 4_096, 2_000, 2_000, 30, 6, sessions((1, .control, 1), (2, .fileTransfer, 1))),
      "window=32 length=4096 timeout=2000 hold=2000 repeats=30 acks=6 sessions=1:control,2:file"),
    LinkVector(
      synchronization: "V12 iPhone-style SYN|ACK", "ff5a0017c06c19004b017fffff05dc00491e0301000135", [.syn, .ack],
      0x6C, 0x19, parameters(127, 65_535, 1_500, 73, 30, 3, sessions((1, .control, 1))),
      "window=127 length=65535 timeout=1500 hold=73 repeats=30 acks=3 sessions=1:control"),
    LinkVector(
      synchronization: "V13 SYN with control session version 2",
      "ff5a001a80d90000340105080005dc00fa1e03010002020101ef", .syn, 0xD9, 0,
      parameters(5, 2_048, 1_500, 250, 30, 3, sessions((1, .control, 2), (2, .fileTransfer, 1))),
      "window=5 length=2048 timeout=1500 hold=250 repeats=30 acks=3 sessions=1:control/2,2:file"),
    LinkVector(
      synchronization: "V14 vendor USB SYN", "ff5a001a802b0000e2010402000bb80bb8030301000102020166", .syn, 0x2B, 0,
      parameters(4, 512, 3_000, 3_000, 3, 3, sessions((1, .control, 1), (2, .externalAccessory, 1))),
      "window=4 length=512 timeout=3000 hold=3000 repeats=3 acks=3 sessions=1:control,2:accessory"),
    LinkVector(
      synchronization: "V16 three-session SYN", "ff5a001d80630000a7011effff0fa001f404030a00010b02010c010210", .syn,
      0x63, 0,
      parameters(
        30, 65_535, 4_000, 500, 4, 3,
        sessions((10, .control, 1), (11, .externalAccessory, 1), (12, .fileTransfer, 2))),
      "window=30 length=65535 timeout=4000 hold=500 repeats=4 acks=3 sessions=10:control,11:accessory,12:file/2"),
    LinkVector(
      synchronization: "D7 zero-ack SYN|ACK", "ff5a001ac01063005a0120ffff000000000000010001020101db", [.syn, .ack],
      0x10, 0x63, parameters(32, 65_535, 0, 0, 0, 0, sessions((1, .control, 1), (2, .fileTransfer, 1))),
      "window=32 length=65535 timeout=0 hold=0 repeats=0 acks=0 sessions=1:control,2:file"),
  ]

  static let others = [
    LinkVector("V07 BOYA bare ACK", "ff5a0009400140001d", "ACK seq=1 ack=64", .ack, 1, 0x40),
    LinkVector(
      "V08 StartIdentification to BOYA", "ff5a00104041010114404000061d005d",
      "DATA seq=65 ack=1 session=1 1D00 StartIdentification", .ack, 0x41, 1, session: 1, payloadCount: 6,
      encoded: ControlMessage(.startIdentification).encoded),
    LinkVector(
      "V09 EA00 to BOYA", "ff5a001b404304010440400011ea0000050000b1000600010001c7",
      "DATA seq=67 ack=4 session=1 EA00 StartExternalAccessoryProtocolSession protocol=177 session=1", .ack, 0x43, 4,
      session: 1, payloadCount: 17,
      encoded: ControlMessage(.startExternalAccessorySession) {
        $0.u8(0, 0xB1)
        $0.u16(1, 1)
      }.encoded),
    LinkVector("V15 bare ACK", "ff5a000940630500f6", "ACK seq=99 ack=5", .ack, 0x63, 5),
    LinkVector("V18 header only", "ff5a0009400706024f", "ACK seq=7 ack=6", .ack, 7, 6, session: 2),
    LinkVector(
      "V19 AA00 to a robot mower", "ff5a0010404d00010940400006aa00d0",
      "DATA seq=77 ack=0 session=1 AA00 RequestAuthenticationCertificate", .ack, 0x4D, 0, session: 1,
      payloadCount: 6, encoded: ControlMessage(.requestAuthenticationCertificate).encoded),
    LinkVector("V20 bare ACK, mower", "ff5a0009408c83004f", "ACK seq=140 ack=131", .ack, 0x8C, 0x83),
    LinkVector(
      "D1 EA data hello", "ff5a0011400545020a000168656c6c6feb",
      "DATA seq=5 ack=69 session=2 7 bytes 00 01 68 65 6c 6c 6f", .ack, 5, 0x45, session: 2, payloadCount: 7,
      encoded: [0, 1] + Array("hello".utf8)),
    LinkVector(
      "D2 EAK listing 47 48", "ff5a000c60054500f1474871", "ACK+EAK seq=5 ack=69 list=71,72", [.eak, .ack], 5, 0x45,
      payloadCount: 2, encoded: [0x47, 0x48]),
    LinkVector("D3 RST", "ff5a00091046050043", "RST seq=70 ack=5", .rst, 0x46, 5),
    LinkVector("D4 SLP", "ff5a0009084605004b", "SLP seq=70 ack=5", .slp, 0x46, 5),
    LinkVector(
      "D5 EA03 OK", "ff5a001b400645010040400011ea03000600000001000500010075",
      "DATA seq=6 ack=69 session=1 EA03 StatusExternalAccessoryProtocolSession session=1 status=0", .ack, 6, 0x45,
      session: 1, payloadCount: 17,
      encoded: ControlMessage(.externalAccessorySessionStatus) {
        $0.u16(0, 1)
        $0.u8(1, 0)
      }.encoded),
    LinkVector(
      "D6 EA01", "ff5a001640460601044040000cea0100060000000182",
      "DATA seq=70 ack=6 session=1 EA01 StopExternalAccessoryProtocolSession session=1", .ack, 0x46, 6, session: 1,
      payloadCount: 12, encoded: ControlMessage(.stopExternalAccessorySession) { $0.u16(0, 1) }.encoded),
  ]
}
