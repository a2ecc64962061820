import AccessoryCore
import AccessoryProfiles

/// Turns a scenario's file into a ``Scenario``; every mistake is reported at once, each with its place.
enum ScenarioReader {
  static let shape = ObjectShape(
    "scenario",
    [
      "$schema", "version", "description", "reproduces", "source", "naive", "accessories", "cable", "device", "steps",
      "tail", "expect",
    ])
  static let cableShape = ObjectShape("cable", ["latency", "bytesPerSecond"])
  static let deviceShape = ObjectShape("device", ["policy", "flicker"])
  static let partShape = ObjectShape("accessory", ["profile", "quirks", "serial"])
  static let stepShape = ObjectShape("step", ["at", "accessory", "cable", "device", "of"])
  static let expectationShape = ObjectShape("expectation", ["event", "of", "protocols", "after", "before"])

  private static let longest = Duration.seconds(24 * 3_600)

  static func read(
    _ bytes: [UInt8], file: String, name: String, profiles: ProfileLibrary
  ) throws(SourceProblems) -> Scenario {
    let tree: JSON5Value
    do { tree = try JSON5.read(bytes, file: file) } catch { throw SourceProblems([error]) }
    let problems = ProblemCollector()
    let scenario = read(tree, name: name, profiles, problems)
    try problems.throwErrors()
    guard let scenario else { preconditionFailure("a scenario that was not read has no reported problem") }
    return scenario
  }

  private static func read(
    _ tree: JSON5Value, name: String, _ profiles: ProfileLibrary, _ problems: ProblemCollector
  ) -> Scenario? {
    guard let root = ObjectReader(tree, shape: shape, problems) else { return nil }
    _ = root.text("$schema")
    if root.require("version") { _ = root.integer("version", in: Scenario.formatVersion...Scenario.formatVersion) }
    root.require("description")
    root.require("steps")
    root.require("expect")
    let parts = parts(root, profiles)
    let names = parts.map(\.name)
    let device = root.object("device", deviceShape)
    var scenario = Scenario(
      name: name, summary: root.text("description") ?? "", reproduces: texts(root, "reproduces"),
      source: root.text("source") ?? "", accessories: parts,
      policy: device?.choice("policy", of: ["ready", "early"]) == "early" ? .early : .ready,
      deviceFlicker: device.flatMap { flicker($0) }, steps: steps(root, names),
      tail: root.duration("tail", in: .zero...longest) ?? .seconds(60), expectations: expectations(root, names))
    scenario.naiveClient = root.choice("naive", of: ScenarioClients.naive.map(\.name))
    if let cable = root.object("cable", cableShape) {
      scenario.line.latency = cable.duration("latency", in: .zero ... .seconds(60)) ?? .zero
      scenario.line.bytesPerSecond = cable.integer("bytesPerSecond", in: 1...1_000_000_000)
    }
    return scenario
  }

  private static func texts(_ reader: ObjectReader, _ key: String) -> [String] {
    (reader.array(key) ?? []).compactMap { element in
      if case .text(let text) = element.value.content { return text }
      reader.problems.error(
        at: element.value.position, path: element.path, "expected text, found \(element.value.summary)")
      return nil
    }
  }

  // MARK: Accessories

  private static func parts(_ root: ObjectReader, _ profiles: ProfileLibrary) -> [Scenario.Part] {
    guard root.require("accessories"), let value = root.value("accessories") else { return [] }
    guard case .object(let members) = value.content else {
      root.error("accessories", "expected an object of accessories by name, found \(value.summary)")
      return []
    }
    if members.isEmpty { root.error("accessories", "a scenario needs an accessory") }
    return members.compactMap { member in
      let path = "accessories.\(member.key)"
      guard let reader = ObjectReader(member.value, shape: partShape, path: path, root.problems) else { return nil }
      guard reader.require("profile"), let reference = reader.text("profile") else { return nil }
      return part(member.key, reference, reader, profiles)
    }
  }

