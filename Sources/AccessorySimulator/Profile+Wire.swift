import AccessoryProfiles
import IAP2

// What a profile says, in the words of the wire.

extension Profile {
  /// What the accessory says of itself; without its protocols during the first half of a flicker. Where the cable has
  /// no native channels, sessions of native transport go over the link like all others.
  public func identification(isWhole: Bool, hasNativeChannels: Bool = true) -> Identification {
    var out = Identification()
    out.name = identity.name
    out.model = identity.modelNumber
    out.manufacturer = identity.manufacturer
    out.serialNumber = identity.serialNumber
    out.firmwareVersion = identity.firmwareRevision
    out.hardwareVersion = identity.hardwareRevision
    out.currentLanguage = identity.currentLanguage
    out.supportedLanguages = identity.supportedLanguages
    out.productPlanUID = identity.productPlanUID
    out.appMatchTeamID = identity.appMatchTeamID
    out.messagesSent = messages.sent.compactMap(\.messageID)
    out.messagesReceived = messages.received.compactMap(\.messageID)
    out.powerProvidingCapability = power.capability.wireValue
    out.maximumCurrentDrawn = power.maximumCurrent
    out.transports = transports.map(\.component)
    out.hidComponents = hid.map { HIDComponent(id: $0.id, name: $0.name, function: $0.function.wireValue) }
    if let location { out.other.append(location.parameter) }
    if isWhole { out.protocols = protocols.map(\.declaration) }
    if !hasNativeChannels { for index in out.protocols.indices { out.protocols[index].nativeTransportComponent = nil } }
    return out
  }

  /// The link's choices.
  public var linkSettings: LinkSettings {
    var sessions = [
      LinkSession(id: link.controlSession, kind: .control, version: link.controlSessionVersion),
      LinkSession(id: link.externalAccessorySession, kind: .externalAccessory),
    ]
    if let file = link.fileTransferSession { sessions.append(LinkSession(id: file, kind: .fileTransfer)) }
    let parameters = LinkParameters(
      maximumOutstandingPackets: link.maximumOutstandingPackets, maximumPacketLength: link.maximumPacketLength,
      retransmissionTimeout: link.retransmissionTimeout.wireMilliseconds,
      cumulativeAcknowledgementTimeout: link.cumulativeAcknowledgementTimeout.wireMilliseconds,
      maximumRetransmissions: link.maximumRetransmissions,
      maximumCumulativeAcknowledgements: link.maximumCumulativeAcknowledgements, sessions: sessions)
    guard link.zeroAcknowledgement else { return LinkSettings(parameters: parameters) }
    var settings = LinkSettings(parameters: parameters.withoutAcknowledgements)
    settings.fallbackParameters = parameters
    return settings
  }

  /// Whether the accessory says that it reports the status of sessions.
  var declaresSessionStatus: Bool {
    messages.sent.contains { $0.messageID == .externalAccessorySessionStatus }
  }
}

extension Profile.SessionProtocol {
  var declaration: ExternalAccessoryProtocol {
    ExternalAccessoryProtocol(
      id: id, name: name, matchAction: .init(rawValue: matchAction.rawValue),
      nativeTransportComponent: nativeTransportComponent)
  }
}

extension Profile.Transport {
  var component: TransportComponent {
    let kind: TransportComponent.Kind =
      switch self.kind {
      case .usbHost: .usbHost
      case .usbDevice: .usbDevice
      case .bluetooth: .bluetooth
      case .serial: .serial
      }
    var component = TransportComponent(kind: kind, id: id, name: name, supportsIAP2: supportsIAP2)
    if case .bluetooth(let address) = self.kind { component.address = address.bytes }
    return component
  }
}

extension Profile.Location {
  /// Group 22: its number, its name, and an empty parameter for each of what it has.
  fileprivate var parameter: Parameter {
    var writer = ParameterWriter()
    writer.u16(0, id)
    writer.text(1, name)
    for sentence in DeviceProfile.Sentence.allCases where provides.contains(sentence) {
      writer.none(sentence.parameter + 16)
    }
    return Parameter(id: 22, value: writer.bytes)
  }
}

extension Duration {
  /// Milliseconds as a SYN carries them; the profile's reader keeps them in range.
  fileprivate var wireMilliseconds: UInt16 {
    UInt16(clamping: components.seconds * 1_000 + components.attoseconds / 1_000_000_000_000_000)
  }
}
