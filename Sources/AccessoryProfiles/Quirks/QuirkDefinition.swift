import AccessoryCore

/// A kind of quirk: its name, what it does, and the parameters it takes.
public struct QuirkDefinition: Equatable, Sendable {
  /// The name in `--quirk` and in profiles.
  public let name: String
  /// What it does, in a sentence for `easim run --help`.
  public let summary: String
  /// Its parameters.
  public let parameters: [OptionParameter]

  /// The definition of that name.
  public static func named(_ name: String) -> QuirkDefinition? {
    all.first { $0.name == name }
  }
}

extension QuirkDefinition {
  /// Every quirk there is.
  public static let all = [flicker, authentication, identification, session, noStatus, staleBytes]

  /// Connect with an empty list of protocols, disconnect, and moments later connect whole: what Apple's EADemo readme
  /// describes. Nobody has published the true timings, so the defaults are ours.
  public static let flicker = QuirkDefinition(
    name: "flicker",
    summary: "connects with no protocols, disconnects, and connects again whole; the default timings are ours",
    parameters: [
      .choice("maker", ["wire", "device"], "who makes it: the accessory by detaching, or the device role by itself"),
      .count("cycles", 1...10_000, 1, "how many empty appearances come before the whole one"),
      .duration("empty", .zero ... .seconds(3600), .milliseconds(250), "how long an empty appearance lasts"),
      .duration("gap", .zero ... .seconds(3600), .milliseconds(300), "how long the accessory is away after it"),
      .duration("jitter", .zero ... .seconds(60), .zero, "up to how much each length is off, either way, by the seed"),
      .choice("auth", ["answer", "never"], "whether the empty appearance answers the authentication"),
    ])

  /// What goes wrong while the accessory authenticates.
  public static let authentication = QuirkDefinition(
    name: "authentication",
    summary: "does not authenticate as it should",
    parameters: [
      .choice(
        "answer", ["refuse", "never", "wrong", "slow"],
        "the device role refuses a right signature; or the accessory never answers, signs wrongly, answers late"),
      .duration("delay", .zero ... .seconds(3600), .seconds(5), "how late the certificate is, and then the signature"),
    ])

  /// What goes wrong while the accessory identifies itself; set-up slower than 10 s in the background gets an app
  /// suspended (field failure W13).
  public static let identification = QuirkDefinition(
    name: "identification",
    summary: "does not identify itself in time",
    parameters: [
      .choice("answer", ["slow", "never"], "whether the accessory identifies itself late or not at all"),
      .duration("delay", .zero ... .seconds(3600), .seconds(12), "how late a slow answer is"),
    ])

  /// What goes wrong when a session is opened (field failures W6, W8 and W12, and F11 of the API's behaviours).
  public static let session = QuirkDefinition(
    name: "session",
    summary: "does not serve sessions as it should",
    parameters: [
      .choice(
        "answer", ["refuse", "ignore", "silent", "close", "detach"],
        "refuses by status; ignores the start; takes bytes and never answers; closes it later; or detaches"),
      .duration("delay", .zero ... .seconds(3600), .seconds(1), "how long after the start it closes or detaches"),
      .count("times", 0...1_000_000, 0, "how many sessions are treated so before the others work; 0 for all"),
    ])

  /// Many accessories never send the status of a session; a device must not wait for it.
  public static let noStatus = QuirkDefinition(
    name: "no-status",
    summary: "never sends the status of a session (0xEA03)",
    parameters: [])

  /// What the endpoint still held of the last session comes first in the next one (field failure W17).
  public static let staleBytes = QuirkDefinition(
    name: "stale-bytes",
    summary: "begins each session but the first with bytes of the one before",
    parameters: [.count("count", 1...65_536, 64, "at most how many bytes")])
}
