import AccessoryCore
import AccessoryHost
import AccessoryProfiles
import AccessoryTransports

// Scenarios with `apps`: what happens in them is a plan, and they are judged by the rules of seeded worlds.
extension ScenarioReader {
  static let standardWindow: UInt8 = 127
  static let standardLength: UInt16 = 65_535

  /// What only a scenario with `apps` has, and what it has not.
  static let planKeys = ["forbid"]
  static let clientKeys = ["app", "naive", "expect"]

  /// The plan of a scenario with `apps`; nil of any other, where what belongs to a plan is an error.
  static func plan(_ root: ObjectReader, _ scenario: Scenario, _ parts: [PlanPart]) -> SoakPlan? {
    guard let value = root.value("apps") else {
      for key in planKeys where root.value(key) != nil { root.error(key, "only a scenario with 'apps' has '\(key)'") }
      for part in parts { part.reader.refuse(["link", "streams"], "only an accessory of a scenario with 'apps'") }
      root.object("device", deviceShape)?.refuse(
        ["window", "packetLength", "firstSession", "link"], "only the device of a scenario with 'apps'")
      return nil
    }
    root.refuse(clientKeys, "a scenario with 'apps' is judged by the rules of seeded worlds: only one without")
    let apps = apps(value, root)
    var plan = SoakPlan(
      seed: scenario.seed ?? 1, accessories: parts.map { accessory($0) }, apps: apps.map(\.app),
      steps: planSteps(root, parts.map(\.name), apps.map(\.name)), faults: scenario.faults, line: scenario.line,
      deviceLink: SoakLinkChoices(), deviceWindow: standardWindow, deviceLength: standardLength,
      policy: scenario.policy, deviceFlicker: scenario.deviceFlicker, firstSession: 1, length: .zero)
    plan.length = (plan.steps.last?.at ?? .zero) + scenario.tail
    if let device = root.object("device", deviceShape) {
      plan.deviceWindow = UInt8(device.integer("window", in: 1...127) ?? 127)
      plan.deviceLength = UInt16(device.integer("packetLength", in: 128...65_535) ?? 65_535)
      plan.firstSession = UInt16(device.integer("firstSession", in: 1...65_535) ?? 1)
      plan.deviceLink = link(device)
    }
    let words = SoakCoverage.Corner.allCases.map(\.word)
    plan.forbidden = texts(root, "forbid").compactMap { word in
      if let corner = SoakCoverage.Corner.named(word) { return corner }
      root.error("forbid", "'\(word)' is nothing that is counted\(Suggestion.hint(for: word, in: words))")
      return nil
    }
    return plan
  }

  /// An accessory as it was read so far.
  struct PlanPart {
    let name: String
    let profile: Profile
    let reader: ObjectReader
  }

  private static func accessory(_ part: PlanPart) -> SoakPlan.Accessory {
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
    steps(root) { reader in
      if reader.value("app") != nil {
        guard reader.choice("app", of: ["quit"]) != nil else { return nil }
        return named(reader, apps, "app").flatMap { apps.firstIndex(of: $0) }.map { .closeApp($0) }
      }
      let action = action(reader, names)
      return action.flatMap { planAction($0, names, reader) }
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

extension ObjectReader {
  /// Reports keys that do not belong here.
  fileprivate func refuse(_ keys: [String], _ who: String) {
    for key in keys where value(key) != nil { error(key, "\(who) has '\(key)'") }
  }
}
