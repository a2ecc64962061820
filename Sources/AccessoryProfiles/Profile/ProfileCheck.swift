import AccessoryFormats

/// Checks the rules that involve several keys. Finds duplicates, invalid references, and combinations that are allowed
/// but are probably a mistake.
struct ProfileCheck {
  let profile: Profile
  let object: ObjectReader
  /// The paths of the protocols and transports, in the order of the profile. An entry that could not be read leaves a
  /// gap in the numbering.
  let protocolPaths: [String]
  private let transportPaths: [String]
  private let unreadable: [String]

  static func run(_ profile: Profile, _ object: ObjectReader) {
    let check = ProfileCheck(profile, object)
    check.checkLanguages()
    check.checkProtocols()
    check.checkLink()
    check.checkTransports()
    check.checkMessages()
    check.checkScripts()
    check.checkQuirks()
  }

  private init(_ profile: Profile, _ object: ObjectReader) {
    (self.profile, self.object) = (profile, object)
    protocolPaths = object.problems.paths(of: "accessory.protocols", count: profile.protocols.count)
    transportPaths = object.problems.paths(of: "transports", count: profile.transports.count)
    unreadable = object.problems.errorPaths
  }

  func error(_ path: String, _ message: String, reliesOn: [String] = []) {
    report(.error, path, message, reliesOn)
  }

  func warning(_ path: String, _ message: String, reliesOn: [String] = []) {
    report(.warning, path, message, reliesOn)
  }

  /// Reports a problem, unless a value at one of the paths in `reliesOn` could not be read. If a value could not be
  /// read, the default that replaced it might cause the problem.
  private func report(
    _ severity: SourceProblem.Severity, _ path: String, _ message: String, _ reliesOn: [String]
  ) {
    let isIdle = ([path] + reliesOn).contains { relied in unreadable.contains { $0.hasPrefix(relied) } }
    if isIdle { return }
    object.problems.add(SourceProblem(severity, at: object.tree.position(at: path), path: path, message))
  }

  // MARK: Languages, protocols, transports, messages, quirks

  private func checkLanguages() {
    let identity = profile.identity
    if !identity.supportedLanguages.contains(identity.currentLanguage) {
      warning(
        "accessory.currentLanguage",
        "'\(Excerpt.of(identity.currentLanguage))' is not among the supported languages",
        reliesOn: ["accessory.supportedLanguages"])
    }
  }

  private func checkProtocols() {
    let entries = profile.protocols
    if entries.isEmpty { warning("accessory.protocols", "without a protocol, no app can open a session") }
    for (index, (entry, path)) in zip(entries, protocolPaths).enumerated() {
      if entries[..<index].contains(where: { $0.name == entry.name }) {
        error("\(path).name", "the protocol '\(Excerpt.of(entry.name))' is listed twice")
      } else if let twin = entries[..<index].firstIndex(where: { $0.id == entry.id }) {
        error(
          "\(path).id", "the protocols '\(entries[twin].name)' and '\(entry.name)' have the same id \(entry.id)",
          reliesOn: ["\(protocolPaths[twin]).id"])
      }
      checkNativeTransport(entry, path)
    }
  }

  private func checkNativeTransport(_ entry: Profile.SessionProtocol, _ path: String) {
    guard let component = entry.nativeTransportComponent else { return }
    let key = "\(path).nativeTransportComponent"
    let usb = profile.transports.filter { $0.kind == .usbHost || $0.kind == .usbDevice }
    let choice =
      usb.isEmpty
      ? "declare one of kind usbHost"
      : "the declared USB transports are " + usb.map { String($0.id) }.joined(separator: ", ")
    guard let transport = profile.transports.first(where: { $0.id == component }) else {
      return error(key, "there is no transport with the id \(component): \(choice)", reliesOn: ["transports"])
    }
    if !usb.contains(transport) {
      error(
        key,
        "the transport \(component) is \(transport.kindName), but native transport needs endpoints on USB: \(choice)",
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

  private func checkTransports() {
    let transports = profile.transports
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

  private func checkMessages() {
    // Protocols with native transport count too, because their sessions use the link on cables without native
    // endpoints.
    guard !profile.protocols.isEmpty else { return }
    let start = [Profile.MessageName.id(0xEA00), .name("StartExternalAccessoryProtocolSession")]
    if !profile.messages.received.contains(where: start.contains) {
      warning("messages.received", "without StartExternalAccessoryProtocolSession (0xEA00), no device opens a session")
    }
  }

  private func checkQuirks() {
    for (index, quirk) in profile.quirks.enumerated()
    where profile.quirks[..<index].contains(where: { Quirk.format.areOfOneKind($0, quirk) }) {
      error("quirks[\(index)]", "the quirk '\(quirk.name)' is given twice", reliesOn: ["quirks"])
    }
  }

  // MARK: Link

  private func checkLink() {
    let link = profile.link
    if link.maximumCumulativeAcknowledgements > link.maximumOutstandingPackets {
      error(
        "link.maximumCumulativeAcknowledgements",
        "\(link.maximumCumulativeAcknowledgements) cumulative acknowledgements are more than the "
          + "\(link.maximumOutstandingPackets) outstanding packets", reliesOn: ["link.maximumOutstandingPackets"])
    }
    if link.cumulativeAcknowledgementTimeout * 2 > link.retransmissionTimeout {
      warning(
        "link.cumulativeAcknowledgementTimeout",
        "delaying acknowledgements by more than half the retransmission timeout makes the other end retransmit",
        reliesOn: ["link.retransmissionTimeout"])
    }
    let ids = link.sessionIDs
    if Set(ids).count < ids.count {
      error("link.sessions", "two or more sessions have the same id: \(ids.map(String.init).joined(separator: ", "))")
    }
  }
}
