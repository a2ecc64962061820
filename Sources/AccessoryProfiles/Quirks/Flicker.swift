import AccessoryFormats

/// The flicker as its players need it: connect with no protocols, disconnect, moments later connect whole.
///
/// That is what Apple's EADemo read-me describes. The true timings are not published, so the defaults are ours. The
/// `wire` maker is the accessory, which attaches, identifies with no protocols, detaches and attaches again; the
/// `device` maker is the device role, which publishes an accessory early and withdraws it.
public struct Flicker: Equatable, Sendable {
  /// What makes it.
  public enum Maker: String, CaseIterable, Sendable {
    /// The accessory, by really detaching.
    case wire
    /// The device role, by itself.
    case device
  }

  /// What makes it.
  public var maker: Maker
  /// How many empty appearances come before the whole one.
  public var cycles: Int
  /// How long an empty appearance lasts.
  public var empty: Duration
  /// How long the accessory is disconnected afterwards.
  public var gap: Duration
  /// Up to how much each length is off, either way.
  public var jitter: Duration
  /// Whether the empty appearance answers the authentication.
  public var answersAuthentication: Bool

  /// A flicker, by default one cycle of the accessory.
  public init(
    _ maker: Maker = .wire, cycles: Int = 1, empty: Duration = .milliseconds(250), gap: Duration = .milliseconds(300),
    jitter: Duration = .zero, answersAuthentication: Bool = true
  ) {
    (self.maker, self.cycles, self.empty, self.gap) = (maker, cycles, empty, gap)
    (self.jitter, self.answersAuthentication) = (jitter, answersAuthentication)
  }

  static let format = Record(
    "flicker",
    "connects with no protocols, disconnects, and connects again with all of them; the default times are easim's "
      + "choice",
    Flicker()
  ) {
    Field("maker", \.maker, .choice, "what causes it: the accessory by detaching, or the device")
    Field(
      "cycles", \.cycles, .integer(1...10_000), "number of connects with no protocols before one with all of them")
    Field("empty", \.empty, .duration(.zero ... .seconds(3600)), "how long it stays connected with no protocols")
    Field("gap", \.gap, .duration(.zero ... .seconds(3600)), "how long it then stays disconnected")
    Field(
      "jitter", \.jitter, .duration(.zero ... .seconds(60)),
      "largest random change of each of these times")
    Field(
      "auth", \.answersAuthentication, .words([("answer", true), ("never", false)]),
      "whether the accessory authenticates while it has no protocols")
  }.example("flicker,cycles=3,gap=1s")

  /// A length with its jitter, by this chance; never less than nothing.
  public func jittered(_ length: Duration, using random: inout some RandomNumberGenerator) -> Duration {
    guard jitter > .zero else { return length }
    let offset = Double.random(in: -1...1, using: &random)
    return max(.zero, length + jitter * offset)
  }
}
