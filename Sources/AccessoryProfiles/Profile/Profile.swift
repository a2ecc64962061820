import AccessoryFormats

/// Describes a simulated accessory: its identity, link, behavior and quirks.
///
/// A profile can be read from a JSON5 file by ``ProfileLibrary``, or created in Swift. Each section has defaults, so an
/// identity and a protocol are enough for a minimal profile.
///
/// ```swift
/// let glasses = try ProfileLibrary().profile("lawk-view")
/// glasses.identity.name            // "李未可 View AI眼镜"
/// glasses.protocols.map(\.name)    // ["com.lawaken.iap2"]
/// ```
public struct Profile: Equatable, Sendable {
  /// The version of the file format.
  public static let formatVersion = 1

  /// The name of the profile in the library, which is the name of the file without its extension.
  public var name: String
  /// A one-sentence summary for `easim profile list`.
  public var summary = ""
  /// The accessory's identity.
  public var identity: Identity
  /// The External Accessory protocols that the accessory offers, in the order in which it declares them.
  public var protocols: [SessionProtocol]
  /// The values that the accessory requests when a link is set up.
  public var link = Link()
  /// How the accessory proves that it is licensed.
  public var authentication = Authentication()
  /// What the accessory declares about power.
  public var power = Power()
  /// Which control messages the accessory declares.
  public var messages = Messages()
  /// The transports that the accessory declares.
  public var transports = [Transport(.usbHost, id: 0, name: "USB")]
  /// The accessory's description as a USB device.
  public var usb = USB()
  /// What the accessory does with the bytes of a session, unless the protocol has its own behavior.
  public var behavior = Behavior.echo
  /// The accessory's HID functions.
  public var hid: [HID] = []
  /// The accessory's location receiver, or nil if it has none.
  public var location: Location?
  /// The control messages that the accessory sends automatically.
  public var rules: [MessageRuleEntry] = []
  /// The accessory's quirks.
  public var quirks: [Quirk] = []

  /// Creates a profile with defaults for everything except the identity.
  public init(name: String, identity: Identity, protocols: [SessionProtocol] = []) {
    self.name = name
    self.identity = identity
    self.protocols = protocols
  }

  /// Returns the behavior of one of the protocols.
  public func behavior(of entry: SessionProtocol) -> Behavior {
    entry.behavior ?? behavior
  }

  /// Adds a quirk, which replaces any other quirk of the same kind. This lets the command line override the file.
  public mutating func apply(_ quirk: Quirk) {
    quirks.removeAll { Quirk.format.areOfOneKind($0, quirk) }
    quirks.append(quirk)
  }

  // MARK: - Files

  /// The format of the file, which defines every key with its default and its meaning.
  public static let format = Record(
    "profile",
    "an easim profile, which describes an accessory and its behavior. Files are JSON5. The reader checks what a schema "
      + "cannot express: ids and protocols that occur twice, ranges of durations, parameters in the text forms, "
      + "references between sections", Profile(name: "", identity: Identity.format.base)
  ) {
    Field(passing: "$schema", .text, "the path of the JSON Schema, for editors")
    Field(constant: "version", formatVersion, "the version of this format")
    Field("description", \.summary, .text, "a one-sentence description, which 'easim profile list' shows")
    Field(
      passing: "extends", .text, "the name of the base profile, or its path relative to this file")
    Field(group: "accessory", Identity.format.summary, isRequired: true) {
      Identity.format.fields(at: \.identity)
      Field(
        "protocols", \.protocols,
        .list(of: SessionProtocol.format.format(orJust: "name"), count: 0...256) { index in
          SessionProtocol("", id: UInt8(truncatingIfNeeded: index))
        }, "the External Accessory protocols, in the order in which the accessory declares them",
        isAlwaysWritten: true)
    }
    Field("link", \.link, Link.format)
    Field("authentication", \.authentication, Authentication.format)
    Field("power", \.power, Power.format)
    Field("messages", \.messages, Messages.format)
    Field(
      "transports", \.transports,
      .list(of: .object(Transport.format), count: 1...Int.max) { index in
        Transport(.usbHost, id: UInt16(clamping: index), name: "")
      }, "the transports that the accessory declares; default: USB with the Apple device as the host")
    Field("usb", \.usb, USB.format)
    Field(
      "behavior", \.behavior, .oneOf(Behavior.format),
      "the accessory's behavior in sessions, unless a protocol defines its own",
      isAlwaysWritten: true)
    Field(
      "hid", \.hid, .list(of: .object(HID.format)) { HID(id: UInt16(clamping: $0)) }, "the accessory's HID functions")
    Field("location", \.location, .optional(.object(Location.format)), Location.format.summary)
    Field(
      "rules", \.rules, .list(of: .object(MessageRuleEntry.format)),
      "the control messages that the accessory sends automatically, as answers, on connecting or repeatedly")
    Field("quirks", \.quirks, .list(of: .oneOf(Quirk.format)), "the accessory's quirks, each kind at most once")
  }.checked { profile, object in
    guard case .object? = object.value("accessory")?.content else { return }
    ProfileCheck.run(profile, object)
  }

