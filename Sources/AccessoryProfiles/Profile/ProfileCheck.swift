import AccessoryCore

/// The rules that no single key can break: what must not be twice, what must refer to something, what would be refused
/// on the wire, and what is allowed and probably not meant.
///
/// They are stated here once, for profiles from files and for those made in Swift. Each finding names the path of a
/// key; the reader of files adds the place where that key stands.
struct ProfileCheck {
  /// Something wrong or suspicious.
  struct Finding: Equatable {
    var severity: SourceProblem.Severity
    var path: String
    var message: String
    /// The paths of the values it is concluded from; when one of them could not be read, the conclusion is worth
    /// nothing, because a default stood in.
    var reliesOn: [String]
  }

  private let profile: Profile
  var identity: Profile.Identity { profile.identity }
  /// The paths of the protocols and transports, in the order of the profile's; a file's may have gaps where an entry
  /// could not be read.
  private let protocolPaths: [String]
  private let transportPaths: [String]
  private var findings: [Finding] = []

  init(_ profile: Profile, protocolPaths: [String]? = nil, transportPaths: [String]? = nil) {
    self.profile = profile
    self.protocolPaths = protocolPaths ?? profile.protocols.indices.map { "accessory.protocols[\($0)]" }
    self.transportPaths = transportPaths ?? profile.transports.indices.map { "transports[\($0)]" }
  }

  consuming func run() -> [Finding] {
    checkIdentity()
    checkProtocols()
    checkLink()
    checkTransports()
    checkMessages()
    checkBehavior(profile.behavior, path: "behavior")
    checkQuirks()
    return findings
  }

  mutating func error(_ path: String, _ message: String, reliesOn: [String] = []) {
    findings.append(Finding(severity: .error, path: path, message: message, reliesOn: [path] + reliesOn))
  }

  mutating func warning(_ path: String, _ message: String, reliesOn: [String] = []) {
    findings.append(Finding(severity: .warning, path: path, message: message, reliesOn: [path] + reliesOn))
  }

  // MARK: Protocols, transports, messages, quirks

  private mutating func checkProtocols() {
    let entries = profile.protocols
    if entries.isEmpty { warning("accessory.protocols", "without a protocol no app can open a session") }
    if entries.count > 256 {
      error("accessory.protocols", "an accessory has at most 256 protocols, and this one has \(entries.count)")
    }
    for (index, (entry, path)) in zip(entries, protocolPaths).enumerated() {
      if let fault = Profile.SessionProtocol.fault(inName: entry.name) { error("\(path).name", fault) }
      if entries[..<index].contains(where: { $0.name == entry.name }) {
        error("\(path).name", "the protocol '\(Excerpt.of(entry.name))' is listed twice")
      } else if let twin = entries[..<index].firstIndex(where: { $0.id == entry.id }) {
        error(
          "\(path).id", "the protocols '\(entries[twin].name)' and '\(entry.name)' have the same id \(entry.id)",
          reliesOn: ["\(protocolPaths[twin]).id"])
      }
      checkNativeTransport(entry, path)
      if let behavior = entry.behavior { checkBehavior(behavior, path: "\(path).behavior") }
    }
  }

  private mutating func checkNativeTransport(_ entry: Profile.SessionProtocol, _ path: String) {
    guard let component = entry.nativeTransportComponent else { return }
    let key = "\(path).nativeTransportComponent"
    let usb = profile.transports.filter { $0.kind == .usbHost || $0.kind == .usbDevice }
    let choice =
      usb.isEmpty
      ? "declare one of the kind usbHost"
      : "the declared ones on USB are " + usb.map { String($0.id) }.joined(separator: ", ")
    guard let transport = profile.transports.first(where: { $0.id == component }) else {
      return error(key, "there is no transport with the id \(component): \(choice)", reliesOn: ["transports"])
    }
    if !usb.contains(transport) {
      error(
        key,
        "the transport \(component) is \(transport.kind.name), and native transport needs endpoints on USB: \(choice)",
        reliesOn: ["transports"])
    }
    let natives = profile.protocols.filter { $0.nativeTransportComponent != nil }
    if natives.firstIndex(of: entry) == Profile.SessionProtocol.mostNative {
      error(
        key,
        "a USB device has endpoints for \(Profile.SessionProtocol.mostNative) protocols of native transport, and "
          + "this profile has \(natives.count)", reliesOn: ["accessory.protocols"])
    }
  }

