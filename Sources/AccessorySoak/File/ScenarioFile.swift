import AccessoryFormats
import AccessoryHost
import AccessoryProfiles
import AccessoryWorlds

/// What a scenario's file says.
public enum ScenarioFile: Equatable, Sendable {
  /// One app, which is judged by what it sees.
  case scenario(Scenario)
  /// With `apps`, as `easim soak` writes it: a world that is judged by the rules of seeded worlds.
  case plan(ScenarioWithApps)

  /// The page that `easim scenario show` prints.
  public var page: String {
    switch self {
    case .scenario(let scenario): scenario.page
    case .plan(let file): file.about.page(commands: "```sh\neasim scenario run \(file.about.name.shellWord)\n```")
    }
  }
}

extension ScenarioLibrary {
  /// The file that a reference names: a name, or a path when it has a `/` or an ending.
  public func file(_ reference: String) throws(SourceProblems) -> ScenarioFile {
    try ScenarioFile(source(reference), profiles: profiles)
  }
}

extension ScenarioFile {
  package init(_ source: ScenarioSource, profiles: ProfileLibrary) throws(SourceProblems) {
    self = try source.read(profiles) { tree, names throws(SourceProblems) in
      if tree["apps"] == nil { return .scenario(try Scenario(tree, names, name: source.name)) }
      var names = names
      names.apps = names.apps ?? []
      var file = try ScenarioWithApps.format(names).read(tree)
      file.about.name = source.name
      return .plan(file)
    }
  }
}

/// A scenario with several apps, each of which opens sessions and sends bytes. Instead of expectations, the rules of the
/// soak judge it. Reading the file of a plan gives the same plan, and so the same world to the byte.
public struct ScenarioWithApps: Equatable, Sendable {
  /// What it is about.
  public var about = Scenario.About()
  /// What happens in it.
  public var plan = SoakPlan()

  private var tail: Duration {
    get { plan.length - (plan.steps.last?.at ?? .zero) }
    set { plan.length = (plan.steps.last?.at ?? .zero) + newValue }
  }

  /// As files have it, with what they refer to.
  package static func format(_ names: ScenarioNames = ScenarioNames()) -> Record<Self> {
    Record(
      "scenario with apps", "a scenario with several apps, judged by the rules of seeded worlds: docs/scale.md", Self()
    ) {
      Scenario.About.format.fields(at: \.about)
      Field("seed", \.plan.seed, .seed, "the random seed", isAlwaysWritten: true)
      Field(
        "accessories", \.plan.accessories, .accessories(names.profiles), "the accessories, by the name that steps use",
        isRequired: true)
      Field.cable(\.plan.line, \.plan.faults)
      Field(group: "device", named: "device with apps", "the Apple device") {
        Field.device(\.plan.policy, \.plan.deviceFlicker)
        Field("window", \.plan.deviceWindow, .integer(1...127), "the window that it announces, in packets")
        Field("packetLength", \.plan.deviceLength, .integer(128...65_535), "the longest packet that it accepts")
        Field(
          "firstSession", \.plan.firstSession, .integer(1...65_535), "the number of its first session on each cable")
        Field("link", \.plan.deviceLink, SoakLinkChoices.format)
      }
      Field("apps", \.plan.apps, .apps, "the apps, by the name that steps use", isRequired: true)
      Field(
        "steps", \.plan.steps, .steps(of: SoakPlan.Step.format(names)) { $0.at },
        "what happens, in chronological "
          + "order",
        isRequired: true)
      Field(
        "tail", \.tail, .duration(.zero...Scenario.longest), "how long the world continues after the last step",
        isAlwaysWritten: true, standard: Standard("`60s`") { _ in .seconds(60) })
      Field(
        "forbid", \.plan.forbidden, .list(of: .words(SoakCoverage.Corner.allCases.map { ($0.word, $0) })),
        "what must not happen, as for `easim soak --forbid`")
      Field.refused(
        ["app", "naive", "expect"], "a scenario with 'apps' is judged by the rules of seeded worlds: only one without")
    }
  }
}

extension SoakPlan {
  /// A plan of nothing, with the defaults of files.
  fileprivate init() {
    self.init(
      seed: 1, accessories: [], apps: [], steps: [], faults: [], line: .init(), deviceLink: SoakLinkChoices(),
      deviceWindow: 127, deviceLength: 65_535, policy: .ready, firstSession: 1, length: .zero)
  }

  /// The text of the plan's file, under a comment; only what differs from the defaults is written.
  public func fileText(description: String, comment: String = "") -> String {
    var about = Scenario.About()
    about.summary = description
    let names = ScenarioNames(accessories: accessories.map(\.name), apps: apps.map(\.name))
    return JSON5Writer.write(
      ScenarioWithApps.format(names).tree(ScenarioWithApps(about: about, plan: self)), under: comment)
  }
}

extension Format<[SoakPlan.App]> {
  fileprivate static let apps: Format = Format<[Named<SoakPlan.App>]>.named(of: .object(SoakPlan.App.format)).map {
    apps in
    apps.map { named in
      var app = named.value
      app.name = named.name
      return app
    }
  } back: { apps in
    apps.map { Named($0.name, $0) }
  }
}

/// An accessory of a plan as files have it.
private struct SoakPartSection: Equatable {
  var part: PartSection
  var link = SoakLinkChoices()
  var streams: [SoakStreamPlan]?

  static func format(_ part: Record<PartSection>) -> Record<SoakPartSection> {
    Record("accessory with apps", part.summary, SoakPartSection(part: part.base)) {
      part.fields(at: \.part)
      Field("link", \.link, SoakLinkChoices.format)
      Field(
        "streams", \.streams, .optional(.list(of: SoakStreamPlan.format, count: 1...Int.max)),
        "what it does with its sessions, in rotation; default: echo")
    }
  }

  init(part: PartSection) { self.part = part }

  init(_ accessory: SoakPlan.Accessory) {
    part = PartSection(accessory.profile)
    link = accessory.link
    if case .streams(let streams) = accessory.conduct { self.streams = streams }
  }

  var whole: SoakPlan.Accessory {
    SoakPlan.Accessory(profile: part.whole, link: link, conduct: streams.map { .streams($0) } ?? .echo)
  }
}

extension Format<[SoakPlan.Accessory]> {
  fileprivate static func accessories(_ profiles: ProfileLibrary) -> Format {
    Format<[Named<SoakPartSection>]>.named(atLeast: 1) { name in
      .object(SoakPartSection.format(PartSection.format(named: name, profiles)))
    }.map { sections in
      sections.map { section in
        var accessory = section.value.whole
        accessory.profile.name = section.name
        return accessory
      }
    } back: { accessories in
      accessories.map { Named($0.name, SoakPartSection($0)) }
    }
  }
}

extension SoakPlan.Step {
  fileprivate static func format(_ names: ScenarioNames) -> Format<Self> {
    let time = Record("step with apps", Scenario.Step.summary, Self(at: .zero, action: .noticeCables(true))) {
      Field.time(\.at)
    }
    return WorldAction.format(in: time, at: \.action, names, for: .plans)
  }
}
