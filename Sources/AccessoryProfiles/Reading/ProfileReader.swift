import AccessoryCore

/// Turns the tree of a profile file into a ``Profile``.
///
/// All mistakes of a file are reported at once, each with its place. The tree is whole: where the file extends
/// another, ``ProfileMerge`` has already laid one over the other, and every value still knows the file it came from.
enum ProfileReader {
  static func read(_ tree: JSON5Value, name: String) throws(SourceProblems) -> ProfileTemplate {
    let problems = ProblemCollector()
    let profile = read(tree, name: name, problems)
    try problems.throwErrors()
    guard let profile else { preconditionFailure("a profile that was not read has no reported problem") }
    return ProfileTemplate(profile, warnings: problems.problems)
  }

  private static func read(_ tree: JSON5Value, name: String, _ problems: ProblemCollector) -> Profile? {
    guard let root = ObjectReader(tree, shape: ProfileShapes.profile, problems) else { return nil }
    _ = root.text("$schema")
    guard root.require("accessory"), let accessory = root.object("accessory", ProfileShapes.accessory) else {
      return nil
    }
    var profile = Profile(name: name, identity: identity(accessory))
    profile.summary = root.text("description") ?? ""
    let protocols = protocols(accessory)
    profile.protocols = protocols.map(\.entry)
    root.object("link", ProfileShapes.link).map { profile.link = link($0) }
    root.object("authentication", ProfileShapes.authentication).map { profile.authentication = authentication($0) }
    root.object("power", ProfileShapes.power).map { profile.power = power($0) }
    root.object("messages", ProfileShapes.messages).map { profile.messages = messages($0) }
    let transports = transports(root)
    if let transports { profile.transports = transports.map(\.entry) }
    root.object("usb", ProfileShapes.usb).map { profile.usb = usb($0) }
    if let value = root.value("behavior") {
      profile.behavior = Behavior.read(value, path: root.path(of: "behavior"), problems) ?? .echo
    }
    profile.quirks = quirks(root)
    let check = ProfileCheck(
      profile, protocolPaths: protocols.map(\.path), transportPaths: transports?.map(\.path))
    add(check.run(), in: tree, to: problems)
    return profile
  }

  /// Adds the findings that do not rest on a value that could not be read, each with its place in the file.
  private static func add(_ findings: [ProfileCheck.Finding], in tree: JSON5Value, to problems: ProblemCollector) {
    let unreadable = problems.problems.map(\.path)
    for finding in findings {
      let isIdle = finding.reliesOn.contains { relied in unreadable.contains { $0.hasPrefix(relied) } }
      if isIdle { continue }
      problems.add(
        SourceProblem(finding.severity, at: tree.position(at: finding.path), path: finding.path, finding.message))
    }
  }

  /// Refuses a file of another format version. Each file of a chain says its version, and it comes first: the problems
  /// of a format that this program does not know would mean nothing.
  static func checkVersion(of tree: JSON5Value) throws(SourceProblems) {
    guard case .object = tree.content else { return }
    guard let version = tree["version"] else {
      let message = "the key 'version' is missing: write 'version: \(Profile.formatVersion)'"
      throw SourceProblems([SourceProblem(at: tree.position, message)])
    }
    if case .number(let number) = version.content, number.integer == Int64(Profile.formatVersion) { return }
    let message = "expected \(Profile.formatVersion), the format this program reads, found \(version.summary)"
    throw SourceProblems([SourceProblem(at: version.position, path: "version", message)])
  }

  private static func quirks(_ root: ObjectReader) -> [Quirk] {
    (root.array("quirks") ?? []).compactMap { Quirk.read($0.value, path: $0.path, root.problems) }
  }
}

/// The keys of a profile's objects, in the order in which they are written.
enum ProfileShapes {
  static let profile = ObjectShape(
    "profile",
    [
      "$schema", "version", "description", "extends", "accessory", "link", "authentication", "power", "messages",
      "transports", "usb", "behavior", "quirks",
    ])
  static let accessory = ObjectShape(
    "accessory",
    [
      "name", "manufacturer", "modelNumber", "serialNumber", "ppid", "regionCode", "firmwareRevision",
      "firmwareRevisionPending", "hardwareRevision", "dockType", "currentLanguage", "supportedLanguages", "protocols",
    ])
  static let `protocol` = ObjectShape(
    "protocol", ["name", "id", "matchAction", "behavior", "nativeTransportComponent"])
  static let link = ObjectShape(
    "link",
    [
      "maximumOutstandingPackets", "maximumPacketLength", "retransmissionTimeout", "cumulativeAcknowledgementTimeout",
      "maximumRetransmissions", "maximumCumulativeAcknowledgements", "sessions", "zeroAcknowledgement",
    ])
  static let sessions = ObjectShape("sessions", ["control", "externalAccessory", "fileTransfer"])
  static let authentication = ObjectShape("authentication", ["generation", "challenge", "certSerial", "certData"])
  static let power = ObjectShape("power", ["capability", "maximumCurrent"])
  static let messages = ObjectShape("messages", ["sent", "received"])
  static let transport = ObjectShape("transport", ["kind", "id", "name", "mac", "supportsIAP2"])
  static let usb = ObjectShape(
    "usb", ["vendor", "product", "manufacturerString", "productString", "serialString", "speed"])
}
