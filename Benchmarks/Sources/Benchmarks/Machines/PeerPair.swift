import IAP2

/// Both peers, directly connected. They are ready and have one open session, and time stands still.
///
/// One reused buffer passes packets between them, so that only the state machines are measured.
struct PeerPair: ~Copyable {
  var accessory: AccessoryPeer
  var device: DevicePeer
  /// The identifier of the open session.
  private(set) var session: UInt16 = 0
  let now = Instant(nanoseconds: 0)
  /// The bytes in transit between the peers.
  private var wire: [UInt8] = []
  private var inbox: [UInt8] = []

  /// Creates peers that announce packets of up to `maximumPacket` bytes.
  init(maximumPacket: UInt16) throws(MeasuringError) {
    let parameters = LinkParameters.echo(maximumPacket)
    accessory = AccessoryPeer(identification: .echo, settings: LinkSettings(parameters: parameters))
    var settings = DevicePeer.Settings()
    settings.link = LinkSettings(parameters: parameters)
    device = DevicePeer(settings: settings)
    device.core.start(now: now)
    accessory.core.start(now: now)
    settle()
    guard case .link(let id) = device.openSession(protocolNamed: EchoAccessory.protocolName, now: now) else {
      throw .failed("the accessory did not get ready")
    }
    session = id
    settle()
    guard accessory.core.isOpen(id) else { throw .failed("the session did not open") }
  }

  /// Exchanges packets until both are quiet.
  mutating func settle() {
    repeat {
      drainAccessory()
      drainDevice()
    } while sendFromAccessory() || sendFromDevice()
  }

  /// Sends `bytes` from the device to the accessory's reader, including acknowledgements. Returns how many arrived.
  mutating func carry(_ bytes: [UInt8]) -> Int {
    var sent = 0
    var arrived = 0
    while sent < bytes.count {
      sent += device.core.write(bytes.span.bytes.extracting(sent..<bytes.count), to: session)
      while sendFromDevice() {}
      while let event = accessory.core.nextEvent() {
        if case .sessionReadable(session) = event { arrived += read() }
      }
      while sendFromAccessory() {}
      drainDevice()
    }
    return arrived
  }

  /// Reads the bytes that have arrived at the accessory. Returns their number.
  private mutating func read() -> Int {
    inbox.removeAll(keepingCapacity: true)
    accessory.core.takeInbox(session, &inbox)
    accessory.core.consume(inbox.count, of: session)
    return inbox.count
  }

  /// Passes everything that the device has to send on to the accessory. Returns true if there was anything to send.
  mutating func sendFromDevice() -> Bool {
    // The buffer is moved into a local variable, because a span of the property would borrow the whole pair.
    var bytes: [UInt8] = []
    swap(&bytes, &wire)
    defer { swap(&bytes, &wire) }
    bytes.removeAll(keepingCapacity: true)
    while bytes.count < 64 * 1024, device.core.nextTransmit(into: &bytes, now: now) {}
    if bytes.isEmpty { return false }
    accessory.receive(bytes.span.bytes, now: now)
    return true
  }

  /// Passes everything that the accessory has to send on to the device. Returns true if there was anything to send.
  mutating func sendFromAccessory() -> Bool {
    // The buffer is moved into a local variable, because a span of the property would borrow the whole pair.
    var bytes: [UInt8] = []
    swap(&bytes, &wire)
    defer { swap(&bytes, &wire) }
    bytes.removeAll(keepingCapacity: true)
    while bytes.count < 64 * 1024, accessory.core.nextTransmit(into: &bytes, now: now) {}
    if bytes.isEmpty { return false }
    device.receive(bytes.span.bytes, now: now)
    return true
  }

  /// Drops the accessory's events, after reading the bytes that they announce.
  mutating func drainAccessory() {
    while let event = accessory.core.nextEvent() {
      switch event {
      case .certificateRequested: accessory.provideCertificate([UInt8](repeating: 0xCE, count: 607))
      case .challenged: accessory.provideResponse([UInt8](repeating: 0x5A, count: 64))
      case .sessionRequested(let id, _): accessory.acceptSession(id, reportingStatus: false)
      case .sessionReadable: _ = read()
      default: break
      }
    }
  }

  private mutating func drainDevice() {
    while let event = device.core.nextEvent() {
      switch event {
      case .certificateReceived: device.challenge([UInt8](repeating: 0x42, count: 32), now: now)
      case .responseReceived: device.concludeAuthentication(accepted: true, now: now)
      default: break
      }
    }
  }
}
