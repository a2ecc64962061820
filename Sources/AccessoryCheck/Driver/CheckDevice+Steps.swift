import AccessoryCore
import Certificates
import IAP2

/// Thrown if the accessory did not take a step, so that later steps cannot be judged.
struct Shortfall: Error {
  let reason: String
  let judgedBy: Int
}

enum CheckStep: Int, Comparable, CaseIterable {
  case attached, linked, authenticated, ready

  static func < (left: CheckStep, right: CheckStep) -> Bool { left.rawValue < right.rawValue }

  var text: String {
    switch self {
    case .attached: "after it was plugged in"
    case .linked: "once the link is up"
    case .authenticated: "after authentication"
    case .ready: "when it is ready"
    }
  }
}

extension CheckDevice {
  /// Waits for the first message whose number is in `ids`. The first `mark` messages are ignored.
  func awaitMessage(_ ids: [MessageID], after mark: Int, within limit: Duration) throws -> Received? {
    func find() -> Received? {
      messages.count > mark ? messages[mark...].first { ids.contains($0.message.id) } : nil
    }
    _ = try wait(within: limit) { find() != nil }
    return find()
  }

  func link(within limit: Duration) throws {
    guard try wait(within: limit, until: { phase == .up }) else {
      let what: (String, Int) =
        switch phase {
        case .answering: ("it never acknowledged the SYN|ACK", 214)
        case _ where offer != nil: ("it sent a SYN, but no link came up", 214)
        case _ where offerError != nil: ("its SYN is unusable", 201)
        case _ where record.contains { $0.isFromAccessory && $0.kind == .detection }:
          ("it never sent a SYN", 108)
        default: ("it never sent the detection sequence", 101)
        }
      throw Shortfall(reason: line.isOpen ? what.0 : "\(what.0): \(endText)", judgedBy: what.1)
    }
  }

  var endText: String { line.end.map { "\($0)" } ?? "the cable was unplugged" }

  func certificate(within limit: Duration, _ delivery: Delivery = .whole) throws -> (bytes: [UInt8], at: Received) {
    let mark = messages.count
    try send(ControlMessage(.requestAuthenticationCertificate), delivery)
    guard let received = try awaitMessage([.authenticationCertificate], after: mark, within: limit) else {
      throw Shortfall(reason: missing("AA00 with a certificate (AA01)"), judgedBy: 501)
    }
    return (blob(received.message), received)
  }

  func response(to challenge: [UInt8], within limit: Duration) throws -> (bytes: [UInt8], at: Received) {
    let mark = messages.count
    try send(ControlMessage(.requestAuthenticationChallengeResponse) { $0.blob(0, challenge) })
    guard let received = try awaitMessage([.authenticationResponse], after: mark, within: limit) else {
      throw Shortfall(reason: missing("AA02 with a signature (AA03)"), judgedBy: 504)
    }
    return (blob(received.message), received)
  }

  /// Returns the first parameter of AA01 or AA03, or no bytes if the parameter is missing.
  private func blob(_ message: ControlMessage) -> [UInt8] {
    (try? ParameterReader.read(message.body))?.first(0)?.value ?? []
  }

  private func missing(_ what: String) -> String {
    line.isOpen ? "it never answered \(what)" : "it never answered \(what): \(endText)"
  }

  /// Returns a challenge for the certificate. If the certificate is unreadable, its length determines the coprocessor
  /// generation, and therefore the length of the challenge, as in other device emulators.
  func challenge(for certificate: [UInt8], _ verifier: any DeviceAuthenticator) -> [UInt8] {
    if let challenge = try? verifier.challenge(for: certificate) { return challenge }
    return (0..<(certificate.count > 800 ? 20 : 32)).map { _ in UInt8.random(in: 0...255, using: &pump.loop.random) }
  }

