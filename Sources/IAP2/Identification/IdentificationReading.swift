/// The part of an identification that can be read, and a finding for every error.
///
/// Reading continues after an error, so that a firmware developer sees all errors at once and the rejection can name
/// every bad parameter.
public struct IdentificationReading: Hashable, Sendable {
  /// The part of the identification that could be read.
  public private(set) var identification = Identification()
  /// The errors found while reading.
  public private(set) var findings: [IdentificationFinding] = []
  /// Whether the message could be split into parameters; if not, there are no findings about individual parameters.
  public private(set) var isReadable = true

  /// Reads the parameters of a 1D01 message.
  public init(_ message: ControlMessage) {
    let parameters: [Parameter]
    do {
      parameters = try ParameterReader.read(message.body)
    } catch {
      add(.unreadableParameter, 0, error.description)
      isReadable = false
      return
    }
    for parameter in parameters { take(parameter) }
    func count(_ id: UInt16) -> Int { parameters.count { $0.id == id } }
    for id in Self.mandatory where count(id) == 0 {
      add(.missingParameter, id, "\(Self.name(id)) is missing")
    }
    for id in Self.single where count(id) > 1 {
      add(.repeatedParameter, id, "\(Self.name(id)) comes \(count(id)) times")
    }
  }

  private mutating func add(_ check: IdentificationCheck, _ parameter: UInt16, _ reason: String) {
    findings.append(IdentificationFinding(check: check, parameter: parameter, reason: reason))
  }

  private static let mandatory: [UInt16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13]
  private static let single: [UInt16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 34]
  private static let names: [UInt16: String] = Dictionary(
    (MessageCatalog.entry(.identificationInformation)?.parameters ?? []).map { ($0.id, $0.name) },
    uniquingKeysWith: { first, _ in first })

  static func name(_ id: UInt16) -> String {
    names[id].map { id == 6 || id == 7 ? "the list of \($0)" : "the \($0)" } ?? "it"
  }

  private mutating func take(_ parameter: Parameter) {
    do throws(ParameterError) {
      switch parameter.id {
      case 0: identification.name = try text(parameter)
      case 1: identification.model = try text(parameter)
      case 2: identification.manufacturer = try text(parameter)
      case 3: identification.serialNumber = try text(parameter)
      case 4: identification.firmwareVersion = try text(parameter)
      case 5: identification.hardwareVersion = try text(parameter)
      case 6: identification.messagesSent = try parameter.list().map(MessageID.init)
      case 7: identification.messagesReceived = try parameter.list().map(MessageID.init)
      case 8: identification.powerProvidingCapability = try parameter.number()
      case 9: identification.maximumCurrentDrawn = try parameter.number()
      case 10: identification.protocols.append(try readProtocol(parameter))
      case 11: identification.appMatchTeamID = try text(parameter)
      case 12: identification.currentLanguage = try text(parameter)
      case 13: try takeLanguages(parameter)
      case 14, 15, 16, 17, 24:
        if let kind = TransportComponent.Kind(rawValue: parameter.id) {
          identification.transports.append(try readTransport(parameter, kind))
        }
      case 18: identification.hidComponents.append(try readHID(parameter))
      case 34: identification.productPlanUID = try text(parameter)
      default:
        // The offset is a position in the message and not part of the identification itself.
        identification.other.append(Parameter(id: parameter.id, value: parameter.value))
      }
    } catch {
      add(.unreadableParameter, parameter.id, error.description)
    }
  }

  private var hasLanguages = false

  /// Normally each parameter contains one language code, but some accessories pack several zero-terminated codes into a
  /// single parameter.
  private mutating func takeLanguages(_ parameter: Parameter) throws(ParameterError) {
    var languages: [String] = []
    let parts = parameter.value.split(separator: 0, omittingEmptySubsequences: true)
    if parts.count > 1 {
      for part in parts { languages.append(try Parameter(id: 13, value: part + [0], offset: parameter.offset).text()) }
      add(
        .packedLanguages, 13,
        "\(parts.count) languages are packed in one parameter; each needs its own parameter")
    } else {
      languages = [try text(parameter)]
    }
    if !hasLanguages { identification.supportedLanguages = [] }
    hasLanguages = true
    identification.supportedLanguages += languages
  }

  /// Reads a string, even if its terminating zero byte is missing. If the string is in a group, findings give `group`
  /// as the parameter.
  private mutating func text(_ parameter: Parameter, in group: UInt16? = nil) throws(ParameterError) -> String {
    guard let last = parameter.value.last, last != 0 else { return try parameter.text() }
    let whole = Parameter(id: parameter.id, value: parameter.value + [0], offset: parameter.offset)
    let text = try whole.text()
    add(
      .textWithoutEnd, group ?? parameter.id,
      (group == nil ? "" : "its parameter \(parameter.id): ") + "the text lacks its terminating zero byte")
    return text
  }

  /// Reports a finding if a presence-only parameter has a value. Returns true if the parameter is present.
  private mutating func checkPresence(_ parameter: Parameter?, in group: UInt16) -> Bool {
    guard let parameter else { return false }
    if !parameter.value.isEmpty {
      add(
        .presenceWithValue, group,
        "its parameter \(parameter.id) must have no value but has \(parameter.value.count) bytes")
    }
    return true
  }

