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
  /// The protocols whose sessions use native transport, on a cable that has native channels.
  let besideTheLink: [String]
  /// The control messages that the accessory sends by itself.
  let rules: [MessageRule]
  /// The messages of the device that the rules are about.
  let heardMessages: Set<MessageID>

  // Its oddities, each nil where it has none.

  private(set) var oddAuthentication: OddAuthentication?
  private(set) var oddIdentification: OddIdentification?
  /// At most how many bytes of the session before each session begins with.
  private(set) var staleBytes: Int?

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
    rules = profile.rules.compactMap { try? $0.rule() }
    heardMessages = MessageRules.heard(by: rules)
    var reportsSessionStatus = profile.declaresSessionStatus
    for quirk in profile.quirks {
      switch quirk {
      case .authentication(let odd): oddAuthentication = odd
      case .identification(let odd): oddIdentification = odd
      case .noStatus: reportsSessionStatus = false
      case .staleBytes(let count): staleBytes = count
      // Of the accessory's whole life: SimulatedAccessory plays these, and SessionOddities those after them.
      case .flicker, .session: break
      case .endsSessions, .wedgesAfter, .goesSilent, .busyAfterCancel, .phantomSession, .dropsBeyond, .replyChunking,
        .obeysFirstSettingsOnly, .failsAfterFirstTransaction:
        break
      }
    }
    self.reportsSessionStatus = reportsSessionStatus
    empty = PreparedIdentification(profile.identification(isWhole: false))
    whole = PreparedIdentification(profile.identification(isWhole: true))
    besideTheLink = profile.protocols.filter { $0.nativeTransportComponent != nil }.map(\.name)
    wholeWithoutSides =
      besideTheLink.isEmpty
      ? whole : PreparedIdentification(profile.identification(isWhole: true, hasNativeChannels: false))
  }

  /// The same accessory with one quirk more.
  func with(_ quirk: Quirk) -> PreparedProfile {
    var profile = profile
    profile.apply(quirk)
    return PreparedProfile(profile, authenticator: authenticator, behavior: behavior)
  }

  /// What it says of itself; without its protocols during the first half of a flicker.
  func identification(isWhole: Bool, hasNativeChannels: Bool) -> PreparedIdentification {
    guard isWhole else { return empty }
    return hasNativeChannels ? whole : wholeWithoutSides
  }
}