  private mutating func checkTransports() {
    let transports = profile.transports
    if transports.isEmpty { error("transports", "an accessory declares at least one transport") }
    for (index, (transport, path)) in zip(transports, transportPaths).enumerated() {
      if let twin = transports[..<index].firstIndex(where: { $0.id == transport.id }) {
        error(
          "\(path).id", "two transports have the id \(transport.id)", reliesOn: ["\(transportPaths[twin]).id"])
      }
    }
    if !transports.isEmpty, !transports.contains(where: \.supportsIAP2) {
      warning("transports", "no transport supports iAP2")
    }
  }

  private mutating func checkMessages() {
    // Also for protocols of native transport: without endpoints for them their sessions go over the link.
    guard !profile.protocols.isEmpty else { return }
    let start = [Profile.MessageName.id(0xEA00), .name("StartExternalAccessoryProtocolSession")]
    if !profile.messages.received.contains(where: start.contains) {
      warning("messages.received", "without StartExternalAccessoryProtocolSession (0xEA00) no device opens a session")
    }
  }

  private mutating func checkQuirks() {
    for (index, quirk) in profile.quirks.enumerated()
    where profile.quirks[..<index].contains(where: { $0.name == quirk.name }) {
      error("quirks[\(index)]", "the quirk '\(quirk.name)' is given twice", reliesOn: ["quirks"])
    }
  }

  // MARK: Link

  private mutating func checkLink() {
    let link = profile.link
    for (key, value, range) in [
      ("maximumOutstandingPackets", Int(link.maximumOutstandingPackets), Profile.Link.outstandingRange),
      ("maximumPacketLength", Int(link.maximumPacketLength), Profile.Link.packetLengthRange),
      ("maximumRetransmissions", Int(link.maximumRetransmissions), Profile.Link.retransmissionsRange),
      ("maximumCumulativeAcknowledgements", Int(link.maximumCumulativeAcknowledgements), Profile.Link.cumulativeRange),
      ("sessions.control", Int(link.controlSession), Profile.Link.sessionRange),
      ("sessions.externalAccessory", Int(link.externalAccessorySession), Profile.Link.sessionRange),
    ] where !range.contains(value) {
      error("link.\(key)", "\(value) is not within \(range.lowerBound) to \(range.upperBound)")
    }
    for (key, value, range) in [
      ("retransmissionTimeout", link.retransmissionTimeout, Profile.Link.retransmissionTimeoutRange),
      (
        "cumulativeAcknowledgementTimeout", link.cumulativeAcknowledgementTimeout,
        Profile.Link.acknowledgementTimeoutRange
      ),
    ] where !range.contains(value) {
      let (low, high) = (DurationText.format(range.lowerBound), DurationText.format(range.upperBound))
      error("link.\(key)", "\(DurationText.format(value)) is not within \(low) to \(high)")
    }
    if link.maximumCumulativeAcknowledgements > link.maximumOutstandingPackets {
      error(
        "link.maximumCumulativeAcknowledgements",
        "\(link.maximumCumulativeAcknowledgements) cumulative acknowledgements are more than the "
          + "\(link.maximumOutstandingPackets) outstanding packets", reliesOn: ["link.maximumOutstandingPackets"])
    }
    if link.cumulativeAcknowledgementTimeout * 2 > link.retransmissionTimeout {
      warning(
        "link.cumulativeAcknowledgementTimeout",
        "acknowledgements held back for more than half the retransmission timeout make the other side send again",
        reliesOn: ["link.retransmissionTimeout"])
    }
    let ids = link.sessionIDs
    if Set(ids).count < ids.count {
      error("link.sessions", "two sessions have the same id: \(ids.map(String.init).joined(separator: ", "))")
    }
  }
}
