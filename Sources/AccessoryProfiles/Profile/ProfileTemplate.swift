import AccessoryCore

/// A profile as it stands in its file, from which any number of accessories are made.
///
/// Where a text of the identity holds `{index}`, each instance has its number there, from 1. The serial number must
/// tell instances apart: without a template in it, and with more than one instance, `-1`, `-2` … are added to it. The
/// address of a Bluetooth transport is counted up, the first instance having the one in the file.
///
/// ```swift
/// let template = try ProfileLibrary().template("sensor")
/// template.instances(3).map(\.identity.serialNumber)   // ["SENSOR-0001", "SENSOR-0002", "SENSOR-0003"]
/// ```
public struct ProfileTemplate: Equatable, Sendable {
  /// The profile with its templates not filled in.
  public let profile: Profile
  /// What is suspicious about it.
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
    instance.identity.fillIn(index)
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

extension Profile.Identity {
  /// Puts an instance's number into every template.
  fileprivate mutating func fillIn(_ index: Int) {
    for field in Self.texts { self[keyPath: field] = TemplateText.filled(self[keyPath: field], index: index) }
    for field in Self.optionalTexts {
      self[keyPath: field] = self[keyPath: field].map { TemplateText.filled($0, index: index) }
    }
  }

  private static var texts: [WritableKeyPath<Self, String>] {
    [
      \.name, \.manufacturer, \.modelNumber, \.serialNumber, \.firmwareRevision, \.hardwareRevision, \.dockType,
      \.currentLanguage,
    ]
  }

  private static var optionalTexts: [WritableKeyPath<Self, String?>] {
    [\.firmwareRevisionPending, \.productPlanUID, \.regionCode]
  }
}
