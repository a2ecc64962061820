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

// The device starts authentication. The message sequence is AA00, AA01, AA02, AA03, then AA05 or AA04.

extension ControlMessage {
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
  func authenticationBlob() throws(ParameterError) -> [UInt8] {
    try only(0, "data").value
  }
}
