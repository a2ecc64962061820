import AccessoryCore
import AccessoryHost
import AccessoryProfiles
import AccessoryTransports

// Scenarios with `apps`: what happens in them is a plan, and they are judged by the rules of seeded worlds.
extension ScenarioReader {
  static let planAppShape = ObjectShape("planApp", ["sessions", "patience", "rude"])
  static let streamShape = ObjectShape(
    "stream",
    [
      "protocol", "bytes", "chunk", "think", "readBytes", "readEvery", "stopsAfter", "resumesAfter", "closes",
    ])
  static let linkShape = ObjectShape(
    "link",
    ["initialSequence", "extendedAcknowledgement", "cumulativeAcknowledgements"] + linkFlags.map(\.0)
      + linkBounds.map(\.0))

  static let extendedAcknowledgements = ["never", "received", "missing"]
  static var linkFlags: [(String, WritableKeyPath<SoakLinkChoices, Bool>)] {
    [
      ("repeatsOldestOnly", \.repeatsOldestOnly), ("timesFromEach", \.timesFromEach), ("keepsAhead", \.keepsAhead),
      ("offersAgain", \.offersAgain), ("answersOwnRecovery", \.answersOwnRecovery),
    ]
  }
  static var linkBounds: [(String, WritableKeyPath<SoakLinkChoices, Int>)] {
    [("receiveBound", \.receiveBound), ("sendBound", \.sendBound)]
  }
  static let standardWindow: UInt8 = 127
  static let standardLength: UInt16 = 65_535
  static let amounts = 0...1_000_000_000

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
      plan.deviceLink = device.object("link", linkShape).map(linkChoices) ?? plan.deviceLink
    }
    let words = SoakCoverage.Corner.allCases.map(\.word)
    plan.forbidden = texts(root, "forbid").compactMap { word in
      if let corner = SoakCoverage.Corner.named(word) { return corner }
      root.error("forbid", "'\(word)' is nothing that is counted\(ObjectReader.hint(for: word, in: words))")
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
    SoakPlan.Accessory(
      profile: part.profile, link: part.reader.object("link", linkShape).map(linkChoices) ?? SoakLinkChoices(),
      conduct: part.reader.value("streams") == nil ? .echo : .streams(streams(part.reader, "streams", atLeast: 1)))
  }

  private static func apps(_ value: JSON5Value, _ root: ObjectReader) -> [(name: String, app: SoakPlan.App)] {
    guard case .object(let members) = value.content else {
      root.error("apps", "expected an object of apps by name, found \(value.summary)")
      return []
    }
    return members.compactMap { member in
      guard let reader = ObjectReader(member.value, shape: planAppShape, path: "apps.\(member.key)", root.problems)
      else { return nil }
      let app = SoakPlan.App(
        sessions: streams(reader, "sessions"), patience: reader.duration("patience", in: .zero...longest) ?? .zero,
        isRude: reader.boolean("rude") ?? false)
      return (member.key, app)
    }
  }

  // MARK: Streams and links

  private static func streams(_ reader: ObjectReader, _ key: String, atLeast least: Int = 0) -> [SoakStreamPlan] {
    let elements = reader.array(key) ?? []
    if reader.value(key) != nil, elements.count < least { reader.error(key, "expected at least \(least)") }
    return elements.compactMap { path, value in
      ObjectReader(value, shape: streamShape, path: path, reader.problems).map(stream)
    }
  }

  private static func stream(_ reader: ObjectReader) -> SoakStreamPlan {
    var stream = SoakStreamPlan()
    stream.protocolNumber = reader.integer("protocol", in: 0...254) ?? 0
    stream.bytes = reader.integer("bytes", in: amounts) ?? 0
    stream.chunk = reader.integer("chunk", in: 1...amounts.upperBound) ?? max(1, stream.bytes)
    stream.think = reader.duration("think", in: .zero...longest) ?? .zero
    stream.reading = reading(reader)
    switch reader.value("closes")?.content {
    case nil: break
    case .text("afterWriting"): stream.closing = .afterWriting
    default: stream.closing = reader.duration("closes", in: .zero...longest).map { .after($0) } ?? .never
    }
    return stream
  }

  private static func reading(_ reader: ObjectReader) -> SoakStreamPlan.Reading {
    let slow = ["readBytes", "readEvery"].filter { reader.value($0) != nil }
    if slow.count == 1 { reader.error(slow[0], "'readBytes' and 'readEvery' come together") }
    let bytes = reader.integer("readBytes", in: 1...amounts.upperBound)
    let every = reader.duration("readEvery", in: .nanoseconds(1)...longest)
    let after = reader.integer("stopsAfter", in: amounts)
    let resumes = reader.duration("resumesAfter", in: .zero...longest)
    if resumes != nil, after == nil { reader.error("resumesAfter", "only a reader that 'stopsAfter' resumes") }
    if after != nil, !slow.isEmpty { reader.error("stopsAfter", "a reader is slow or stops, and not both") }
    if let bytes, let every { return .slow(bytes: bytes, every: every) }
    if let after { return .stops(after: after, resumes: resumes) }
    return .eager
  }

  private static func linkChoices(_ reader: ObjectReader) -> SoakLinkChoices {
    var choices = SoakLinkChoices()
    choices.initialSequence = UInt8(reader.integer("initialSequence", in: 0...255) ?? 0)
    if let word = reader.choice("extendedAcknowledgement", of: extendedAcknowledgements) {
      choices.extendedAcknowledgement = extendedAcknowledgements.firstIndex(of: word) ?? 0
    }
    choices.cumulativeAcknowledgements = reader.integer("cumulativeAcknowledgements", in: 0...127).map { UInt8($0) }
    for (key, flag) in linkFlags { if let value = reader.boolean(key) { choices[keyPath: flag] = value } }
    for (key, bound) in linkBounds {
      if let value = reader.integer(key, in: 1...amounts.upperBound) { choices[keyPath: bound] = value }
    }
    return choices
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
    case .cablePulledUnnoticed, .deviceHeedsCables, .app:
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
