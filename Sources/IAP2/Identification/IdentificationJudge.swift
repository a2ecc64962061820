/// Checks an identification as a device does, rule by rule.
public enum IdentificationJudge: Hashable, Sendable {
  /// Rejects only what Apple devices have been seen to reject; every other finding is a warning.
  case strict
  /// Rejects an identification only if it cannot be split into parameters; every other finding is a warning. Even
  /// accessories that Apple devices accept break many of the rules.
  case lenient

  /// The result of checking an identification.
  public struct Verdict: Hashable, Sendable {
    /// The reasons for the rejection, or an empty array if the identification is accepted.
    public var errors: [IdentificationFinding]
    /// Findings that do not lead to rejection.
    public var warnings: [IdentificationFinding]

    /// Creates a verdict from these findings.
    public init(errors: [IdentificationFinding], warnings: [IdentificationFinding]) {
      self.errors = errors
      self.warnings = warnings
    }

    /// Whether the identification is accepted.
    public var isAccepted: Bool { errors.isEmpty }

    /// The rejection message that the device sends. The rejection names each parameter once, and its message lists
    /// contain only the offending messages.
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
      let isTolerated = reading.isReadable && (self == .lenient || finding.check.isTolerated)
      if isTolerated { verdict.warnings.append(finding) } else { verdict.errors.append(finding) }
    }
    return verdict
  }

  /// Returns a finding for every rule that the identification breaks. A parameter that cannot be read is reported once,
  /// and not again as blank, missing or undeclared.
  private static func findings(in reading: IdentificationReading) -> [IdentificationFinding] {
    let unread = Set(reading.findings.filter { !readAllTheSame.contains($0.check) }.map(\.parameter))
    var findings = IdentificationFindings(identification: reading.identification)
    findings.addBlankTexts()
    findings.found.removeAll { unread.contains($0.parameter) }
    findings.addDuplicates()
    findings.addTransports()
    findings.addMessages()
    return findings.found.filter { unread.isDisjoint(with: basis[$0.check] ?? []) }
  }

  /// Problems that do not prevent a parameter from being read.
  private static let readAllTheSame: Set<IdentificationCheck> = [.presenceWithValue, .textWithoutEnd, .packedLanguages]

  /// The parameters that a rule depends on, other than the parameter named in the rule's findings.
  private static let basis: [IdentificationCheck: Set<UInt16>] = [
    .missingTransport: [14, 15, 16, 17], .unknownNativeTransport: [14, 15, 16, 17, 24],
    .nativeTransportBesideUSB: [14, 15, 16, 17, 24],
    .startWithoutStop: [6], .receivedWithoutRequest: [6], .sessionsWithoutMessages: [7],
  ]
}

private struct IdentificationFindings {
  let identification: Identification
  var found: [IdentificationFinding] = []

  private mutating func add(_ check: IdentificationCheck, _ parameter: UInt16, _ reason: String) {
    found.append(IdentificationFinding(check: check, parameter: parameter, reason: reason))
  }

  private var components: [(parameter: UInt16, id: UInt16, name: String)] {
    identification.transports.map { ($0.kind.rawValue, $0.id, $0.name) }
      + identification.hidComponents.map { (18, $0.id, $0.name) }
  }

  mutating func addBlankTexts() {
    let texts: [(UInt16, String)] = [
      (0, identification.name), (1, identification.model), (2, identification.manufacturer),
      (3, identification.serialNumber), (4, identification.firmwareVersion), (5, identification.hardwareVersion),
      (12, identification.currentLanguage),
    ]
    for (id, text) in texts where isBlank(text) { add(.blankText, id, "\(IdentificationReading.name(id)) is blank") }
    let optionalTexts = [(UInt16(11), identification.appMatchTeamID), (34, identification.productPlanUID)]
    for (id, text) in optionalTexts where text.map(isBlank) ?? false {
      add(.blankOptionalText, id, "\(IdentificationReading.name(id)) is blank")
    }
    for one in identification.protocols where isBlank(one.name) {
      add(.blankText, 10, "the name of protocol \(one.id) is blank")
    }
    if identification.supportedLanguages.contains(where: isBlank) {
      add(.blankText, 13, "a supported language is blank")
    }
    for (parameter, id, name) in components where isBlank(name) {
      add(.blankText, parameter, "the name of component \(id) is blank")
    }
  }

