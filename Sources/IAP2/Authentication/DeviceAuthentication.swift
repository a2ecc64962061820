/// The device's end of authentication: asks for the certificate, sends the challenge, concludes.
///
/// On the wire: AA00 is sent; AA01 arrives; AA02 is sent with the challenge that the owner made for this certificate;
/// AA03 arrives; AA05 or AA04 is sent, as the owner decides. The owner signs and verifies.
struct DeviceAuthentication: Equatable {
  enum State: Equatable {
    /// Not begun.
    case idle
    /// AA00 is out.
    case awaitingCertificate
    /// The owner has the certificate.
    case awaitingChallenge
    /// AA02 is out.
    case awaitingResponse
    /// The owner has the response.
    case awaitingVerdict
    /// AA05 went out.
    case succeeded
    /// AA04 went out.
    case failed
  }

  enum Action: Equatable {
    case send(ControlMessage)
    case tell(PeerEvent)
    /// The message does not belong here.
    case unexpected(MessageID)
  }

  private(set) var state = State.idle

  /// Whether the accessory owes an answer.
  var isWaitingForAccessory: Bool { state == .awaitingCertificate || state == .awaitingResponse }

  mutating func begin() -> Action {
    state = .awaitingCertificate
    return .send(.requestCertificate)
  }

  mutating func receive(certificate: [UInt8]) -> Action {
    guard state == .awaitingCertificate else { return .unexpected(.authenticationCertificate) }
    state = .awaitingChallenge
    return .tell(.certificateReceived(certificate))
  }

  mutating func challenge(_ bytes: [UInt8]) -> Action {
    precondition(state == .awaitingChallenge, "a challenge must follow a certificate")
    state = .awaitingResponse
    return .send(.challenge(bytes))
  }

  mutating func receive(response: [UInt8]) -> Action {
    guard state == .awaitingResponse else { return .unexpected(.authenticationResponse) }
    state = .awaitingVerdict
    return .tell(.responseReceived(response))
  }

  mutating func conclude(accepted: Bool) -> Action {
    precondition(
      state == .awaitingVerdict || (state == .awaitingChallenge && !accepted),
      "a verdict must follow a response or refuse a certificate")
    state = accepted ? .succeeded : .failed
    return .send(accepted ? .authenticationSucceeded : .authenticationFailed)
  }
}

// The five messages of authentication, all of them driven by the device: AA00, AA01, AA02, AA03, then AA05 or AA04.

extension ControlMessage {
  static let requestCertificate = ControlMessage(.requestAuthenticationCertificate)
  static let authenticationSucceeded = ControlMessage(.authenticationSucceeded)
  static let authenticationFailed = ControlMessage(.authenticationFailed)

  static func certificate(_ bytes: [UInt8]) -> ControlMessage {
    ControlMessage(.authenticationCertificate) { $0.blob(0, bytes) }
  }

  static func challenge(_ bytes: [UInt8]) -> ControlMessage {
    ControlMessage(.requestAuthenticationChallengeResponse) { $0.blob(0, bytes) }
  }

  static func response(_ bytes: [UInt8]) -> ControlMessage {
    ControlMessage(.authenticationResponse) { $0.blob(0, bytes) }
  }
}

extension [Parameter] {
  /// The blob that AA01, AA02 and AA03 consist of.
  func authenticationBlob() throws(ParameterError) -> [UInt8] {
    try only(0, "data").value
  }
}