  private mutating func readProtocol(_ parameter: Parameter) throws(ParameterError) -> ExternalAccessoryProtocol {
    let group = try parameter.group()
    var native: UInt16?
    if let component = group.first(3) { native = try component.number() }
    var action = ExternalAccessoryProtocol.MatchAction.none
    if let value = group.first(2) { action = .init(rawValue: try value.number()) }
    return ExternalAccessoryProtocol(
      id: try group.only(0, "protocol number", base: parameter.offset).number(),
      name: try text(group.only(1, "protocol name", base: parameter.offset), in: 10),
      matchAction: action, nativeTransportComponent: native, isCarPlay: checkPresence(group.first(4), in: 10))
  }

  private mutating func readTransport(
    _ parameter: Parameter, _ kind: TransportComponent.Kind
  ) throws(ParameterError) -> TransportComponent {
    let group = try parameter.group()
    var transport = TransportComponent(
      kind: kind, id: try group.only(0, "component number", base: parameter.offset).number(),
      name: try text(group.only(1, "component name", base: parameter.offset), in: kind.rawValue),
      supportsIAP2: checkPresence(group.first(2), in: kind.rawValue))
    // Sources describe parameter 4 only for these groups, and unknown parameters in a group are ignored.
    if kind == .usbHost || kind == .wirelessCarPlay {
      transport.supportsCarPlay = checkPresence(group.first(4), in: kind.rawValue)
    }
    for extra in group where extra.id == 3 {
      switch kind {
      case .usbDevice: transport.sampleRates.append(try extra.number())
      case .usbHost: transport.carPlayInterface = try extra.number()
      case .bluetooth: transport.address = extra.value
      case .serial, .wirelessCarPlay: break
      }
    }
    return transport
  }

  private mutating func readHID(_ parameter: Parameter) throws(ParameterError) -> HIDComponent {
    let group = try parameter.group()
    return HIDComponent(
      id: try group.only(0, "component number", base: parameter.offset).number(),
      name: try text(group.only(1, "component name", base: parameter.offset), in: 18),
      function: try group.only(2, "HID function", base: parameter.offset).number())
  }
}

/// An identification that has been read and checked. This type is a class, because identifications are large and shared
/// by many owners.
public final class JudgedIdentification: Equatable, Sendable {
  /// The identification.
  public let identification: Identification
  /// The result of the check.
  public let verdict: IdentificationJudge.Verdict

  /// Creates a judged identification, which by default is accepted without findings.
  public init(
    _ identification: Identification,
    _ verdict: IdentificationJudge.Verdict = IdentificationJudge.Verdict(errors: [], warnings: [])
  ) {
    self.identification = identification
    self.verdict = verdict
  }

  convenience init(reading message: ControlMessage, _ judge: IdentificationJudge) {
    let reading = IdentificationReading(message)
    self.init(reading.identification, judge.judge(reading))
  }

  /// Returns true if the identifications and the verdicts are equal.
  public static func == (left: JudgedIdentification, right: JudgedIdentification) -> Bool {
    left === right || (left.identification == right.identification && left.verdict == right.verdict)
  }
}

/// A cache of the identifications that devices received most recently. A reconnecting accessory sends the same bytes
/// again, and comparing bytes is cheaper than reading and checking them.
///
/// When the cache is full, the oldest entry is dropped.
public final class IdentificationMemory {
  /// The contents of a cache.
  package struct Known: Sendable {
    fileprivate var judge = IdentificationJudge.strict
    fileprivate var entries: [(body: [UInt8], judged: JudgedIdentification)] = []
    package init() {}
  }

  private static let capacity = 16
  // Exclusivity is not checked, because every accessory that connects is looked up; no other code runs meanwhile.
  @exclusivity(unchecked) package private(set) var known: Known
  /// Whether the cache contains identifications that it did not start with.
  package private(set) var hasLearned = false
  @exclusivity(unchecked) private var settings: DeviceRole.SharedSettings?

  /// Creates an empty cache.
  public convenience init() { self.init(Known()) }

  /// Creates a cache that starts with the contents of another one.
  package init(_ known: Known) { self.known = known }

  func judged(_ message: ControlMessage, by judge: IdentificationJudge) -> JudgedIdentification {
    if judge != known.judge {
      known.judge = judge
      known.entries.removeAll()
    }
    for one in known.entries where Self.areSame(one.body, message.body) { return one.judged }
    let judged = JudgedIdentification(reading: message, judge)
    if known.entries.count == Self.capacity { known.entries.removeFirst() }
    known.entries.append((message.body, judged))
    hasLearned = true
    return judged
  }

  /// Returns an object shared by all peers with equal settings, because each copy would take 300 bytes. Settings differ
  /// only while a device is finding out which startup order an accessory needs.
  func shared(_ settings: DeviceRole.Settings) -> DeviceRole.SharedSettings {
    if let known = self.settings, known.value == settings { return known }
    let made = DeviceRole.SharedSettings(settings)
    self.settings = made
    return made
  }

  /// Compares all bytes without an early exit, so that the compiler can vectorize the loop.
  private static func areSame(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    guard left.count == right.count else { return false }
    let (left, right) = (left.span, right.span)
    var difference: UInt8 = 0
    for index in left.indices { difference |= left[index] ^ right[index] }
    return difference == 0
  }
}
