/// An accessory's wish that an app be launched (EA02); without effect when the app runs already.
public struct AppLaunchRequest: Hashable, Sendable {
  /// The app's bundle identifier.
  public var bundleID: String
  /// Whether the user is asked first.
  public var withAlert: Bool

  /// A request.
  public init(bundleID: String, withAlert: Bool) {
    self.bundleID = bundleID
    self.withAlert = withAlert
  }

  /// Reads an EA02; nil for any other message. Without the second parameter the user is asked.
  public init?(_ message: ControlMessage) throws(ParameterError) {
    guard message.id == .requestAppLaunch else { return nil }
    let parameters = try ParameterReader.read(message.body)
    bundleID = try parameters.only(0, "bundle identifier").text()
    withAlert = try parameters.first(1)?.number(as: UInt8.self) ?? 0 == 0
  }

  /// The message as the accessory sends it.
  public var message: ControlMessage {
    ControlMessage(.requestAppLaunch) {
      $0.text(0, bundleID)
      $0.u8(1, withAlert ? 0 : 1)
    }
  }
}
