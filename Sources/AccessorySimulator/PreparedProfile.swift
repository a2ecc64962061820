import AccessoryProfiles
import Certificates
import IAP2

/// How one accessory conducts itself at whatever cable it is on: its profile, looked up and written for the wire once
/// instead of with each attachment.
final class PreparedProfile {
  let profile: Profile
  let authenticator: any AccessoryAuthenticator
  let behavior: (Behavior) -> any AccessoryBehavior
  /// What the profile says about the link.
  let link: LinkSettings
  /// Whether sessions that are opened are reported.
  let reportsSessionStatus: Bool
  /// The protocols whose sessions go by native transport where a cable has native channels.
  let besideTheLink: [String]

  // Its oddities, each nil where it has none.

  let oddAuthentication: Quirk?
  let oddIdentification: Quirk?
  let staleBytes: Quirk?

  private let empty: PreparedIdentification
  private let whole: PreparedIdentification
  private let wholeWithoutSides: PreparedIdentification

  init(
    _ profile: Profile, authenticator: any AccessoryAuthenticator,
    behavior: @escaping (Behavior) -> any AccessoryBehavior
  ) {
    self.profile = profile
    self.authenticator = authenticator
    self.behavior = behavior
    link = profile.linkSettings
    oddAuthentication = profile.quirk(QuirkDefinition.authentication.name)
    oddIdentification = profile.quirk(QuirkDefinition.identification.name)
    staleBytes = profile.quirk(QuirkDefinition.staleBytes.name)
    reportsSessionStatus = profile.declaresSessionStatus && profile.quirk(QuirkDefinition.noStatus.name) == nil
    empty = PreparedIdentification(profile.identification(isWhole: false))
    whole = PreparedIdentification(profile.identification(isWhole: true))
    besideTheLink = profile.protocols.filter { $0.nativeTransportComponent != nil }.map(\.name)
    wholeWithoutSides =
      besideTheLink.isEmpty
      ? whole : PreparedIdentification(profile.identification(isWhole: true, hasNativeChannels: false))
  }

  /// What it says of itself; without its protocols during the first half of a flicker.
  func identification(isWhole: Bool, hasNativeChannels: Bool) -> PreparedIdentification {
    guard isWhole else { return empty }
    return hasNativeChannels ? whole : wholeWithoutSides
  }
}
