import AccessoryCore

/// The section `accessory`: the identity and the protocols.
extension ProfileReader {
  static func identity(_ reader: ObjectReader) -> Profile.Identity {
    for key in ["name", "manufacturer", "modelNumber", "serialNumber", "firmwareRevision", "hardwareRevision"] {
      reader.require(key)
    }
    var identity = Profile.Identity(
      name: reader.text("name") ?? "", manufacturer: reader.text("manufacturer") ?? "",
      modelNumber: reader.text("modelNumber") ?? "", serialNumber: reader.text("serialNumber") ?? "",
      firmwareRevision: reader.text("firmwareRevision") ?? "",
      hardwareRevision: reader.text("hardwareRevision") ?? "")
    identity.productPlanUID = optionalField("ppid", reader)
    identity.regionCode = optionalField("regionCode", reader)
    identity.firmwareRevisionPending = optionalField("firmwareRevisionPending", reader)
    if let dockType = reader.text("dockType") { identity.dockType = dockType }
    if let language = reader.text("currentLanguage") { identity.currentLanguage = language }
    if let list = reader.array("supportedLanguages") {
      identity.supportedLanguages = list.compactMap { reader.element($0) }
    } else {
      identity.supportedLanguages = [identity.currentLanguage]
    }
    return identity
  }

  /// A text that may be `null`, which is what Apple's dump prints as `(null)`.
  private static func optionalField(_ key: String, _ reader: ObjectReader) -> String? {
    if let value = reader.value(key), value.content == .null { return nil }
    return reader.text(key)
  }

  /// The protocols that can be read, each with its path. Their number is limited here because an id is a byte.
  static func protocols(_ reader: ObjectReader) -> [(path: String, entry: Profile.SessionProtocol)] {
    let elements = reader.array("protocols") ?? []
    guard elements.count <= 256 else {
      reader.error("protocols", "an accessory has at most 256 protocols, and this one has \(elements.count)")
      return []
    }
    return elements.enumerated().compactMap { index, element in
      entry(element, defaultID: UInt8(index), reader).map { (element.path, $0) }
    }
  }

  private static func entry(
    _ element: (path: String, value: JSON5Value), defaultID: UInt8, _ reader: ObjectReader
  ) -> Profile.SessionProtocol? {
    if case .text(let name) = element.value.content { return Profile.SessionProtocol(name, id: defaultID) }
    guard case .object = element.value.content else {
      reader.problems.error(
        at: element.value.position, path: element.path,
        "expected a protocol's name or an object, found \(element.value.summary)")
      return nil
    }
    guard let object = ObjectReader(element.value, shape: ProfileShapes.protocol, path: element.path, reader.problems),
      object.require("name"), let name = object.text("name")
    else { return nil }
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
