import IAP2

/// Two peers that are connected directly. Each peer immediately receives what the other sends, and time jumps to the
/// next deadline. Every packet is recorded as seen on the wire.
struct Wire: ~Copyable {
  var accessory: AccessoryPeer
  var device: DevicePeer
  var now = Instant(nanoseconds: 0)
  /// One line per packet: "A SYN …" from the accessory, "D …" from the device.
  var lines: [String] = []
  /// Whether to keep the packets themselves in ``toDevice`` and ``toAccessory``.
  var keepsBytes = false
  var toDevice: [[UInt8]] = []
  var toAccessory: [[UInt8]] = []
  var accessoryEvents: [PeerEvent] = []
  var deviceEvents: [PeerEvent] = []
  /// The accessory uses these values to authenticate. The values are as long as those of a real coprocessor.
  var certificate = [UInt8](repeating: 0xCE, count: 607)
  private var narrator = PacketNarrator()

  init(
    identification: Identification = .example, accessory: LinkSettings = LinkSettings(),
    device: DevicePeer.Settings = DevicePeer.Settings()
  ) {
    self.accessory = AccessoryPeer(identification: identification, settings: accessory)
    self.device = DevicePeer(settings: device)
  }

  mutating func start() {
    device.core.start(now: now)
    accessory.core.start(now: now)
    settle()
  }

  mutating func settle() {
    for _ in 0..<10_000 {
      drainEvents()
      var bytes: [UInt8] = []
      if accessory.core.nextTransmit(into: &bytes, now: now) {
        record("A", bytes)
        device.receive(bytes.span.bytes, now: now)
      } else if device.core.nextTransmit(into: &bytes, now: now) {
        record("D", bytes)
        accessory.receive(bytes.span.bytes, now: now)
      } else {
        return
      }
    }
    fatalError("the peers never fall silent")
  }

  /// Jumps to the next deadline and handles everything that is due. Returns false if neither peer has a deadline.
  mutating func step() -> Bool {
    let next = [accessory.core.deadline, device.core.deadline].compactMap { $0 }.min()
    guard let next else { return false }
    now = max(now, next)
    if let due = accessory.core.deadline, due <= now { accessory.handleTimeout(now: now) }
    if let due = device.core.deadline, due <= now { device.handleTimeout(now: now) }
    settle()
    return true
  }

  private mutating func drainEvents() {
    while let event = accessory.core.nextEvent() {
      accessoryEvents.append(event)
      switch event {
      case .certificateRequested: accessory.provideCertificate(certificate)
      case .challenged(let challenge): accessory.provideResponse(challenge + challenge)
      case .sessionRequested(let id, _): accessory.acceptSession(id, reportingStatus: true)
      default: break
      }
    }
    while let event = device.core.nextEvent() {
      deviceEvents.append(event)
      switch event {
      case .certificateReceived: device.challenge([UInt8](repeating: 0x42, count: 32), now: now)
      case .responseReceived(let response): device.concludeAuthentication(accepted: response.count == 64, now: now)
      default: break
      }
    }
  }

  private mutating func record(_ side: String, _ bytes: [UInt8]) {
    if keepsBytes, side == "A" { toDevice.append(bytes) }
    if keepsBytes, side == "D" { toAccessory.append(bytes) }
    var scanner = PacketScanner()
    var offset = 0
    while let piece = scanner.next(in: bytes.span.bytes, at: &offset) {
      switch piece {
      case .packet(let header, .input(let range)):
        lines.append("\(side) \(narrator.line(for: header, packet: bytes.span.bytes.extracting(range)))")
      case .detection: lines.append("\(side) DETECT")
      case .legacy: lines.append("\(side) IAP1 \(Hex.spaced(bytes))")
      default: lines.append("\(side) ? \(piece)")
      }
    }
  }
}

extension Identification {
  static var example: Identification {
    var it = Identification()
    it.name = "Example"
    it.model = "E1"
    it.manufacturer = "Nobody"
    it.serialNumber = "0001"
    it.firmwareVersion = "1"
    it.hardwareVersion = "1"
    it.messagesSent = [.externalAccessorySessionStatus]
    it.messagesReceived = [.startExternalAccessorySession, .stopExternalAccessorySession]
    it.protocols = [ExternalAccessoryProtocol(id: 1, name: "com.example.echo")]
    it.transports = [TransportComponent(kind: .usbHost, id: 0, name: "USB")]
    return it
  }
}
