extension Identification {
  /// The message as the accessory sends it, parameters in ascending order.
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

extension ExternalAccessoryProtocol {
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

extension TransportComponent {
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

/// An identification with the message that carries it, written once: an accessory says the same each time it is
/// attached.
///
/// ```swift
/// let whole = PreparedIdentification(identification)
/// let peer = AccessoryPeer(identification: whole)        // and again for the next cable
/// ```
public final class PreparedIdentification: Sendable {
  /// What the accessory says it is.
  public let identification: Identification
  /// How it says so.
  let message: ControlMessage

  /// Writes the message.
  public init(_ identification: Identification) {
    self.identification = identification
    message = identification.message
  }
}