  private func isBlank(_ text: String) -> Bool {
    // A fast path: nearly every string begins with a printable ASCII character.
    if let first = text.utf8.first, (0x21...0x7E).contains(first) { return false }
    return text.allSatisfy(\.isWhitespace)
  }

  mutating func addDuplicates() {
    var ids: Set<UInt8> = []
    var names: Set<String> = []
    for one in identification.protocols {
      if !ids.insert(one.id).inserted { add(.duplicateProtocol, 10, "two protocols have the number \(one.id)") }
      if !names.insert(one.name).inserted { add(.duplicateProtocol, 10, "two protocols are named \(one.name)") }
    }
    // Component numbers need to be unique only within a kind, because each kind has its own messages.
    var numbers: Set<UInt32> = []
    for (parameter, id, _) in components where !numbers.insert(UInt32(parameter) << 16 | UInt32(id)).inserted {
      add(.duplicateComponent, parameter, "two components have the number \(id)")
    }
  }

  mutating func addTransports() {
    if !identification.transports.contains(where: { $0.kind != .wirelessCarPlay }) {
      add(.missingTransport, 16, "no transport component is declared (14 to 17)")
    }
    for one in identification.protocols {
      guard let component = one.nativeTransportComponent else { continue }
      let named = identification.transports.filter { $0.id == component }
      let what = "\(one.name) names transport component \(component), which is not"
      if named.isEmpty {
        add(.unknownNativeTransport, 10, "\(what) declared")
      } else if !named.contains(where: { $0.kind == .usbHost || $0.kind == .usbDevice }) {
        add(.nativeTransportBesideUSB, 10, "\(what) USB")
      }
    }
  }

  mutating func addMessages() {
    let (sent, received) = (identification.messagesSent, identification.messagesReceived)
    func isReserved(_ message: MessageID) -> Bool { [0x1D, 0xAA].contains(message.rawValue >> 8) }
    for (parameter, list, sender) in [(UInt16(6), sent, Link.Role.accessory), (7, received, .device)] {
      add(.reservedMessage, parameter, list.filter(isReserved), "these messages are implied and must not be listed")
      let wrong = list.filter { id in
        !isReserved(id) && MessageCatalog.entry(id)?.sender.map { $0 != sender } ?? false
      }
      add(.wrongDirection, parameter, wrong, "these messages are sent by the other end")
    }
    let unstopped = MessageRelations.stopForStart.filter { sent.contains($0.start) && !sent.contains($0.stop) }
    add(.startWithoutStop, 6, unstopped.map(\.start), "the message that ends it is not declared")
    let unasked = MessageRelations.requestForAnswer.filter {
      received.contains($0.answer) && !sent.contains($0.request)
    }
    add(
      .receivedWithoutRequest, 7, unasked.map(\.answer), "the message that requests it is not declared as sent")
    // Sessions with native transport open and close without messages on the link.
    guard identification.protocols.contains(where: { $0.nativeTransportComponent == nil }) else { return }
    let missing = [MessageID.startExternalAccessorySession, .stopExternalAccessorySession]
      .filter { !received.contains($0) }.map(\.description)
    if !missing.isEmpty {
      add(.sessionsWithoutMessages, 7, "protocols are declared without \(missing.joined(separator: " and "))")
    }
  }

  private mutating func add(
    _ check: IdentificationCheck, _ parameter: UInt16, _ messages: [MessageID], _ reason: String
  ) {
    if messages.isEmpty { return }
    let list = messages.map(\.description).joined(separator: ", ")
    found.append(
      IdentificationFinding(check: check, parameter: parameter, reason: "\(reason): \(list)", messages: messages))
  }
}

