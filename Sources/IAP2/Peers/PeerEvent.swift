/// The events of a peer, which the owner fetches with ``PeerCore/nextEvent()`` after each call.
///
/// Large and rare cases are indirect: an event is fetched after every read, so it should be cheap to move.
public enum PeerEvent: Equatable, Sendable {
  // MARK: Both roles

  /// The link is up, with this agreement.
  indirect case linkUp(LinkAgreement)
  /// The link is down. The end of each session has already been reported.
  indirect case linkDown(LinkEnd)
  /// The other end's SYN contains out-of-range values; the nearest allowed ones are used.
  indirect case synchronizationAdjusted([LinkParameters.ValueOutOfRange])
  /// Bytes that belong to no packet were skipped.
  case skipped(SkippedBytes)
  /// The other end sent invalid data; the text contains the bytes. The link continues.
  case malformed(String)
  /// An iAP1 frame arrived at a point where it has no meaning.
  case legacyFrame([UInt8])
  /// The accessory sent RST or SLP, which only a device may send. The link continues.
  case strayEnd(LinkEnd)
  /// A control message, before its consequences; reported only if ``PeerCore/tellsMessages`` is set.
  indirect case passed(PassedMessage)
  /// A control message that the peer does not handle.
  case message(ControlMessage)
  /// A packet of a file transfer: acknowledged, not interpreted.
  case fileTransfer([UInt8])
  /// This many bytes arrived for a session that is not open; they were dropped.
  case strayData(session: UInt16, bytes: Int)
  /// Bytes arrived for a session whose reader had read everything.
  case sessionReadable(UInt16)
  /// A session has room again after a partial write.
  case sessionWritable(UInt16)
  /// A session has ended.
  indirect case sessionEnded(UInt16, SessionEnd)
  /// The accessory is authenticated.
  case authenticationSucceeded
  /// The accessory is not authenticated.
  case authenticationFailed

  // MARK: The accessory's

  /// The device requests the certificate: answer with `AccessoryPeer.provideCertificate(_:)`, or never.
  case certificateRequested
  /// The device sent a challenge: answer with `AccessoryPeer.provideResponse(_:)`, or never.
  case challenged([UInt8])
  /// The device requests the identification, and the accessory does not answer by itself.
  case identificationRequested
  /// The identification was sent.
  case identificationSent
  /// The device accepted the identification.
  case identificationAccepted
  /// The device refused the identification because of these parameters, with the message numbers it objects to.
  case identificationRejected([UInt16: [MessageID]])
  /// The device requests a session: answer with `AccessoryPeer.acceptSession(_:reportingStatus:)`,
  /// `AccessoryPeer.refuseSession(_:)` or `AccessoryPeer.ignoreSession(_:)`.
  case sessionRequested(id: UInt16, protocolID: UInt8)

  /// An update from the device to which the accessory subscribed.
  indirect case deviceUpdate(DeviceUpdate)
  /// A power update from the device.
  indirect case powerUpdate(PowerUpdate)

  // MARK: The device's

  /// The accessory subscribed to power updates; the device has answered according to its settings.
  indirect case powerSubscription(PowerSubscription)
  /// The accessory's report of what it can supply.
  indirect case powerSource(PowerSource)
  /// The accessory asks the device to launch an app.
  indirect case appLaunchRequested(AppLaunchRequest)

  /// The accessory's certificate: answer with `DevicePeer.challenge(_:now:)` or `DevicePeer.concludeAuthentication(accepted:now:)`.
  case certificateReceived([UInt8])
  /// The accessory's response: answer with `DevicePeer.concludeAuthentication(accepted:now:)`.
  case responseReceived([UInt8])
  /// The accessory's identification and the result of its check; refused if it has errors.
  case identified(JudgedIdentification)
  /// The accessory changed its names or versions.
  indirect case identificationUpdated(Identification)
  /// The accessory withdrew its identification.
  case identificationCancelled
  /// Identification and authentication are both done: sessions may be opened.
  case ready
  /// The accessory did not answer in time.
  case answerTimedOut(DevicePeer.Step)
  /// The accessory confirmed a session.
  case sessionConfirmed(UInt16)
}

/// The events waiting to be drained.
@usableFromInline
struct EventQueue {
  private var events = Queue<PeerEvent>()
  /// Kept apart from the events, because it is read after every byte.
  @usableFromInline private(set) var isEmpty = true

  mutating func append(_ event: PeerEvent) {
    // One allocation instead of one for each of the first few events.
    events.reserveFirst(4)
    events.append(event)
    isEmpty = false
  }

  @usableFromInline
  mutating func next() -> PeerEvent? {
    let event = events.popFirst()
    isEmpty = events.isEmpty
    return event
  }
}
