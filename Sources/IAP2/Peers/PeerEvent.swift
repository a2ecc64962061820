/// An event of a peer; the owner fetches events with ``PeerCore/nextEvent()`` after each call to the peer.
///
/// Large but rare cases are indirect, so that events are cheap to move; owners fetch events after every read.
public enum PeerEvent: Equatable, Sendable {
  // MARK: Both roles

  indirect case linkUp(LinkAgreement)
  /// The link is down. The link's sessions have already been reported as ended.
  indirect case linkDown(LinkEnd)
  /// The other end's SYN contains out-of-range values; the nearest allowed values are used instead.
  indirect case synchronizationAdjusted([LinkParameters.ValueOutOfRange])
  case skipped(SkippedBytes)
  /// The other end sent invalid data. The text includes the data. The link continues.
  case malformed(String)
  /// An iAP1 frame arrived at a point where it has no meaning.
  case legacyFrame([UInt8])
  /// The accessory sent RST or SLP, which only a device may send. The link continues.
  case strayEnd(LinkEnd)
  /// A control message was sent or received. This event precedes the events that the message causes, and is reported
  /// only if ``PeerCore/reportsMessages`` is set.
  indirect case passed(PassedMessage)
  case message(ControlMessage)
  /// A file transfer packet, which the peer acknowledges but does not interpret.
  case fileTransfer([UInt8])
  /// Bytes arrived for a session that is not open, and were dropped.
  case strayData(session: UInt16, bytes: Int)
  /// Bytes arrived for a session that had no unread bytes.
  case sessionReadable(UInt16)
  case sessionWritable(UInt16)
  indirect case sessionEnded(UInt16, SessionEnd)
  case authenticationSucceeded
  case authenticationFailed

  // MARK: Events of the accessory's end

  /// The device requests the certificate; the owner may answer with `AccessoryPeer.provideCertificate(_:)`.
  case certificateRequested
  /// The device sent a challenge; the owner may answer with `AccessoryPeer.provideResponse(_:)`.
  case challenged([UInt8])
  /// The device requests the identification, and the accessory does not answer automatically.
  case identificationRequested
  case identificationSent
  case identificationAccepted
  /// The device rejected the identification because of these parameters. The lists contain the message numbers that the
  /// device objects to.
  case identificationRejected([UInt16: [MessageID]])
  /// The device requests a session; the owner answers with `AccessoryPeer.acceptSession(_:reportingStatus:)`,
  /// `AccessoryPeer.refuseSession(_:)` or `AccessoryPeer.ignoreSession(_:)`.
  case sessionRequested(id: UInt16, protocolID: UInt8)

  // MARK: The device's

  indirect case appLaunchRequested(AppLaunchRequest)

  /// The accessory sent its certificate; the owner answers with `DevicePeer.challenge(_:now:)` or
  /// `DevicePeer.concludeAuthentication(accepted:now:)`.
  case certificateReceived([UInt8])
  /// The accessory sent its response; the owner answers with `DevicePeer.concludeAuthentication(accepted:now:)`.
  case responseReceived([UInt8])
  /// The accessory's identification was checked; if the verdict contains errors, the device has rejected it.
  case identified(JudgedIdentification)
  indirect case identificationUpdated(Identification)
  case identificationCancelled
  /// Identification and authentication are complete, so sessions may be opened.
  case ready
  case answerTimedOut(DevicePeer.Step)
  case sessionConfirmed(UInt16)
}

@usableFromInline
struct EventQueue {
  private var events = Queue<PeerEvent>()
  /// Whether the queue is empty, stored separately because it is checked after every byte.
  @usableFromInline private(set) var isEmpty = true

  mutating func append(_ event: consuming PeerEvent) {
    // Reserves memory for the first few events in one allocation.
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

  mutating func releaseMemory() {
    if isEmpty { events = Queue() }
  }
}

/// An accessory's request to launch an app (EA02). The request has no effect if the app is already running.
public struct AppLaunchRequest: Hashable, Sendable {
  /// The app's bundle identifier.
  public var bundleID: String
  /// Whether the device asks the user before it launches the app.
  public var withAlert: Bool

  /// Creates a request.
  public init(bundleID: String, withAlert: Bool) {
    self.bundleID = bundleID
    self.withAlert = withAlert
  }

  /// Decodes an EA02 message, or returns nil for any other message. If the second parameter is missing, ``withAlert``
  /// is true.
  public init?(_ message: ControlMessage) throws(ParameterError) {
    guard message.id == .requestAppLaunch else { return nil }
    let parameters = try ParameterReader.read(message.body)
    bundleID = try parameters.only(0, "bundle identifier").text()
    withAlert = try parameters.first(1)?.number(as: UInt8.self) ?? 0 == 0
  }

  /// The encoded control message.
  public var message: ControlMessage {
    ControlMessage(.requestAppLaunch) {
      $0.text(0, bundleID)
      $0.u8(1, withAlert ? 0 : 1)
    }
  }
}
