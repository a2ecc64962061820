import AccessoryCore
import AccessoryProfiles
import AccessorySessions
import IAP2

/// A profile that is encoded for the wire only once, rather than for each attachment.
///
/// Accessories that are created in a row from the same profile share the encoding, even across threads.
final class PreparedProfile: Sendable {
  let profile: Profile
  let link: LinkSettings
  let reportsSessionStatus: Bool
  /// The protocols whose sessions use native transport if the cable has native channels.
  let besideTheLink: [String]
  let rules: [MessageRule]
  let heardMessages: Set<MessageID>

  /// The identification without protocols, or nil if the accessory does not flicker.
  private let empty: PreparedIdentification?
  private let whole: PreparedIdentification
  private let wholeWithoutSides: PreparedIdentification

  /// The subjects of the accessory's events while it offers all of its protocols, and while it offers none.
  private let subjects: (whole: TimelineEvent.Subject, empty: TimelineEvent.Subject)

  private static let encoded = Locked<[PreparedIdentification]>([])
  private static let last = Locked<PreparedProfile?>(nil)

  /// Prepares a profile, or returns the last prepared profile if both are equal, as is common in large tests.
  static func prepared(_ profile: Profile) -> PreparedProfile {
    // Two programs that compare equal may come from different files, one of which may not be trusted.
    guard profile.programs.isEmpty else { return PreparedProfile(profile) }
    if let last = last.withLock(\.self), last.profile == profile { return last }
    let made = PreparedProfile(profile)
    last.withLock { $0 = made }
    return made
  }

  private init(_ profile: Profile) {
    self.profile = profile
    link = profile.linkSettings
    rules = profile.rules.compactMap { try? $0.rule() }
    heardMessages = MessageRules.heard(by: rules)
    reportsSessionStatus =
      !profile.quirks.contains(.noStatus)
      && profile.messages.sent.contains { $0.messageID == .externalAccessorySessionStatus }
    empty =
      profile.quirks.flicker == nil ? nil : Self.encoded(profile.identification(isWhole: false))
    whole = Self.encoded(profile.identification(isWhole: true))
    func subject(_ protocols: [String]) -> TimelineEvent.Subject {
      .init(name: profile.identity.name, serial: profile.identity.serialNumber, protocols: protocols)
    }
    subjects = (subject(profile.protocols.map(\.name)), subject([]))
    besideTheLink = profile.protocols.filter { $0.nativeTransportComponent != nil }.map(\.name)
    wholeWithoutSides =
      besideTheLink.isEmpty
      ? whole : PreparedIdentification(profile.identification(isWhole: true, hasNativeChannels: false))
  }

  /// Encodes an identification, or returns one of the last encoded ones, because the accessories of random worlds differ
  /// mostly in other respects.
  private static func encoded(_ identification: Identification) -> PreparedIdentification {
    encoded.withLock { encoded in
      if let known = encoded.first(where: { $0.identification == identification }) { return known }
      if encoded.count == 16 { encoded.removeFirst() }
      encoded.append(PreparedIdentification(identification))
      return encoded[encoded.count - 1]
    }
  }

  func with(_ quirk: Quirk) -> PreparedProfile {
    var profile = profile
    profile.apply(quirk)
    return .prepared(profile)
  }

  func subject(isWhole: Bool) -> TimelineEvent.Subject { isWhole ? subjects.whole : subjects.empty }

  /// Returns the identification. If `isWhole` is false, as in the first connection of a flicker, the identification
  /// contains no protocols.
  func identification(isWhole: Bool, hasNativeChannels: Bool) -> PreparedIdentification {
    guard isWhole else { return empty ?? PreparedIdentification(profile.identification(isWhole: false)) }
    return hasNativeChannels ? whole : wholeWithoutSides
  }
}

// The contents of a profile as they are sent over iAP2.

extension Profile {
  /// Returns the accessory's identification. If `isWhole` is false, as in the first connection of a flicker, the
  /// identification contains no protocols. On a cable without native channels, protocols with native transport use the
  /// link, as all other protocols do.
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

  /// The link's settings.
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
  /// Parameter 22 is a group that contains the number, the name, and an empty parameter for each feature.
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
  /// The duration in milliseconds, as used in a SYN. The range was checked when the profile was read.
  fileprivate var wireMilliseconds: UInt16 {
    UInt16(clamping: components.seconds * 1_000 + components.attoseconds / 1_000_000_000_000_000)
  }
}
