import AccessoryCore

/// Turns the tree of a profile file into a ``Profile``.
///
/// All mistakes of a file are reported at once, each with its place. The tree is whole: where the file extends
/// another, ``ProfileMerge`` has already laid one over the other, and every value still knows the file it came from.
enum ProfileReader {
  static func read(_ tree: JSON5Value, name: String) throws(SourceProblems) -> Profile {
    let problems = ProblemCollector()
    let profile = read(tree, name: name, problems)
    try problems.throwErrors()
    guard let profile else { preconditionFailure("a profile that was not read has no reported problem") }
    return profile
  }

  private static func read(_ tree: JSON5Value, name: String, _ problems: ProblemCollector) -> Profile? {
    guard let root = ObjectReader(tree, shape: ProfileShapes.profile, problems) else { return nil }
    version(root)
    if let schema = root.value("$schema"), case .text = schema.content {} else { _ = root.text("$schema") }
    guard root.require("accessory"), let accessory = root.object("accessory", ProfileShapes.accessory) else {
      return nil
    }
    var profile = Profile(name: name, identity: identity(accessory))
    profile.summary = root.text("description") ?? ""
    profile.protocols = protocols(accessory)
    root.object("link", ProfileShapes.link).map { profile.link = link($0) }
    root.object("authentication", ProfileShapes.authentication).map { profile.authentication = authentication($0) }
    root.object("power", ProfileShapes.power).map { profile.power = power($0) }
    root.object("messages", ProfileShapes.messages).map { profile.messages = messages($0) }
    if let transports = transports(root) { profile.transports = transports }
    root.object("usb", ProfileShapes.usb).map { profile.usb = usb($0) }
    if let value = root.value("behavior") {
      profile.behavior = Behavior.read(value, path: root.path(of: "behavior"), problems) ?? .echo
    }
    profile.quirks = quirks(root)
    native(profile, accessory)
    return profile
  }

  private static func version(_ root: ObjectReader) {
    guard root.require("version"), let value = root.value("version") else { return }
    if case .number(let number) = value.content, number.integer == Int64(Profile.formatVersion) { return }
    root.error("version", "expected \(Profile.formatVersion), the format this program reads, found \(value.summary)")
  }

  private static func quirks(_ root: ObjectReader) -> [Quirk] {
    var quirks: [Quirk] = []
    for element in root.array("quirks") ?? [] {
      guard let quirk = Quirk.read(element.value, path: element.path, root.problems) else { continue }
      if quirks.contains(where: { $0.name == quirk.name }) {
        root.problems.error(
          at: element.value.position, path: element.path, "the quirk '\(quirk.name)' is given twice")
      }
      quirks.append(quirk)
    }
    return quirks
  }

  /// A protocol's side channel must be one of the declared transports.
  private static func native(_ profile: Profile, _ accessory: ObjectReader) {
    let declared = profile.transports.map(\.id)
    for entry in profile.protocols {
      guard let component = entry.nativeTransportComponent, !declared.contains(component) else { continue }
      let ids = declared.map(String.init).joined(separator: ", ")
      accessory.error(
        "protocols",
        "the protocol '\(entry.name)' names the transport component \(component), and the declared ones are \(ids)")
    }
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
