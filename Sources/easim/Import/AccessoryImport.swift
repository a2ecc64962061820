import AccessoryFormats
import AccessoryProfiles

/// Turns pasted `EAAccessory` debug descriptions into profiles.
///
/// The text may contain any number of accessories, in any of the three known layouts. Lines may have log prefixes, may
/// end with either kind of line break, and may lack trailing spaces. An accessory printed as an element of an array is
/// a single line, with `\n` for line breaks. Text between accessories is skipped. Unknown lines within a description
/// are reported.
///
/// ```swift
/// let imported = AccessoryImport.read(bytes, file: "standard input")
/// imported.accessories.first?.profile.identity.serialNumber
/// imported.problems.map(\.description)
/// ```
struct AccessoryImport: Equatable, Sendable {
  /// One accessory found in the text.
  struct Accessory: Equatable, Sendable {
    /// The profile, named after the model. Settings that are missing from the dump have their default values.
    var profile: Profile
    /// The number of the line where the accessory's description begins.
    var line: Int
    /// The layout of the accessory's description in the dump.
    var generation: AccessoryDescription.Generation
    /// The object's address in the dump.
    var address: UInt64
    /// Whether the accessory was attached.
    var isConnected: Bool
    /// The connection ID, if the dump has one.
    var connectionID: UInt64?
  }

  /// The accessories that could be read, in order.
  let accessories: [Accessory]
  /// The problems that were found. Text without any accessory is also reported as a problem.
  let problems: [SourceProblem]

  /// Reads the accessories in `bytes`. Reported problems name `file` as their source.
  static func read(_ bytes: [UInt8], file: String) -> AccessoryImport {
    let problems = ProblemCollector()
    var reader = DumpReader(file: file, problems)
    for line in DumpLines.split(bytes, file: file, problems) { reader.read(line) }
    reader.finish()
    return AccessoryImport(accessories: reader.accessories, problems: problems.problems)
  }
}

/// A state machine that reads debug descriptions line by line.
///
/// Between accessories, the reader looks for `<EAAccessory: 0x`. Within an accessory, the reader collects fields up to
/// the closing brace. Within the field `protocols`, the reader collects the elements of the list. In a truncated log,
/// the next `<EAAccessory: 0x` may come before the closing brace. The reader then keeps what it has read of the first
/// accessory.
struct DumpReader {
  struct Draft {
    var line: Int
    var address: UInt64
    var fields: [String: (value: String?, line: Int)] = [:]
    var protocols: [(name: String, line: Int)] = []
  }

  private enum State {
    case between
    case inside(Draft)
    case inProtocols(Draft)
  }

  private let file: String
  private let problems: ProblemCollector
  private var state = State.between
  private(set) var accessories: [AccessoryImport.Accessory] = []

  init(file: String, _ problems: ProblemCollector) {
    self.file = file
    self.problems = problems
  }

  mutating func read(_ line: DumpLines.Line) {
    if let address = DumpLine.address(in: line.text) {
      cutShort()
      state = .inside(Draft(line: line.number, address: address))
      return
    }
    switch state {
    case .between: break
    case .inside(let draft): readField(line, draft)
    case .inProtocols(let draft):
      if DumpLine.isClosing(line.text) || DumpLine.field(in: line.text) != nil {
        problem(.warning, line.number, "the list of protocols before this line is not closed by ')'")
        readField(line, draft)
      } else {
        readProtocols(line, draft)
      }
    }
  }

  mutating func finish() {
    cutShort()
    if accessories.isEmpty, problems.errorCount == 0 {
      problem(.error, 1, "this text contains no accessory: a description begins with '<EAAccessory: 0x…> {'")
    }
  }

