import AccessoryCore
import AccessoryProfiles
import AccessoryWorlds

/// What a scenario's file says. With `apps` it is a plan, as `easim soak` writes it, whose world is judged by the rules of
/// seeded worlds; without, one app is judged by what it sees.
public struct ScenarioFile: Equatable, Sendable {
  /// The scenario; with `apps` it has no steps and no expectations.
  public let scenario: Scenario
  /// The plan of a file with `apps`.
  public let plan: SoakPlan?
}

extension ScenarioLibrary {
  /// The file that a reference names: a name, or a path when it has a `/` or an ending.
  public func scenarioFile(_ reference: String) throws(SourceProblems) -> ScenarioFile {
    try ScenarioFile(file(reference), profiles: profiles)
  }
}

extension ScenarioFile {
  static let standardWindow: UInt8 = 127
  static let standardLength: UInt16 = 65_535

  package init(_ file: ScenarioSource, profiles: ProfileLibrary) throws(SourceProblems) {
    (scenario, plan) = try ScenarioReader.read(file, profiles: profiles) { root, scenario, parts in
      guard let apps = root.value("apps") else {
        ScenarioReader.finish(&scenario, root, parts)
        return nil
      }
      return Self.plan(apps, root, scenario, parts)
    }
  }

  private static func plan(
    _ value: JSON5Value, _ root: ObjectReader, _ scenario: Scenario, _ parts: [ScenarioReader.Part]
  ) -> SoakPlan {
    root.refuse(
      ["app", "naive", "expect"], "a scenario with 'apps' is judged by the rules of seeded worlds: only one without")
    let apps = apps(value, root)
    var plan = SoakPlan(
      seed: scenario.seed ?? 1, accessories: parts.map { accessory($0) }, apps: apps.map(\.app),
      steps: planSteps(root, parts.map(\.name), apps.map(\.name)), faults: scenario.faults, line: scenario.line,
      deviceLink: SoakLinkChoices(), deviceWindow: standardWindow, deviceLength: standardLength,
      policy: scenario.policy, deviceFlicker: scenario.deviceFlicker, firstSession: 1, length: .zero)
    plan.length = (plan.steps.last?.at ?? .zero) + scenario.tail
    if let device = root.object("device", ScenarioReader.deviceShape) {
      plan.deviceWindow = UInt8(device.integer("window", in: 1...127) ?? 127)
      plan.deviceLength = UInt16(device.integer("packetLength", in: 128...65_535) ?? 65_535)
      plan.firstSession = UInt16(device.integer("firstSession", in: 1...65_535) ?? 1)
      plan.deviceLink = link(device)
    }
    let words = SoakCoverage.Corner.allCases.map(\.word)
    plan.forbidden = ScenarioReader.texts(root, "forbid").compactMap { word in
      if let corner = SoakCoverage.Corner.named(word) { return corner }
      root.error("forbid", "unknown word '\(word)'\(Suggestion.hint(for: word, in: words))")
      return nil
    }
    return plan
  }

  private static func accessory(_ part: ScenarioReader.Part) -> SoakPlan.Accessory {
    var accessory = SoakPlan.Accessory(profile: part.profile, link: link(part.reader), conduct: .echo)
    if let value = part.reader.value("streams") {
      let place = Place(part.reader.path(of: "streams"), part.reader.problems)
      let streams = Format.list(of: SoakStreamPlan.format, count: 1...Int.max).read(value, at: place)
      accessory.conduct = .streams(streams ?? [])
    }
    return accessory
  }

  /// The link's choices of an accessory or of the device.
  private static func link(_ owner: ObjectReader) -> SoakLinkChoices {
    guard let value = owner.value("link") else { return SoakLinkChoices() }
    let place = Place(owner.path(of: "link"), owner.problems)
    return Format.object(SoakLinkChoices.format).read(value, at: place) ?? SoakLinkChoices()
  }

  private static func apps(_ value: JSON5Value, _ root: ObjectReader) -> [(name: String, app: SoakPlan.App)] {
    let apps = Format.named(of: .object(SoakPlan.App.format)).read(value, at: Place("apps", root.problems)) ?? []
    return apps.map { ($0.name, $0.value) }
  }

  // MARK: Steps

  private static func planSteps(_ root: ObjectReader, _ names: [String], _ apps: [String]) -> [SoakPlan.Step] {
    ScenarioReader.steps(root) { reader in
      if reader.value("app") != nil {
        guard reader.choice("app", of: ["quit"]) != nil else { return nil }
        return ScenarioReader.named(reader, apps, "app").flatMap { apps.firstIndex(of: $0) }.map { .closeApp($0) }
      }
      return ScenarioReader.action(reader, names).flatMap { planAction($0, names, reader) }
    }.map { SoakPlan.Step(at: $0.at, action: $0.action) }
  }

  private static func planAction(
    _ action: Scenario.Action, _ names: [String], _ reader: ObjectReader
  ) -> SoakPlan.Step.Action? {
    func place(_ name: String) -> Int { names.firstIndex(of: name) ?? 0 }
    switch action {
    case .accessoryPlugsIn(let name): return .plugIn(place(name))
    case .accessoryUnplugs(let name): return .unplug(place(name))
    case .accessoryClosesSessions(let name): return .closeSessions(place(name))
    case .cablePulled(let name): return .pull(place(name))
    case .deviceResetsLink(let name): return .resetLink(place(name))
    case .cablePulledUnnoticed, .deviceHeedsCables, .accessoryForgetsSessions, .app, .sdk, .otherApp:
      reader.problems.error(
        at: reader.position, path: reader.path,
        "a scenario with 'apps' has only plugIn, unplug, closeSessions, pull, resetLink, and quit of an app")
      return nil
    }
  }
}
