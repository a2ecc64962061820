import AccessoryFormats

/// A profile as it is in its file, from which any number of accessories are made.
///
/// In texts of the identity, `{index}` is replaced by the number of the instance, from 1. Instances must differ in
/// the serial number: when it has no `{index}` and there are several instances, `-1`, `-2` … are appended to it. The
/// address of a Bluetooth transport is counted up from the one in the file.
///
/// ```swift
/// let template = try ProfileLibrary().template("sensor")
/// template.instances(3).map(\.identity.serialNumber)   // ["SENSOR-0001", "SENSOR-0002", "SENSOR-0003"]
/// ```
public struct ProfileTemplate: Equatable, Sendable {
  /// The profile with its templates not filled in.
  public let profile: Profile
  /// Its warnings.
  public let warnings: [SourceProblem]

  /// A template from a profile.
  public init(_ profile: Profile, warnings: [SourceProblem] = []) {
    self.profile = profile
    self.warnings = warnings
  }

  /// So many accessories, numbered from 1.
  public func instances(_ count: Int) -> [Profile] {
    (0..<max(count, 0)).map { instance($0 + 1, of: count) }
  }

  /// One accessory of several.
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

/// Texts with a place for the number of an instance: `{index}`, `{index:04}` (at least four digits, filled with
/// zeros), `{index:04x}` (the same in hex). Everything else in braces is text.
enum TemplateText {
  private static let opening = "{index"

  /// Whether the text differs from instance to instance.
  static func isTemplate(_ text: String) -> Bool {
    parts(of: text)?.contains { if case .index = $0 { true } else { false } } ?? false
  }

  /// What is wrong with a template; nil when it is correct.
  static func fault(in text: String) -> String? {
    parts(of: text) == nil
      ? "'\(Excerpt.of(text))' is not a template: write '{index}', '{index:04}' or '{index:04x}'"
      : nil
  }

  /// The text of one instance.
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

  /// Nil when a template is malformed.
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

  /// Reads the text between `{index` and `}`.
  private static func index(_ format: Substring) -> Part? {
    if format.isEmpty { return .index(digits: 1, radix: 10) }
    guard format.hasPrefix(":0") else { return nil }
    let isHex = format.hasSuffix("x")
    let digits = format.dropFirst(2).dropLast(isHex ? 1 : 0)
    guard digits.utf8.count == 1, let count = digits.first?.wholeNumberValue, count > 0 else { return nil }
    return .index(digits: count, radix: isHex ? 16 : 10)
  }
}
