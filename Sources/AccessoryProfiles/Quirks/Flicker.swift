/// The flicker as its players need it: connect with no protocols, disconnect, moments later connect whole.
///
/// The `wire` maker is the accessory, which attaches, identifies with no protocols, detaches and attaches again; the
/// `device` maker is the device role, which publishes an accessory early and withdraws it. Both read the same numbers.
public struct Flicker: Equatable, Sendable {
  /// Who makes it.
  public enum Maker: String, Sendable {
    /// The accessory, by really detaching.
    case wire
    /// The device role, by itself.
    case device
  }

  /// Who makes it.
  public var maker: Maker
  /// How many empty appearances come before the whole one.
  public var cycles: Int
  /// How long an empty appearance lasts.
  public var empty: Duration
  /// How long the accessory is away after it.
  public var gap: Duration
  /// Up to how much each length is off, either way.
  public var jitter: Duration
  /// Whether the empty appearance answers the authentication.
  public var answersAuthentication: Bool

  /// The flicker that a quirk of that name asks for.
  public init?(_ quirk: Quirk?) {
    guard let quirk, quirk.name == QuirkDefinition.flicker.name,
      let maker = Maker(rawValue: quirk.choice("maker"))
    else { return nil }
    self.maker = maker
    cycles = quirk.count("cycles")
    empty = quirk.duration("empty")
    gap = quirk.duration("gap")
    jitter = quirk.duration("jitter")
    answersAuthentication = quirk.choice("auth") == "answer"
  }

  /// A length with its jitter, by this chance; never less than nothing.
  public func jittered(_ length: Duration, using random: inout some RandomNumberGenerator) -> Duration {
    guard jitter > .zero else { return length }
    let offset = Double.random(in: -1...1, using: &random)
    return max(.zero, length + jitter * offset)
  }
}
