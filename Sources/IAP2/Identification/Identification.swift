/// An accessory's description of itself: the content of IdentificationInformation (1D01).
///
/// Every parameter that is publicly known has a property. Other parameters are kept unchanged in ``other``.
public struct Identification: Hashable, Sendable {
  /// Parameter 0: the name shown to users.
  public var name = ""
  /// Parameter 1: the model.
  public var model = ""
  /// Parameter 2: the manufacturer.
  public var manufacturer = ""
  /// Parameter 3: the serial number.
  public var serialNumber = ""
  /// Parameter 4: the firmware version.
  public var firmwareVersion = ""
  /// Parameter 5: the hardware version.
  public var hardwareVersion = ""
  /// Parameter 6: the messages that the accessory may send.
  public var messagesSent: [MessageID] = []
  /// Parameter 7: the messages that the accessory wants to receive.
  public var messagesReceived: [MessageID] = []
  /// Parameter 8, the power that the accessory can provide: 0 none, 1 reserved, 2 advanced.
  public var powerProvidingCapability: UInt8 = 0
  /// Parameter 9: the maximum current that the accessory draws, in mA.
  public var maximumCurrentDrawn: UInt16 = 0
  /// Parameter 10: the External Accessory protocols. If the accessory has the flicker quirk, this list is empty in its
  /// first identification.
  public var protocols: [ExternalAccessoryProtocol] = []
  /// Parameter 11: the team ID that the device uses to find matching apps.
  public var appMatchTeamID: String?
  /// Parameter 12: the current language.
  public var currentLanguage = "en"
  /// Parameter 13: the available languages.
  public var supportedLanguages = ["en"]
  /// Parameters 14–17 and 24: the transports that the accessory supports.
  public var transports: [TransportComponent] = []
  /// Parameter 18: the accessory's HID functions.
  public var hidComponents: [HIDComponent] = []
  /// Parameter 34: the product plan UID. The UID appears as 16 hex digits in captures, and as `ppid` in property dumps.
  public var productPlanUID: String?
  /// The parameters that have no property in this type.
  public var other: [Parameter] = []

  /// Creates an empty identification.
  public init() {}

  /// Returns the declared protocol with this number.
  public func externalAccessoryProtocol(_ id: UInt8) -> ExternalAccessoryProtocol? {
    protocols.first { $0.id == id }
  }

  /// Returns the declared protocol with this name.
  public func externalAccessoryProtocol(named name: String) -> ExternalAccessoryProtocol? {
    protocols.first { $0.name == name }
  }

  /// The encoded control message; its parameters are in ascending order.
  public var message: ControlMessage {
    ControlMessage(.identificationInformation) { writer in
      for (id, text) in [name, model, manufacturer, serialNumber, firmwareVersion, hardwareVersion].enumerated() {
        writer.text(UInt16(id), text)
      }
      writer.list(6, messagesSent.map(\.rawValue))
      writer.list(7, messagesReceived.map(\.rawValue))
      writer.u8(8, powerProvidingCapability)
      writer.u16(9, maximumCurrentDrawn)
      for one in protocols { one.write(to: &writer) }
      if let appMatchTeamID { writer.text(11, appMatchTeamID) }
      writer.text(12, currentLanguage)
      for language in supportedLanguages { writer.text(13, language) }
      for transport in transports where transport.kind != .wirelessCarPlay { transport.write(to: &writer) }
      for component in hidComponents {
        writer.group(18) {
          $0.u16(0, component.id)
          $0.text(1, component.name)
          $0.u8(2, component.function)
        }
      }
      for transport in transports where transport.kind == .wirelessCarPlay { transport.write(to: &writer) }
      if let productPlanUID { writer.text(34, productPlanUID) }
      for parameter in other { writer.blob(parameter.id, parameter.value) }
    }
  }
}

/// An External Accessory protocol that an accessory declares (group 10 of the identification).
public struct ExternalAccessoryProtocol: Hashable, Sendable {
  /// Whether the device offers to find an app for the protocol.
  public enum MatchAction: Hashable, Sendable {
    case none
    /// The device asks the user before it looks for an app.
    case optional
    /// The device looks for an app without prompting the user.
    case noAlert
    /// A value that no source describes.
    case unknown(UInt8)

    /// The byte on the wire.
    public var rawValue: UInt8 {
      switch self {
      case .none: 0
      case .optional: 1
      case .noAlert: 2
      case .unknown(let value): value
      }
    }

