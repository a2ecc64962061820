import AccessoryCore

/// The section `accessory`: the identity and the protocols.
extension ProfileReader {
  /// No field of identification holds more; the wire's own limit is far above.
  static let longestText = 255

  static func identity(_ reader: ObjectReader) -> Profile.Identity {
    for key in ["name", "manufacturer", "modelNumber", "serialNumber", "firmwareRevision", "hardwareRevision"] {
      reader.require(key)
    }
    var identity = Profile.Identity(
      name: field("name", reader) ?? "", manufacturer: field("manufacturer", reader) ?? "",
      modelNumber: field("modelNumber", reader) ?? "", serialNumber: field("serialNumber", reader) ?? "",
      firmwareRevision: field("firmwareRevision", reader) ?? "",
      hardwareRevision: field("hardwareRevision", reader) ?? "")
    identity.productPlanUID = optionalField("ppid", reader)
    identity.regionCode = optionalField("regionCode", reader)
    identity.firmwareRevisionPending = optionalField("firmwareRevisionPending", reader)
    if let dockType = field("dockType", reader) { identity.dockType = dockType }
    if let language = field("currentLanguage", reader) { identity.currentLanguage = language }
    if let list = reader.array("supportedLanguages") {
      identity.supportedLanguages = list.compactMap { reader.element($0) }
      if list.isEmpty { reader.error("supportedLanguages", "an accessory supports at least one language") }
    } else {
      identity.supportedLanguages = [identity.currentLanguage]
    }
    return identity
  }

  /// A text of identification: not too long, without a NUL (which ends a text on the wire), its template well-formed.
  private static func field(_ key: String, _ reader: ObjectReader) -> String? {
    guard let text = reader.text(key) else { return nil }
    if text.unicodeScalars.count > longestText {
      reader.error(key, "a text has at most \(longestText) characters, and this one has \(text.unicodeScalars.count)")
    }
    if text.unicodeScalars.contains("\0") {
      reader.error(key, "a NUL would end the text on the wire")
    }
    if let fault = TemplateText.fault(in: text) { reader.error(key, fault) }
    return text
  }

  /// A text that may be `null`, which is what Apple's dump prints as `(null)`.
  private static func optionalField(_ key: String, _ reader: ObjectReader) -> String? {
    if let value = reader.value(key), value.content == .null { return nil }
    return field(key, reader)
  }

  static func protocols(_ reader: ObjectReader) -> [Profile.SessionProtocol] {
    let elements = reader.array("protocols") ?? []
    if elements.count > 256 {
      reader.error("protocols", "an accessory has at most 256 protocols, not \(elements.count)")
    }
    var entries: [Profile.SessionProtocol] = []
    for (index, element) in elements.enumerated().prefix(256) {
      guard let entry = entry(element, defaultID: UInt8(index), reader) else { continue }
      if let name = entries.first(where: { $0.id == entry.id })?.name {
        reader.problems.error(
          at: element.value.position, path: element.path,
          "the protocols '\(name)' and '\(entry.name)' have the same id \(entry.id)")
      }
      if entries.contains(where: { $0.name == entry.name }) {
        reader.problems.error(
          at: element.value.position, path: element.path, "the protocol '\(entry.name)' is listed twice")
      }
      entries.append(entry)
    }
    return entries
  }

  private static func entry(
    _ element: (path: String, value: JSON5Value), defaultID: UInt8, _ reader: ObjectReader
  ) -> Profile.SessionProtocol? {
    if case .text(let name) = element.value.content {
      if let fault = Profile.SessionProtocol.fault(inName: name) {
        reader.problems.error(at: element.value.position, path: element.path, fault)
      }
      return Profile.SessionProtocol(name, id: defaultID)
    }
    guard case .object = element.value.content else {
      reader.problems.error(
        at: element.value.position, path: element.path,
        "expected a protocol's name or an object, found \(element.value.summary)")
      return nil
    }
    guard let object = ObjectReader(element.value, shape: ProfileShapes.protocol, path: element.path, reader.problems),
      object.require("name"), let name = object.text("name")
    else { return nil }
    if let fault = Profile.SessionProtocol.fault(inName: name) { object.error("name", fault) }
    let id = object.integer("id", in: 0...255).map { UInt8($0) }
    var entry = Profile.SessionProtocol(name, id: id ?? defaultID)
    if let action = matchAction(object) { entry.matchAction = action }
    if let value = object.value("behavior") {
      entry.behavior = Behavior.read(value, path: object.path(of: "behavior"), reader.problems)
    }
    entry.nativeTransportComponent = object.integer("nativeTransportComponent", in: 0...65_535).map { UInt16($0) }
    return entry
  }

  private static func matchAction(_ object: ObjectReader) -> Profile.MatchAction? {
    guard let value = object.value("matchAction") else { return nil }
    if case .number = value.content {
      return object.integer("matchAction", in: 0...255).map { Profile.MatchAction(rawValue: UInt8($0)) }
    }
    let word = object.choice("matchAction", of: Profile.MatchAction.names.map(\.name))
    return Profile.MatchAction.names.first { $0.name == word }?.action
  }
}