  /// Authenticates the accessory. Reports success even if the signature is invalid.
  func authenticate(_ verifier: any DeviceAuthenticator, within limit: Duration) throws -> Authentication {
    let certificate = try certificate(within: limit)
    let challenge = challenge(for: certificate.bytes, verifier)
    let response = try response(to: challenge, within: limit)
    try send(ControlMessage(.authenticationSucceeded))
    return Authentication(
      certificate: certificate.bytes, certificateMessage: certificate.at, challenge: challenge,
      response: response.bytes, responseMessage: response.at)
  }

  /// Requests the identification and accepts it without checking its contents, which other cases judge.
  func identify(within limit: Duration) throws -> (reading: IdentificationReading, at: Received) {
    let identification = try requestIdentification(within: limit)
    try acceptIdentification(identification.reading.identification)
    return identification
  }

  func requestIdentification(within limit: Duration) throws -> (reading: IdentificationReading, at: Received) {
    let mark = messages.count
    try send(ControlMessage(.startIdentification))
    guard let received = try awaitMessage([.identificationInformation], after: mark, within: limit) else {
      throw Shortfall(reason: missing("1D00 with its identification (1D01)"), judgedBy: 601)
    }
    return (IdentificationReading(received.message), received)
  }

  func acceptIdentification(_ identification: Identification) throws {
    try send(ControlMessage(.identificationAccepted))
    let wanted = Set(identification.messagesReceived)
    if wanted.contains(.deviceUUIDUpdate) {
      try send(ControlMessage(.deviceUUIDUpdate) { $0.text(0, "00000000-0000-4000-8000-000000000000") })
    }
    if wanted.contains(.deviceInformationUpdate) {
      try send(ControlMessage(.deviceInformationUpdate) { $0.text(0, "easim check") })
    }
    if wanted.contains(.deviceLanguageUpdate) { try send(ControlMessage(.deviceLanguageUpdate) { $0.text(0, "en") }) }
  }

  @discardableResult
  func openSession(
    _ declared: ExternalAccessoryProtocol, _ id: UInt16, waitingForStatus limit: Duration
  ) throws -> SessionStatus {
    let mark = messages.count
    try send(.openSession(declared.id, id))
    guard limit > .zero else { return .none }
    return try status(of: id, after: mark, within: limit)
  }

  func status(of id: UInt16, after mark: Int, within limit: Duration) throws -> SessionStatus {
    func find() -> Received? { messages.dropFirst(mark).first { $0.status(of: id) != nil } }
    guard try wait(within: limit, until: { find() != nil }), let found = find() else { return .none }
    return found.status(of: id) == [0] ? .open(found.packet) : .closed(found.packet)
  }

  enum SessionStatus: Equatable {
    case none
    /// The accessory confirmed the session by sending EA03 with status 0 in this packet.
    case open(Int)
    /// The accessory closed the session by sending EA03 with another status in this packet.
    case closed(Int)
  }
}

extension CheckDevice.Received {
  /// Returns the status in this message if the message is EA03 for session `id`, or nil otherwise. The returned status
  /// is empty if EA03 contains no status. Otherwise nil.
  func status(of id: UInt16) -> [UInt8]? {
    guard message.id == .externalAccessorySessionStatus, let parameters = try? ParameterReader.read(message.body),
      parameters.first(0)?.value == [UInt8(id >> 8), UInt8(truncatingIfNeeded: id)]
    else { return nil }
    return parameters.first(1)?.value ?? []
  }
}

struct Authentication {
  let certificate: [UInt8]
  let certificateMessage: CheckDevice.Received
  let challenge: [UInt8]
  let response: [UInt8]
  let responseMessage: CheckDevice.Received
}

extension ControlMessage {
  static func openSession(_ protocolID: UInt8, _ id: UInt16) -> ControlMessage {
    ControlMessage(.startExternalAccessorySession) {
      $0.u8(0, protocolID)
      $0.u16(1, id)
    }
  }

  static func closeSession(_ id: UInt16) -> ControlMessage {
    ControlMessage(.stopExternalAccessorySession) { $0.u16(0, id) }
  }
}