  private mutating func readField(_ line: DumpLines.Line, _ soFar: Draft) {
    var draft = soFar
    state = .inside(draft)
    guard let (field, value) = DumpLine.field(in: line.text) else {
      if DumpLine.isClosing(line.text) {
        state = .between
        complete(draft)
      } else if !line.text.allSatisfy(\.isWhitespace) {
        problem(.warning, line.number, "not understood and ignored: '\(Excerpt.of(String(line.text)))'")
      }
      return
    }
    guard draft.fields[field] == nil else {
      problem(.warning, line.number, "the field '\(field)' occurs twice in one accessory; the first is used")
      return
    }
    draft.fields[field] = (DumpLine.value(value), line.number)
    state = .inside(draft)
    guard field == "protocols" else { return }
    let list = value.drop { $0 == " " }
    if list.first == "(", DumpLine.value(value) != nil {
      readProtocols(DumpLines.Line(text: list.dropFirst(), number: line.number), draft)
    } else if DumpLine.value(value) != nil {
      problem(.error, line.number, "expected '(' after 'protocols:', followed by one name per line")
    }
  }

  private mutating func readProtocols(_ line: DumpLines.Line, _ soFar: Draft) {
    var draft = soFar
    for element in DumpLine.elements(of: line.text) {
      if element == ")" {
        state = .inside(draft)
        return
      }
      draft.protocols.append((element, line.number))
    }
    state = .inProtocols(draft)
  }

  private mutating func cutShort() {
    switch state {
    case .between: break
    case .inside(let draft), .inProtocols(let draft):
      problem(.warning, draft.line, "the accessory that begins here has no closing '}': the text may be truncated")
      complete(draft)
    }
    state = .between
  }

  private mutating func complete(_ draft: Draft) {
    var building = DumpProfile(draft, taken: accessories.map(\.profile.name))
    let accessory = building.accessory()
    for (severity, line, message) in building.problems { problem(severity, line, message) }
    if let accessory { accessories.append(accessory) }
  }

  private func problem(_ severity: SourceProblem.Severity, _ line: Int, _ message: String) {
    problems.add(SourceProblem(severity, at: SourcePosition(file: file, line: line, column: 1), message))
  }
}

struct DumpProfile {
  private let draft: DumpReader.Draft
  private let taken: [String]
  private(set) var problems: [(severity: SourceProblem.Severity, line: Int, message: String)] = []

  /// Creates a profile. `taken` lists the names of the profiles that have already been created from this text.
  init(_ draft: DumpReader.Draft, taken: [String]) {
    self.draft = draft
    self.taken = taken
  }

  /// Returns the accessory. If the dump lacks a mandatory field, reports a problem and returns nil.
  mutating func accessory() -> AccessoryImport.Accessory? {
    let needed = ["name", "manufacturer", "modelNumber", "serialNumber", "firmwareRevisionActive", "hardwareRevision"]
    let missing = needed.filter { draft.fields[$0] == nil }
    guard missing.isEmpty else {
      let lines = missing.map { "'\($0)'" }.joined(separator: ", ")
      problems.append((.error, draft.line, "the accessory that begins here lacks the line \(lines)"))
      return nil
    }
    var identity = Profile.Identity(
      name: text("name"), manufacturer: text("manufacturer"), modelNumber: text("modelNumber"),
      serialNumber: text("serialNumber"), firmwareRevision: text("firmwareRevisionActive"),
      hardwareRevision: text("hardwareRevision"))
    identity.productPlanUID = draft.fields["ppid"]?.value
    identity.regionCode = draft.fields["regioncode"]?.value
    identity.firmwareRevisionPending = draft.fields["firmwareRevisionPending"]?.value
    identity.dockType = draft.fields["dockType"]?.value ?? ""
    var profile = Profile(name: name(for: identity), identity: identity, protocols: protocols())
    profile.authentication = authentication()
    return AccessoryImport.Accessory(
      profile: profile, line: draft.line, generation: generation, address: draft.address,
      isConnected: isConnected(), connectionID: number("connectionID", suffix: "").map { UInt64($0) })
  }

