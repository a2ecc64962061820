/// The events of a peer, which the owner fetches with ``PeerCore/nextEvent()`` after each call.
///
/// Large and rare cases are indirect: an event is fetched after every read, so it should be cheap to move.
public enum PeerEvent: Equatable, Sendable {
  // MARK: Both roles

  /// The link is up, on these terms.
  indirect case linkUp(LinkAgreement)
  /// The link is down. Each session's end is reported before.
  indirect case linkDown(LinkEnd)
  /// The other end's SYN has numbers outside their ranges; the nearest allowed ones are used.
  indirect case synchronizationAdjusted([LinkParameters.ValueOutOfRange])
  /// Bytes that belong to no packet were stepped over.
  case skipped(SkippedBytes)
  /// The other end sent invalid data; the text has the bytes. The link continues.
  case malformed(String)
  /// A frame of iAP1 came where it means nothing.
  case legacyFrame([UInt8])
  /// The accessory sent RST or SLP, which only a device sends. The link continues.
  case strayEnd(LinkEnd)
  /// A control message, before what it leads to; reported only where ``PeerCore/tellsMessages`` asks for it.
  indirect case passed(PassedMessage)
  /// A control message that no machine here handles.
  case message(ControlMessage)
  /// A packet of a file transfer: acknowledged, not interpreted.
  case fileTransfer([UInt8])
  /// So many bytes came for a session that is not open; they were dropped.
  case strayData(session: UInt16, bytes: Int)
  /// Bytes arrived for a session whose reader had read everything.
  case sessionReadable(UInt16)
  /// A session has room again after a partial write.
  case sessionWritable(UInt16)
  /// A session is over.
  indirect case sessionEnded(UInt16, SessionEnd)
  /// The accessory is authenticated.
  case authenticationSucceeded
  /// The accessory is not authenticated.
  case authenticationFailed

  // MARK: The accessory's

  /// The device asks for the certificate: answer with `AccessoryPeer.provideCertificate(_:)`, or never.
  case certificateRequested
  /// The device sent a challenge: answer with `AccessoryPeer.provideResponse(_:)`, or never.
  case challenged([UInt8])
  /// The device asks for the identification, and the accessory does not answer by itself.
  case identificationRequested
  /// The identification went out.
  case identificationSent
  /// The device accepted the identification.
  case identificationAccepted
  /// The device refused the identification, naming these parameters, with the message numbers it objects to.
  case identificationRejected([UInt16: [MessageID]])
  /// The device opens a session: answer with `AccessoryPeer.acceptSession(_:reportingStatus:)`,
  /// `AccessoryPeer.refuseSession(_:)` or `AccessoryPeer.ignoreSession(_:)`.
  case sessionRequested(id: UInt16, protocolID: UInt8)

  /// An update from the device that the accessory subscribed to.
  indirect case deviceUpdate(DeviceUpdate)
  /// A power update from the device.
  indirect case powerUpdate(PowerUpdate)

  // MARK: The device's

  /// The accessory subscribed to power news; the device has answered with what its settings say.
  indirect case powerSubscription(PowerSubscription)
  /// The accessory's report of what it can supply.
  indirect case powerSource(PowerSource)
  /// The accessory wants an app launched.
  indirect case appLaunchRequested(AppLaunchRequest)

  /// The accessory's certificate: answer with `DevicePeer.challenge(_:now:)` or `DevicePeer.concludeAuthentication(accepted:now:)`.
  case certificateReceived([UInt8])
  /// The accessory's response: answer with `DevicePeer.concludeAuthentication(accepted:now:)`.
  case responseReceived([UInt8])
  /// The accessory's identification after the check; refused when there are errors.
  case identified(JudgedIdentification)
  /// The accessory changed its names or versions.
  indirect case identificationUpdated(Identification)
  /// The accessory took its identification back.
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
  /// Separate from the events, because it is read after every single byte.
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
