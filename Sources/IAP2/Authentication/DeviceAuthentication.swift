/// The device's side of authentication: ask for the certificate, challenge, conclude.
///
/// What the wire shows: AA00 goes out; AA01 comes; AA02 goes out with the challenge that the owner made for that
/// certificate; AA03 comes; AA05 or AA04 goes out, as the owner judged. Who can sign and who can verify is none of this
/// machine's business.
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
    precondition(state == .awaitingChallenge, "a challenge follows a certificate")
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
      "a verdict follows a response, or refuses a certificate")
    state = accepted ? .succeeded : .failed
    return .send(accepted ? .authenticationSucceeded : .authenticationFailed)
  }
}
