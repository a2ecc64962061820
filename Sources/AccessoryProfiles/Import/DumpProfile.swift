import AccessoryFormats

/// Makes a profile from the fields of one debug description.
struct DumpProfile {
  private let draft: DumpReader.Draft
  private let taken: [String]
  private(set) var problems: [(severity: SourceProblem.Severity, line: Int, message: String)] = []

  /// `taken` are the names of the profiles made before it from the same text.
  init(_ draft: DumpReader.Draft, taken: [String]) {
    self.draft = draft
    self.taken = taken
  }

  /// The accessory; nil, with a problem, when it lacks what every accessory has.
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
    // Hosts recognise the two generations by the length of the certificate in the same way.
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
        problems.append((.warning, line, "the protocol '\(Excerpt.of(name))' is listed twice; it is used once"))
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

  /// The model in small letters with dashes, or the name if the model has no Latin letters; numbered when it is taken.
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