  private static func part(
    _ name: String, _ reference: String, _ reader: ObjectReader, _ profiles: ProfileLibrary
  ) -> Scenario.Part? {
    do {
      var profile = try profiles.profile(reference)
      if let serial = reader.text("serial") { profile.identity.serialNumber = serial }
      for (path, value) in reader.array("quirks") ?? [] {
        guard case .text(let text) = value.content else {
          reader.problems.error(at: value.position, path: path, "expected a quirk as text, found \(value.summary)")
          continue
        }
        do { profile.apply(try Quirk(text)) } catch {
          reader.problems.error(at: value.position, path: path, "\(error)")
        }
      }
      return Scenario.Part(name: name, profile: profile)
    } catch {
      reader.error("profile", "\(error)")
      return nil
    }
  }

  private static func flicker(_ device: ObjectReader) -> Flicker? {
    guard let text = device.text("flicker") else { return nil }
    do {
      let quirk = try Quirk("flicker,maker=device" + (text.isEmpty ? "" : ",\(text)"))
      return Flicker(quirk)
    } catch {
      device.error("flicker", "\(error)")
      return nil
    }
  }

  // MARK: Steps

  private static func steps(_ root: ObjectReader, _ names: [String]) -> [Scenario.Step] {
    var steps: [Scenario.Step] = []
    for (path, value) in root.array("steps") ?? [] {
      guard let reader = ObjectReader(value, shape: stepShape, path: path, root.problems) else { continue }
      guard reader.require("at"), let at = reader.duration("at", in: .zero...longest) else { continue }
      if let last = steps.last, at < last.at {
        reader.error("at", "steps stand in the order of time, and the one before is at \(DurationText.format(last.at))")
      }
      if let action = action(reader, names) { steps.append(.init(at: at, action)) }
    }
    return steps
  }

  private static let sides = ["accessory", "cable", "device"]

  private static func action(_ reader: ObjectReader, _ names: [String]) -> Scenario.Action? {
    let given = sides.filter { reader.value($0) != nil }
    guard given.count == 1, let side = given.first else {
      reader.problems.error(
        at: reader.position, path: reader.path,
        "a step names one side: \(sides.map { "'\($0)'" }.joined(separator: ", "))")
      return nil
    }
    guard let name = accessory(reader, names) else { return nil }
    switch side {
    case "accessory":
      switch reader.choice("accessory", of: ["plugIn", "unplug", "closeSessions"]) {
      case "plugIn"?: return .accessoryPlugsIn(name)
      case "unplug"?: return .accessoryUnplugs(name)
      case "closeSessions"?: return .accessoryClosesSessions(name)
      default: return nil
      }
    case "cable": return reader.choice("cable", of: ["pull"]).map { _ in .cablePulled(name) }
    default: return reader.choice("device", of: ["resetLink"]).map { _ in .deviceResetsLink(name) }
    }
  }

  /// Which accessory is meant: the one named with `of`, or the only one there is.
  private static func accessory(_ reader: ObjectReader, _ names: [String]) -> String? {
    if reader.value("of") != nil { return reader.choice("of", of: names) }
    if names.count == 1 { return names[0] }
    if !names.isEmpty {
      reader.problems.error(
        at: reader.position, path: reader.path,
        "say which accessory is meant with 'of': \(names.map { "'\($0)'" }.joined(separator: ", "))")
    }
    return nil
  }

  // MARK: Expectations

  private static func expectations(_ root: ObjectReader, _ names: [String]) -> [Scenario.Expectation] {
    (root.array("expect") ?? []).compactMap { path, value in
      guard let reader = ObjectReader(value, shape: expectationShape, path: path, root.problems),
        reader.require("event"), let event = reader.choice("event", of: Scenario.expectedEvents)
      else { return nil }
      return Scenario.Expectation(
        event, accessory: reader.value("of") == nil ? nil : reader.choice("of", of: names),
        protocols: reader.value("protocols") == nil ? nil : texts(reader, "protocols"),
        after: reader.duration("after", in: .zero...longest), before: reader.duration("before", in: .zero...longest))
    }
  }
}
