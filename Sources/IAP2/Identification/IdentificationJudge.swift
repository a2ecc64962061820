/// Checks an identification as the device does; each rule is a named check.
public struct IdentificationJudge: Hashable, Sendable {
  /// Rules whose severity differs from ``IdentificationCheck/defaultSeverity``.
  public var severities: [IdentificationCheck: IdentificationCheck.Severity] = [:]

  /// Every rule has its default severity.
  public init() {}

  /// Refuses only an identification that cannot be split into parameters; all other findings are warnings.
  /// Accessories that phones accept break many of the rules.
  public static var lenient: IdentificationJudge {
    var judge = IdentificationJudge()
    for check in IdentificationCheck.allCases { judge.severities[check] = .warning }
    return judge
  }

  /// Refuses what iPhones were seen to refuse, and warns where that is unknown.
  public static var strict: IdentificationJudge { IdentificationJudge() }

  /// The result of checking an identification.
  public struct Verdict: Hashable, Sendable {
    /// Why it is refused; empty when it is accepted.
    public var errors: [IdentificationFinding]
    /// Findings that do not lead to a refusal.
    public var warnings: [IdentificationFinding]

    /// A verdict with these findings.
    public init(errors: [IdentificationFinding], warnings: [IdentificationFinding]) {
      self.errors = errors
      self.warnings = warnings
    }

    /// Whether it is accepted.
    public var isAccepted: Bool { errors.isEmpty }

    /// The refusal as the device sends it: each refused parameter once, the message lists with the messages.
    public var rejection: ControlMessage {
      ControlMessage(.identificationRejected) { writer in
        for id in Set(errors.map(\.parameter)).sorted() {
          writer.list(id, errors.filter { $0.parameter == id }.flatMap(\.messages).map(\.rawValue))
        }
      }
    }
  }

  /// Checks an identification.
  public func judge(_ reading: IdentificationReading) -> Verdict {
    var verdict = Verdict(errors: [], warnings: [])
    for finding in reading.findings + (reading.isReadable ? Self.findings(in: reading) : []) {
      let severity = severities[finding.check] ?? finding.check.defaultSeverity
      switch reading.isReadable ? severity : .error {
      case .error: verdict.errors.append(finding)
      case .warning: verdict.warnings.append(finding)
      case .ignored: break
      }
    }
    return verdict
  }

  /// Every rule that an identification breaks. A parameter that could not be read is reported once: it does not count
  /// as blank, missing or undeclared as well.
  private static func findings(in reading: IdentificationReading) -> [IdentificationFinding] {
    let identification = reading.identification
    let unread = Set(reading.findings.filter { !readAllTheSame.contains($0.check) }.map(\.parameter))
    let findings =
      blankTexts(identification).filter { !unread.contains($0.parameter) } + duplicates(identification)
      + transports(identification) + messages(identification)
    return findings.filter { unread.isDisjoint(with: basis[$0.check] ?? []) }
  }

  /// Findings about parameters that were read all the same.
  private static let readAllTheSame: Set<IdentificationCheck> = [.presenceWithValue, .textWithoutEnd, .packedLanguages]

  /// The parameters that a rule depends on, besides the one that the finding names.
  private static let basis: [IdentificationCheck: Set<UInt16>] = [
    .missingTransport: [14, 15, 16, 17], .unknownNativeTransport: [14, 15, 16, 17, 24],
    .nativeTransportBesideUSB: [14, 15, 16, 17, 24],
    .startWithoutStop: [6], .receivedWithoutRequest: [6], .sessionsWithoutMessages: [7],
  ]

  private static func blankTexts(_ identification: Identification) -> [IdentificationFinding] {
    let texts: [(UInt16, String)] = [
      (0, identification.name), (1, identification.model), (2, identification.manufacturer),
      (3, identification.serialNumber), (4, identification.firmwareVersion), (5, identification.hardwareVersion),
      (12, identification.currentLanguage),
    ]
    let optionalTexts = [(UInt16(11), identification.appMatchTeamID), (34, identification.productPlanUID)]
    var findings = texts.filter { isBlank($0.1) }.map {
      IdentificationFinding(
        check: .blankText, parameter: $0.0, reason: "\(IdentificationReading.name($0.0)) is blank")
    }
    for (id, text) in optionalTexts where text.map(isBlank) ?? false {
      findings.append(
        .init(check: .blankOptionalText, parameter: id, reason: "\(IdentificationReading.name(id)) is blank"))
    }
    for one in identification.protocols where isBlank(one.name) {
      findings.append(.init(check: .blankText, parameter: 10, reason: "the name of protocol \(one.id) is blank"))
    }
    if identification.supportedLanguages.contains(where: isBlank) {
      findings.append(.init(check: .blankText, parameter: 13, reason: "a supported language is blank"))
    }
    let components =
      identification.transports.map { ($0.kind.rawValue, $0.id, $0.name) }
      + identification.hidComponents.map { (18, $0.id, $0.name) }
    for (parameter, id, name) in components where isBlank(name) {
      findings.append(
        .init(check: .blankText, parameter: parameter, reason: "the name of component \(id) is blank"))
    }
    return findings
  }

  private static func isBlank(_ text: String) -> Bool {
    // A fast path: nearly every text begins with a printable ASCII character.
    if let first = text.utf8.first, (0x21...0x7E).contains(first) { return false }
    return text.allSatisfy(\.isWhitespace)
  }