  /// Returns all errors and warnings about the profile. Each error or warning contains the path of the key in the file.
  ///
  /// A profile that was read from a file has only warnings, because all errors were reported when the file was read.
  /// The same rules apply to profiles that are created in Swift.
  public func check() -> [SourceProblem] {
    let problems = ProblemCollector()
    _ = Profile.format.read(tree, onto: self, at: Place(problems))
    return problems.problems
  }

  /// The profile as a JSON tree with all values that differ from the defaults. Reading the tree restores the profile.
  public var tree: JSON5Value { Profile.format.tree(self) }

  /// Returns the profile as the text of a file, with a comment at the top.
  public func text(comment: String, as style: JSON5Writer.Style = .json5) -> String {
    JSON5Writer.write(tree, under: comment, as: style)
  }
}

/// A profile as its file defines it. Any number of accessories can be created from a template.
///
/// In the identity's strings, `{index}` is replaced by the instance's 1-based number. If there are several instances
/// and the serial number does not contain `{index}`, then `-1`, `-2` … are appended to keep the serial numbers
/// distinct. Each instance's Bluetooth address follows that of the previous instance.
///
/// ```swift
/// let template = try ProfileLibrary().template("sensor")
/// template.instances(3).map(\.identity.serialNumber)   // ["SENSOR-0001", "SENSOR-0002", "SENSOR-0003"]
/// ```
public struct ProfileTemplate: Equatable, Sendable {
  /// The profile before `{index}` is replaced.
  public let profile: Profile
  /// The profile's warnings.
  public let warnings: [SourceProblem]

  /// Creates a template from a profile.
  public init(_ profile: Profile, warnings: [SourceProblem] = []) {
    self.profile = profile
    self.warnings = warnings
  }

  /// Returns this many accessories, numbered from 1.
  public func instances(_ count: Int) -> [Profile] {
    (0..<max(count, 0)).map { instance($0 + 1, of: count) }
  }

  /// Returns one of several accessories that are created from the template.
  public func instance(_ index: Int = 1, of count: Int = 1) -> Profile {
    var instance = profile
    let serial = profile.identity.serialNumber
    if count > 1, !TemplateText.isTemplate(serial) { instance.identity.serialNumber = "\(serial)-\(index)" }
    for text in Profile.Identity.texts { text.fillIn(&instance.identity, index) }
    instance.transports = profile.transports.map { transport in
      var numbered = transport
      if case .bluetooth(let address) = transport.kind {
        numbered.kind = .bluetooth(Profile.MACAddress(address.value &+ UInt64(index - 1)))
      }
      return numbered
    }
    return instance
  }
}

/// Replaces the placeholder for the number of an instance in strings: `{index}`, `{index:04}` (at least four digits,
/// padded with zeros), `{index:04x}` (the same in hex). Anything else in braces is ordinary text.
package enum TemplateText {
  private static let opening = "{index"

  package static func isTemplate(_ text: String) -> Bool {
    parts(of: text)?.contains { if case .index = $0 { true } else { false } } ?? false
  }

  /// Returns what is wrong with a string that contains placeholders, or nil if nothing is wrong.
  package static func fault(in text: String) -> String? {
    parts(of: text) == nil
      ? "'\(Excerpt.of(text))' is not a template: write '{index}', '{index:04}' or '{index:04x}'"
      : nil
  }

  static func filled(_ text: String, index: Int) -> String {
    guard let parts = parts(of: text) else { return text }
    return parts.map { part in
      switch part {
      case .text(let text): return text
      case .index(let digits, let radix): return String(index, radix: radix).zeroPadded(to: digits)
      }
    }.joined()
  }

  private enum Part {
    case text(String)
    case index(digits: Int, radix: Int)
  }

  private static func parts(of text: String) -> [Part]? {
    var parts: [Part] = []
    var literal = ""
    var rest = text[...]
    while let first = rest.first {
      guard rest.hasPrefix(opening) else {
        literal.append(first)
        rest = rest.dropFirst()
        continue
      }
      guard let closing = rest.firstIndex(of: "}"),
        let part = index(rest[rest.index(rest.startIndex, offsetBy: opening.count)..<closing])
      else { return nil }
      parts.append(.text(literal))
      parts.append(part)
      literal = ""
      rest = rest[rest.index(after: closing)...]
    }
    return parts + [.text(literal)]
  }

  private static func index(_ format: Substring) -> Part? {
    if format.isEmpty { return .index(digits: 1, radix: 10) }
    guard format.hasPrefix(":0") else { return nil }
    let isHex = format.hasSuffix("x")
    let digits = format.dropFirst(2).dropLast(isHex ? 1 : 0)
    guard digits.utf8.count == 1, let count = digits.first?.wholeNumberValue, count > 0 else { return nil }
    return .index(digits: count, radix: isHex ? 16 : 10)
  }
}