    /// Creates an action from the byte on the wire.
    public init(rawValue: UInt8) {
      self = [MatchAction.none, .optional, .noAlert].first { $0.rawValue == rawValue } ?? .unknown(rawValue)
    }
  }

  /// The number that the device uses to request a session.
  public var id: UInt8
  /// The reverse-DNS name that apps use for the protocol.
  public var name: String
  /// Whether the device offers to find an app.
  public var matchAction: MatchAction
  /// The transport component whose own endpoints carry the protocol's sessions, or nil if the sessions use the link.
  public var nativeTransportComponent: UInt16?
  /// Whether the protocol belongs to CarPlay.
  public var isCarPlay: Bool

  /// Creates a protocol.
  public init(
    id: UInt8, name: String, matchAction: MatchAction = .optional, nativeTransportComponent: UInt16? = nil,
    isCarPlay: Bool = false
  ) {
    self.id = id
    self.name = name
    self.matchAction = matchAction
    self.nativeTransportComponent = nativeTransportComponent
    self.isCarPlay = isCarPlay
  }

  func write(to writer: inout ParameterWriter) {
    writer.group(10) {
      $0.u8(0, id)
      $0.text(1, name)
      $0.u8(2, matchAction.rawValue)
      if let nativeTransportComponent { $0.u16(3, nativeTransportComponent) }
      if isCarPlay { $0.none(4) }
    }
  }
}

/// A transport that an accessory supports (groups 14–17 and 24).
///
/// "USB device" and "USB host" name the mode of the *Apple device*, not of the accessory: an accessory that is a USB
/// device attached to a host declares `usbHost`.
public struct TransportComponent: Hashable, Sendable {
  /// The kind of transport; the raw value is the number of the parameter that declares it.
  public enum Kind: UInt16, Hashable, Sendable, CaseIterable {
    case serial = 14
    case usbDevice = 15
    case usbHost = 16
    case bluetooth = 17
    case wirelessCarPlay = 24
  }

  /// The kind of transport.
  public var kind: Kind
  /// The component's number.
  public var id: UInt16
  /// The component's name.
  public var name: String
  /// Whether iAP2 runs over this transport.
  public var supportsIAP2: Bool
  /// Whether CarPlay runs over this transport (groups 16 and 24).
  public var supportsCarPlay = false
  /// The audio sample rates of a USB device transport.
  public var sampleRates: [UInt8] = []
  /// The CarPlay interface of a USB host transport.
  public var carPlayInterface: UInt8?
  /// A Bluetooth transport's six-byte address.
  public var address: [UInt8] = []

  /// Creates a component.
  public init(kind: Kind, id: UInt16, name: String, supportsIAP2: Bool = true) {
    self.kind = kind
    self.id = id
    self.name = name
    self.supportsIAP2 = supportsIAP2
  }

  func write(to writer: inout ParameterWriter) {
    writer.group(kind.rawValue) {
      $0.u16(0, id)
      $0.text(1, name)
      if supportsIAP2 { $0.none(2) }
      switch kind {
      case .usbDevice: for rate in sampleRates { $0.u8(3, rate) }
      case .usbHost: if let carPlayInterface { $0.u8(3, carPlayInterface) }
      case .bluetooth: $0.blob(3, address)
      case .serial, .wirelessCarPlay: break
      }
      if supportsCarPlay { $0.none(4) }
    }
  }
}

/// A HID function that an accessory declares (group 18).
public struct HIDComponent: Hashable, Sendable {
  /// The component's number.
  public var id: UInt16
  /// The component's name.
  public var name: String
  /// The function: 0 keyboard, 1 media remote, 2 AssistiveTouch, 4 and 6 gamepad, 7 switch control, 8 headset, 10
  /// braille.
  public var function: UInt8

  /// Creates a component.
  public init(id: UInt16, name: String, function: UInt8) {
    self.id = id
    self.name = name
    self.function = function
  }
}

/// An identification and its encoded message. Encoding once is enough, because an accessory sends the same message each
/// time it connects.
///
/// ```swift
/// let whole = PreparedIdentification(identification)
/// let peer = AccessoryPeer(identification: whole)        // and again for the next cable
/// ```
public final class PreparedIdentification: Sendable {
  /// The accessory's description of itself.
  public let identification: Identification
  let message: ControlMessage

  /// Encodes the message.
  public init(_ identification: Identification) {
    self.identification = identification
    message = identification.message
  }
}