  private static func duplicates(_ identification: Identification) -> [IdentificationFinding] {
    var findings: [IdentificationFinding] = []
    var ids: Set<UInt8> = []
    var names: Set<String> = []
    for one in identification.protocols {
      if !ids.insert(one.id).inserted {
        findings.append(
          .init(check: .duplicateProtocol, parameter: 10, reason: "two protocols have the number \(one.id)"))
      }
      if !names.insert(one.name).inserted {
        findings.append(.init(check: .duplicateProtocol, parameter: 10, reason: "two protocols are named \(one.name)"))
      }
    }
    var components: Set<UInt16> = []
    let declared =
      identification.transports.map { ($0.kind.rawValue, $0.id) } + identification.hidComponents.map { (18, $0.id) }
    for (parameter, id) in declared where !components.insert(id).inserted {
      findings.append(
        .init(check: .duplicateComponent, parameter: parameter, reason: "two components have the number \(id)"))
    }
    return findings
  }

  private static func transports(_ identification: Identification) -> [IdentificationFinding] {
    var findings: [IdentificationFinding] = []
    if !identification.transports.contains(where: { $0.kind != .wirelessCarPlay }) {
      findings.append(
        .init(check: .missingTransport, parameter: 16, reason: "no transport component is declared (14 to 17)"))
    }
    for one in identification.protocols {
      guard let component = one.nativeTransportComponent else { continue }
      let named = identification.transports.filter { $0.id == component }
      if named.isEmpty {
        findings.append(
          .init(
            check: .unknownNativeTransport, parameter: 10,
            reason: "\(one.name) names transport component \(component), which is not declared"))
      } else if !named.contains(where: { $0.kind == .usbHost || $0.kind == .usbDevice }) {
        findings.append(
          .init(
            check: .nativeTransportBesideUSB, parameter: 10,
            reason: "\(one.name) names transport component \(component), which is not USB"))
      }
    }
    return findings
  }

  private static func messages(_ identification: Identification) -> [IdentificationFinding] {
    let (sent, received) = (identification.messagesSent, identification.messagesReceived)
    var findings: [IdentificationFinding] = []
    func find(_ check: IdentificationCheck, _ parameter: UInt16, _ messages: [MessageID], _ reason: String) {
      if messages.isEmpty { return }
      let list = messages.map(\.description).joined(separator: ", ")
      findings.append(.init(check: check, parameter: parameter, reason: "\(reason): \(list)", messages: messages))
    }
    func isReserved(_ message: MessageID) -> Bool { [0x1D, 0xAA].contains(message.rawValue >> 8) }
    for (parameter, list, sender) in [(UInt16(6), sent, Link.Role.accessory), (7, received, .device)] {
      find(.reservedMessage, parameter, list.filter(isReserved), "these are implied and must not be listed")
      let wrong = list.filter { id in
        !isReserved(id) && MessageCatalog.entry(id)?.sender.map { $0 != sender } ?? false
      }
      find(.wrongDirection, parameter, wrong, "these are sent by the other end")
    }
    find(
      .startWithoutStop, 6,
      MessageRelations.stopForStart.filter { sent.contains($0.start) && !sent.contains($0.stop) }
        .map(\.start), "the message that ends it is not declared")
    find(
      .receivedWithoutRequest, 7,
      MessageRelations.requestForAnswer.filter { received.contains($0.answer) && !sent.contains($0.request) }
        .map(\.answer), "the message that asks for it is not declared as sent")
    // Sessions of native transport begin and end without a message on the link.
    if identification.protocols.contains(where: { $0.nativeTransportComponent == nil }) {
      let needed: [MessageID] = [.startExternalAccessorySession, .stopExternalAccessorySession]
      let missing = needed.filter { !received.contains($0) }
      if !missing.isEmpty {
        findings.append(
          .init(
            check: .sessionsWithoutMessages, parameter: 7,
            reason: "protocols are declared without " + missing.map(\.description).joined(separator: " and ")))
      }
    }
    return findings
  }
}

/// Which messages need which others, as data.
enum MessageRelations {
  private static func id(_ value: UInt16) -> MessageID { MessageID(rawValue: value) }

  /// An accessory that sends the first must declare the second.
  static let stopForStart: [(start: MessageID, stop: MessageID)] = [
    (0x4154, 0x4156), (0x4157, 0x4159), (0x4170, 0x4172), (0x4C00, 0x4C02), (0x4C03, 0x4C05), (0x4E03, 0x4E05),
    (0x5000, 0x5002), (0x5200, 0x5203), (0x5400, 0x5401), (0x5402, 0x5404), (0x6800, 0x6803), (0xAE00, 0xAE02),
    (0xDA00, 0xDA02),
  ].map { (id($0.0), id($0.1)) }

  /// An accessory that wants the first must declare that it sends the second.
  static let requestForAnswer: [(answer: MessageID, request: MessageID)] = [
    (0x4155, 0x4154), (0x4158, 0x4157), (0x4171, 0x4170), (0x4C01, 0x4C00), (0x4C04, 0x4C03), (0x4E04, 0x4E03),
    (0x5001, 0x5000), (0x5201, 0x5200), (0x5202, 0x5200), (0x5204, 0x5200), (0x5403, 0x5402), (0x5701, 0x5700),
    (0x6801, 0x6800), (0xAE01, 0xAE00), (0xDA01, 0xDA00),
  ].map { (id($0.0), id($0.1)) }
}
