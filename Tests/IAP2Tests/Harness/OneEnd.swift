import IAP2

/// A single peer. The test plays the other peer with bytes written by hand.
///
/// ```swift
/// var end = OneEnd(AccessoryPeer(identification: .example))
/// end.start()                              // ["ff550200ee10"]
/// end.receives(Sheet.detection)               // the packets it answers with
/// end.passes(1_000)                        // "1000 …" for each packet sent in that time
/// ```
struct OneEnd<Role: PeerRole>: ~Copyable {
  var peer: Peer<Role>
  var now = Instant(nanoseconds: 0)
  private var events: [PeerEvent] = []

  init(_ peer: consuming Peer<Role>) {
    self.peer = peer
  }

  @discardableResult mutating func start() -> [String] {
    peer.core.start(now: now)
    return says()
  }

  @discardableResult mutating func receives(_ hex: String...) -> [String] {
    receives(bytes: hex.flatMap(Sheet.unhex))
  }

  @discardableResult mutating func receives(bytes: [UInt8]) -> [String] {
    peer.receive(bytes.span.bytes, now: now)
    return says()
  }

  @discardableResult mutating func says() -> [String] {
    var packets: [String] = []
    for _ in 0..<100_000 {
      while let event = peer.core.nextEvent() { events.append(event) }
      var bytes: [UInt8] = []
      guard peer.core.nextTransmit(into: &bytes, now: now) else { return packets }
      packets.append(Sheet.hex(bytes))
    }
    fatalError("the peer never falls silent")
  }

  /// Advances time and calls the peer at each of its deadlines. Returns the packets that the peer sent, each with its
  /// time in milliseconds.
  @discardableResult mutating func passes(_ milliseconds: Int64) -> [String] {
    let end = Instant(nanoseconds: now.nanoseconds + milliseconds * 1_000_000)
    var packets: [String] = []
    var calls = 0
    while let due = peer.core.deadline, due <= end {
      calls += 1
      precondition(calls < 100_000, "a deadline that its own timeout does not clear")
      now = max(now, due)
      peer.handleTimeout(now: now)
      packets += says().map { "\(now.nanoseconds / 1_000_000) \($0)" }
    }
    now = end
    return packets
  }

  mutating func told() -> [PeerEvent] {
    while let event = peer.core.nextEvent() { events.append(event) }
    defer { events = [] }
    return events
  }

  mutating func writes(_ bytes: [UInt8], to session: UInt16) -> Int {
    peer.core.write(bytes.span.bytes, to: session)
  }

  mutating func reads(_ session: UInt16) -> [UInt8] {
    var inbox: [UInt8] = []
    peer.core.takeInbox(session, &inbox)
    peer.core.consume(inbox.count, of: session)
    return inbox
  }
}

extension PeerEvent {
  var agreement: LinkAgreement? { if case .linkUp(let agreement) = self { agreement } else { nil } }
  var linkEnd: LinkEnd? { if case .linkDown(let end) = self { end } else { nil } }
  var adjustments: [LinkParameters.ValueOutOfRange]? {
    if case .synchronizationAdjusted(let values) = self { values } else { nil }
  }
}

extension LinkEnd {
  var unusable: LinkParametersError? { if case .unusable(let error) = self { error } else { nil } }
}

extension OneEnd where Role == AccessoryRole {
  static func detected(_ change: (inout LinkSettings) -> Void = { _ in }) -> OneEnd {
    var settings = LinkSettings()
    change(&settings)
    var end = OneEnd(AccessoryPeer(identification: .example, settings: settings))
    end.start()
    end.receives(Sheet.detection)
    return end
  }

  /// Creates an accessory whose link is up. The accessory's sequence numbers begin at `initialSequence`, and the
  /// device's begin at `device`.
  static func accessory(
    device: UInt8 = 0x40, answer: String? = nil, _ change: (inout LinkSettings) -> Void = { _ in }
  ) -> OneEnd {
    var settings = LinkSettings()
    change(&settings)
    var end = OneEnd.detected { $0 = settings }
    let offered = Sheet.hex(settings.parameters.encoded)
    end.receives(
      Sheet.packet(Sheet.syn | Sheet.ack, device, settings.initialSequence, answer ?? "017fffff" + offered.dropFirst(8))
    )
    _ = end.told()
    return end
  }