  private var generation: AccessoryDescription.Generation {
    if draft.fields["regioncode"] == nil { return .a }
    return draft.fields["delegate"] == nil ? .c : .b
  }

  private mutating func text(_ field: String) -> String {
    guard let (value, line) = draft.fields[field] else { return "" }
    guard let value else {
      problems.append((.warning, line, "the field '\(field)' is (null), so an empty text is used"))
      return ""
    }
    if TemplateText.isTemplate(value) || TemplateText.fault(in: value) != nil {
      problems.append((.warning, line, "'{index' in the field '\(field)' stands for an instance number in a profile"))
    }
    return value
  }

  private mutating func isConnected() -> Bool {
    guard let (value, line) = draft.fields["connected"] else { return false }
    if value != "YES", value != "NO" {
      let found = Excerpt.of(value ?? "(null)")
      problems.append((.warning, line, "expected YES or NO after 'connected:', found '\(found)'"))
    }
    return value == "YES"
  }

  private mutating func number(_ field: String, suffix: String) -> Int? {
    guard let (value, line) = draft.fields[field] else { return nil }
    if let value, value.hasSuffix(suffix), let number = Int(value.dropLast(suffix.count)), number >= 0 { return number }
    let form = suffix.isEmpty ? "a number" : "a number and '\(suffix)'"
    problems.append((.warning, line, "expected \(form) after '\(field):', found '\(Excerpt.of(value ?? "(null)"))'"))
    return nil
  }

  private mutating func authentication() -> Profile.Authentication {
    typealias Authentication = Profile.Authentication
    let data = number("certData", suffix: " bytes")
    let serial = number("certSerial", suffix: " bytes")
    // The certificate's length distinguishes the two coprocessor generations.
    var authentication = Authentication((data ?? 0) > 800 ? .older : .current)
    if let data = within(Authentication.certDataRange, data, "certData") { authentication.certData = data }
    if let serial = within(Authentication.certSerialRange, serial, "certSerial") { authentication.certSerial = serial }
    return authentication
  }

  private mutating func within(_ range: ClosedRange<Int>, _ number: Int?, _ field: String) -> Int? {
    guard let number, !range.contains(number), let line = draft.fields[field]?.line else { return number }
    problems.append((.warning, line, "'\(field)' is more than \(range.upperBound) bytes and is omitted"))
    return nil
  }

  private mutating func protocols() -> [Profile.SessionProtocol] {
    if draft.fields["protocols"] == nil {
      problems.append((.warning, draft.line, "the accessory that begins here has no list of protocols"))
    }
    var entries: [Profile.SessionProtocol] = []
    for (name, line) in draft.protocols {
      if let fault = Profile.SessionProtocol.fault(inName: name) {
        problems.append((.error, line, "\(fault); it is omitted"))
      } else if entries.contains(where: { $0.name == name }) {
        problems.append((.warning, line, "the protocol '\(Excerpt.of(name))' is listed twice; the second is ignored"))
      } else if entries.count == 256 {
        problems.append((.error, line, "an accessory has at most 256 protocols; the others are omitted"))
        break
      } else {
        entries.append(Profile.SessionProtocol(name, id: UInt8(entries.count)))
      }
    }
    return entries
  }

  // MARK: The profile's name

  /// Returns a name for the profile. The name is the model in lower case with dashes or, if the model has no Latin
  /// letters, the accessory's name. If another profile already has this name, a number is appended.
  private func name(for identity: Profile.Identity) -> String {
    let candidates = [identity.modelNumber, identity.name, identity.manufacturer].map(Self.slug)
    let base = candidates.first { $0.contains { $0.isLetter } } ?? "imported"
    guard taken.contains(base) else { return base }
    return (2...).lazy.map { "\(base)-\($0)" }.first { !taken.contains($0) } ?? base
  }

  private static func slug(_ text: String) -> String {
    text.lowercased().split { !($0.isASCII && ($0.isLetter || $0.isNumber)) }.joined(separator: "-")
  }
}