enum MessageRelations {
  /// An accessory that sends the start message must also declare the matching stop message.
  static let stopForStart: [(start: MessageID, stop: MessageID)] = [
    (0x4154, 0x4156), (0x4157, 0x4159), (0x4170, 0x4172), (0x4C00, 0x4C02), (0x4C03, 0x4C05), (0x4E03, 0x4E05),
    (0x5000, 0x5002), (0x5200, 0x5203), (0x5400, 0x5401), (0x5402, 0x5404), (0x6800, 0x6803), (0xAE00, 0xAE02),
    (0xDA00, 0xDA02),
  ].map { (MessageID(rawValue: $0.0), MessageID(rawValue: $0.1)) }

  /// An accessory that receives the answer must also declare that it sends the matching request.
  static let requestForAnswer: [(answer: MessageID, request: MessageID)] = [
    (0x4155, 0x4154), (0x4158, 0x4157), (0x4171, 0x4170), (0x4C01, 0x4C00), (0x4C04, 0x4C03), (0x4E04, 0x4E03),
    (0x5001, 0x5000), (0x5201, 0x5200), (0x5202, 0x5200), (0x5204, 0x5200), (0x5403, 0x5402), (0x5701, 0x5700),
    (0x6801, 0x6800), (0xAE01, 0xAE00), (0xDA01, 0xDA00),
  ].map { (MessageID(rawValue: $0.0), MessageID(rawValue: $0.1)) }
}

/// A problem with an identification, explained for firmware developers.
public struct IdentificationFinding: Hashable, Sendable, CustomStringConvertible {
  /// The broken rule.
  public var check: IdentificationCheck
  /// The parameter of 1D01 that breaks the rule.
  public var parameter: UInt16
  /// A sentence that describes the problem.
  public var reason: String
  /// The offending message numbers, for parameters 6 and 7.
  public var messages: [MessageID] = []

  /// Text such as "parameter 10: two protocols have the number 1 (duplicateProtocol)".
  public var description: String {
    "parameter \(parameter): \(reason) (\(check.rawValue))"
  }
}

/// A rule that an identification must follow. Apple devices have been seen to enforce some rules; the other rules
/// follow from the format.
public enum IdentificationCheck: String, Hashable, Sendable, CaseIterable {
  case missingParameter
  case unreadableParameter
  case repeatedParameter
  case blankText
  /// A string lacks its terminating zero byte, but is read anyway.
  case textWithoutEnd
  /// One parameter contains several zero-terminated language codes, all of which are read.
  case packedLanguages
  case blankOptionalText
  /// A presence-only parameter has a value.
  case presenceWithValue
  case duplicateProtocol
  case duplicateComponent
  /// No transport component is declared. Every capture contains a transport component, but whether Apple devices
  /// require one is unknown.
  case missingTransport
  /// A protocol's native transport refers to an undeclared component.
  case unknownNativeTransport
  /// A protocol's native transport refers to a component other than USB, the only transport with endpoints for native
  /// sessions.
  case nativeTransportBesideUSB
  /// A Start message is listed as sent, but its Stop message is not.
  case startWithoutStop
  /// A message is listed as received, but the message that requests it is not listed as sent.
  case receivedWithoutRequest
  /// Identification or authentication messages are listed, although they never need to be.
  case reservedMessage
  /// A message is listed as received although the accessory sends it, or vice versa.
  case wrongDirection
  /// Some protocols use sessions on the link, but the messages that open and close sessions are not listed.
  case sessionsWithoutMessages

  /// Whether Apple devices have been seen to accept an identification that breaks the rule, or their behavior is
  /// unknown.
  public var isTolerated: Bool {
    switch self {
    case .textWithoutEnd, .packedLanguages, .blankOptionalText, .missingTransport, .wrongDirection,
      .sessionsWithoutMessages, .unknownNativeTransport, .nativeTransportBesideUSB:
      true
    default: false
    }
  }
}