  /// Opens session `id` for protocol 1 on the device's behalf, in a packet with the number `sequence`. Then accepts the
  /// session.
  mutating func opens(_ id: UInt16, sequence: UInt8, reportingStatus: Bool = false) {
    receives(Sheet.packet(Sheet.ack, sequence, 0, session: 1, Sheet.startSession(protocolID: 1, session: id)))
    peer.acceptSession(id, reportingStatus: reportingStatus)
    says()
    _ = told()
  }
}

extension OneEnd where Role == DeviceRole {
  static func listening(_ change: (inout DevicePeer.Settings) -> Void = { _ in }) -> OneEnd {
    var settings = DevicePeer.Settings()
    change(&settings)
    var end = OneEnd(DevicePeer(settings: settings))
    end.start()
    return end
  }

  /// Creates a device whose link is up and that has sent its first request. The accessory's sequence numbers begin at
  /// `accessory`.
  static func device(
    accessory: UInt8 = 0, offer: String = Sheet.parameters(),
    _ change: (inout DevicePeer.Settings) -> Void = { _ in }
  ) -> OneEnd {
    var settings = DevicePeer.Settings()
    change(&settings)
    var end = OneEnd.listening { $0 = settings }
    end.receives(Sheet.detection)
    end.receives(Sheet.packet(Sheet.syn, accessory, 0, offer))
    end.receives(Sheet.packet(Sheet.ack, accessory, settings.link.initialSequence))
    return end
  }

  /// Creates a device that has identified and authenticated its accessory. The accessory's next sequence number is 4.
  /// The device's packets up to 5 (AA00, AA02, AA05, 1D00, 1D02 after a SYN numbered 0) have been acknowledged.
  static func readyDevice(
    identification: String = Sheet.identification, offer: String = Sheet.parameters(),
    _ change: (inout DevicePeer.Settings) -> Void = { _ in }
  ) -> OneEnd {
    var end = device(offer: offer, change)
    end.receives(Sheet.packet(Sheet.ack, 1, 1, session: 1, Sheet.message(0xAA01, Sheet.parameter(0, "ce"))))
    end.peer.challenge([0x42], now: end.now)
    end.says()
    end.receives(Sheet.packet(Sheet.ack, 2, 2, session: 1, Sheet.message(0xAA03, Sheet.parameter(0, "42"))))
    end.peer.concludeAuthentication(accepted: true, now: end.now)
    end.says()
    end.receives(Sheet.packet(Sheet.ack, 3, 4, session: 1, Sheet.message(0x1D01, identification)))
    end.receives(Sheet.packet(Sheet.ack, 3, 5))
    _ = end.told()
    return end
  }
}

extension Sheet {
  static func startSession(protocolID: UInt8, session: UInt16) -> String {
    message(0xEA00, parameter(0, hex([protocolID])) + parameter(1, hex([UInt8(session / 256), UInt8(session % 256)])))
  }

  static func stopSession(_ session: UInt16) -> String {
    message(0xEA01, parameter(0, hex([UInt8(session / 256), UInt8(session % 256)])))
  }

  static func status(_ session: UInt16, _ status: UInt8) -> String {
    message(
      0xEA03, parameter(0, hex([UInt8(session / 256), UInt8(session % 256)])) + parameter(1, hex([status])))
  }

  /// The parameters of a valid 1D01 with one protocol, number 1: `com.example.echo`.
  static let identification =
    parameter(0, text("Example")) + parameter(1, text("E1")) + parameter(2, text("Nobody"))
    + parameter(3, text("0001")) + parameter(4, text("1")) + parameter(5, text("1")) + parameter(6, "ea03")
    + parameter(7, "ea00ea01") + parameter(8, "00") + parameter(9, "0000")
    + parameter(10, parameter(0, "01") + parameter(1, text("com.example.echo")) + parameter(2, "01"))
    + parameter(12, text("en")) + parameter(13, text("en"))
    + parameter(16, parameter(0, "0000") + parameter(1, text("USB")) + parameter(2))
}
