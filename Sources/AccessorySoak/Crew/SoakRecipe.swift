import AccessoryCore
import AccessoryProfiles

/// How seeds become worlds: the settings that all worlds of a run share.
///
/// ```swift
/// var recipe = SoakRecipe()
/// recipe.profile = ("lawk-view", try library.template("lawk-view"))
/// recipe.forbidden = [.giveUp]
/// let outcome = Soak.run(recipe.plan(23))
/// ```
public struct SoakRecipe: Sendable {
  /// The profile of the accessories and the name by which the user gave it; random accessories when nil.
  public var profile: (reference: String, template: ProfileTemplate)?
  /// Corners that must not be reached; reaching one counts as a broken rule.
  public var forbidden: [SoakCoverage.Corner] = []

  /// Random accessories, and nothing forbidden.
  public init() {}

  /// The plan of a seed.
  public func plan(_ seed: UInt64) -> SoakPlan {
    var plan = SoakPlan(seed: seed, template: profile?.template)
    plan.forbidden = forbidden
    return plan
  }

  /// The command that plays the world of a seed again with a transcript.
  public func command(replaying seed: UInt64) -> String {
    Self.command(replaying: seed, profile: profile?.reference, forbidden: forbidden)
  }

  /// The same for a recipe of which only the words are known.
  static func command(replaying seed: UInt64, profile: String?, forbidden: [SoakCoverage.Corner]) -> String {
    var words = ["easim", "soak"]
    if let profile { words.append(profile) }
    words += ["--seed", "\(seed)", "--seeds", "1"]
    for corner in forbidden { words += ["--forbid", corner.word] }
    return (words + ["--transcript", "-"]).map(\.shellWord).joined(separator: " ")
  }
}
