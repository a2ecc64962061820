/// A device's power update (AE01), limited to its publicly known parameters. A parameter that was not sent is nil; an
/// accessory receives only those it requested in AE00.
public struct PowerUpdate: Hashable, Sendable {
  /// Parameter 0: the maximum current that the accessory may draw, in mA.
  public var maximumCurrentDrawn: UInt16?
  /// Parameter 1: whether the device's battery will charge if power is present.
  public var willCharge: Bool?
  /// Parameter 2: the accessory's power mode.
  public var accessoryPowerMode: UInt8?
  /// Parameter 4: whether an external charger is connected.
  public var isExternalChargerConnected: Bool?
  /// Parameter 5: the charging state.
  public var charging: Charging?
  /// Parameter 6: the battery's level in percent.
  public var batteryPercent: UInt16?

  /// The charging state of the device's battery.
  public enum Charging: UInt8, Hashable, Sendable {
    case no = 0
    case charging = 1
    case full = 2
  }

  /// Creates an update without any parameters.
  public init() {}

  /// Decodes an AE01; nil for any other message.
  public init?(_ message: ControlMessage) throws(ParameterError) {
    guard message.id == .powerUpdate else { return nil }
    let parameters = try ParameterReader.read(message.body)
    maximumCurrentDrawn = try parameters.first(0)?.number()
    willCharge = try parameters.first(1)?.bool()
    accessoryPowerMode = try parameters.first(2)?.number()
    isExternalChargerConnected = try parameters.first(4)?.bool()
    if let value = try parameters.first(5)?.number(as: UInt8.self) { charging = Charging(rawValue: value) }
    batteryPercent = try parameters.first(6)?.number()
  }

  /// The encoded control message.
  public var message: ControlMessage {
    ControlMessage(.powerUpdate) { writer in
      if let maximumCurrentDrawn { writer.u16(0, maximumCurrentDrawn) }
      if let willCharge { writer.bool(1, willCharge) }
      if let accessoryPowerMode { writer.u8(2, accessoryPowerMode) }
      if let isExternalChargerConnected { writer.bool(4, isExternalChargerConnected) }
      if let charging { writer.u8(5, charging.rawValue) }
      if let batteryPercent { writer.u16(6, batteryPercent) }
    }
  }

  /// Returns this update reduced to the parameters that a subscription (AE00) selects.
  public func selecting(_ ids: Set<UInt16>) -> PowerUpdate {
    var cut = PowerUpdate()
    if ids.contains(0) { cut.maximumCurrentDrawn = maximumCurrentDrawn }
    if ids.contains(1) { cut.willCharge = willCharge }
    if ids.contains(2) { cut.accessoryPowerMode = accessoryPowerMode }
    if ids.contains(4) { cut.isExternalChargerConnected = isExternalChargerConnected }
    if ids.contains(5) { cut.charging = charging }
    if ids.contains(6) { cut.batteryPercent = batteryPercent }
    return cut
  }
}

/// A subscription to power updates (AE00): the numbers of the parameters that the accessory wants, each written as an
/// empty parameter.
public struct PowerSubscription: Hashable, Sendable {
  /// The parameters of AE01 that the accessory wants.
  public var parameters: Set<UInt16>

  /// Creates a subscription to these parameters.
  public init(_ parameters: Set<UInt16>) {
    self.parameters = parameters
  }

  /// Decodes an AE00; nil for any other message.
  public init?(_ message: ControlMessage) throws(ParameterError) {
    guard message.id == .startPowerUpdates else { return nil }
    let read = try ParameterReader.read(message.body)
    for parameter in read { try parameter.none() }
    parameters = Set(read.map(\.id))
  }

  /// The encoded control message.
  public var message: ControlMessage {
    ControlMessage(.startPowerUpdates) { writer in
      for id in parameters.sorted() { writer.none(id) }
    }
  }
}

/// The power that an accessory can supply (AE03).
public struct PowerSource: Hashable, Sendable {
  /// Parameter 0: the available current in mA.
  public var availableCurrent: UInt16
  /// Parameter 1: whether the device should charge its battery from this source.
  public var shouldCharge: Bool

  /// Creates a power source.
  public init(availableCurrent: UInt16, shouldCharge: Bool) {
    self.availableCurrent = availableCurrent
    self.shouldCharge = shouldCharge
  }

  /// Decodes an AE03; nil for any other message.
  public init?(_ message: ControlMessage) throws(ParameterError) {
    guard message.id == .powerSourceUpdate else { return nil }
    let parameters = try ParameterReader.read(message.body)
    availableCurrent = try parameters.first(0)?.number() ?? 0
    shouldCharge = try parameters.first(1)?.bool() ?? false
  }

  /// The encoded control message.
  public var message: ControlMessage {
    ControlMessage(.powerSourceUpdate) {
      $0.u16(0, availableCurrent)
      $0.bool(1, shouldCharge)
    }
  }
}

/// A device's update about itself, sent to accessories that declare they can receive it; unlike power updates, it has
/// no start message.
public enum DeviceUpdate: Hashable, Sendable {
  case name(String)
  case language(String)
  /// The time since 1970, the UTC offset and the daylight saving offset.
  case time(seconds: UInt64, zoneMinutes: Int16, daylightMinutes: Int8)
  case uuid(String)

  /// The number of the message that carries this update.
  public var messageID: MessageID {
    switch self {
    case .name: .deviceInformationUpdate
    case .language: .deviceLanguageUpdate
    case .time: .deviceTimeUpdate
    case .uuid: .deviceUUIDUpdate
    }
  }

  /// The encoded control message.
  public var message: ControlMessage {
    ControlMessage(messageID) { writer in
      switch self {
      case .name(let text), .language(let text), .uuid(let text): writer.text(0, text)
      case .time(let seconds, let zone, let daylight):
        writer.number(0, seconds)
        writer.number(1, zone)
        writer.number(2, daylight)
      }
    }
  }

  /// Decodes one of the four messages; returns nil for any other message.
  public init?(_ message: ControlMessage) throws(ParameterError) {
    switch message.id {
    case .deviceInformationUpdate: self = .name(try Self.text(of: message))
    case .deviceLanguageUpdate: self = .language(try Self.text(of: message))
    case .deviceUUIDUpdate: self = .uuid(try Self.text(of: message))
    case .deviceTimeUpdate:
      let parameters = try ParameterReader.read(message.body)
      self = .time(
        seconds: try parameters.only(0, "seconds").number(), zoneMinutes: try parameters.first(1)?.number() ?? 0,
        daylightMinutes: try parameters.first(2)?.number() ?? 0)
    default: return nil
    }
  }

  private static func text(of message: ControlMessage) throws(ParameterError) -> String {
    try ParameterReader.read(message.body).only(0, "text").text()
  }
}

/// An accessory's request to launch an app (EA02); it has no effect if the app is already running.
public struct AppLaunchRequest: Hashable, Sendable {
  /// The app's bundle identifier.
  public var bundleID: String
  /// Whether the device asks the user first.
  public var withAlert: Bool

  /// Creates a request.
  public init(bundleID: String, withAlert: Bool) {
    self.bundleID = bundleID
    self.withAlert = withAlert
  }

  /// Decodes an EA02; nil for any other message. If the second parameter is missing, the user is asked.
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

// The device starts authentication. The messages are AA00, AA01, AA02, AA03, then AA05 or AA04.

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
  func authenticationBlob() throws(ParameterError) -> [UInt8] {
    try only(0, "data").value
  }
}
