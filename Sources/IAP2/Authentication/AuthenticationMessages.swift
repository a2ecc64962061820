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
