import AccessoryCore
import AccessoryProfiles
import AccessoryTransports

/// Reads a scenario file into a ``Scenario``; all errors of the file are reported at once, each with its position.
enum ScenarioReader {
  static let shape = ObjectShape(
    "scenario",
    [
      "$schema", "version", "description", "reproduces", "source", "story", "survival", "naive", "seed", "accessories",
      "cable", "device", "app", "apps", "steps", "tail", "expect", "forbid",
    ])
  static let cableShape = ObjectShape("cable", ["latency", "bytesPerSecond", "faults"])
  static let deviceShape = ObjectShape(
    "device", ["policy", "flicker", "window", "packetLength", "firstSession", "link"])
  static let partShape = ObjectShape("accessory", ["profile", "quirks", "serial", "link", "streams"])
  static let faultShape = ObjectShape("fault", ["fault", "at"])
  static let expectationShape = ObjectShape("expectation", ["event", "of", "protocols", "after", "before"])

  static let ends = ["device", "accessory"]
  static let longest = longestInScenarios

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
    if root.value("apps") == nil { root.require("expect") }
    let parts = parts(root, profiles)
    let names = parts.map(\.name)
    let device = root.object("device", deviceShape)
    var scenario = Scenario(
      name: name, summary: root.text("description") ?? "", reproduces: texts(root, "reproduces"),
      source: root.text("source") ?? "", accessories: parts.map { Scenario.Part(name: $0.name, profile: $0.profile) },
      policy: device?.choice("policy", of: ["ready", "early"]) == "early" ? .early : .ready,
      deviceFlicker: device.flatMap { flicker($0) }, steps: root.value("apps") == nil ? steps(root, names) : [],
      tail: root.duration("tail", in: .zero...longest) ?? .seconds(60), expectations: expectations(root, names))
    scenario.story = root.text("story") ?? ""
    scenario.survival = root.text("survival") ?? ""
    scenario.naiveClient = root.choice("naive", of: ScenarioClients.naive.map(\.name))
    if let cable = root.object("cable", cableShape) {
      scenario.line.latency = cable.duration("latency", in: .zero ... .seconds(60)) ?? .zero
      scenario.line.bytesPerSecond = cable.integer("bytesPerSecond", in: 1...1_000_000_000)
      scenario.faults = faults(cable)
    }
    if let value = root.value("app") {
      let section = Format.object(ScenarioAppSection.format).read(value, at: Place(root.path(of: "app"), problems))
      scenario.app = section?.settings ?? scenario.app
      scenario.payload = section?.payload ?? scenario.payload
      scenario.interval = section?.interval
    }
    scenario.seed = root.integer("seed", in: 0...Int.max).map { UInt64($0) }
    scenario.plan = plan(root, scenario, parts)
    return scenario
  }

  static func texts(_ reader: ObjectReader, _ key: String) -> [String] {
    (reader.array(key) ?? []).compactMap { element in
      if case .text(let text) = element.value.content { return text }
      reader.problems.error(
        at: element.value.position, path: element.path, "expected text, found \(element.value.summary)")
      return nil
    }
  }

  // MARK: Accessories

  private static func parts(_ root: ObjectReader, _ profiles: ProfileLibrary) -> [PlanPart] {
    guard root.require("accessories"), let value = root.value("accessories") else { return [] }
    guard case .object(let members) = value.content else {
      root.error("accessories", "expected an object of accessories by name, found \(value.summary)")
      return []
    }
    if members.isEmpty { root.error("accessories", "a scenario needs an accessory") }
    return members.compactMap { member in
      let path = "accessories.\(member.key)"
      guard let reader = ObjectReader(member.value, shape: partShape, path: path, root.problems) else { return nil }
      guard reader.require("profile"), let value = reader.value("profile") else { return nil }
      return part(member.key, value, reader, profiles)
    }
  }

  private static func part(
    _ name: String, _ value: JSON5Value, _ reader: ObjectReader, _ profiles: ProfileLibrary
  ) -> PlanPart? {
    guard var profile = profile(name, value, reader, profiles) else { return nil }
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
    return PlanPart(name: name, profile: profile, reader: reader)
  }

  /// A profile by its name or path, or one that stands here in full.
  private static func profile(
    _ name: String, _ value: JSON5Value, _ reader: ObjectReader, _ profiles: ProfileLibrary
  ) -> Profile? {
    do {
      if case .object = value.content { return try profiles.template(tree: value, name: name).instance() }
      return try reader.text("profile").map { try profiles.profile($0) }
    } catch let error as SourceProblems where error.problems.contains(where: { $0.position != nil }) {
      for problem in error.problems { reader.problems.add(problem) }
    } catch {
      reader.error("profile", "\(error)")
    }
    return nil
  }

  private static func faults(_ cable: ObjectReader) -> [CableFault] {
    (cable.array("faults") ?? []).flatMap { path, value -> [CableFault] in
      var (text, end) = ("", Transcript.End.device)
      if case .text(let found) = value.content {
        text = found
      } else {
        guard case .object = value.content else {
          cable.problems.error(at: value.position, path: path, "expected a fault as text, found \(value.summary)")
          return []
        }
        guard let reader = ObjectReader(value, shape: faultShape, path: path, cable.problems),
          reader.require("fault"), let found = reader.text("fault")
        else { return [] }
        text = found
        if reader.choice("at", of: ends) == "accessory" { end = .accessory }
      }
      do { return try FaultPreset.faults(text).map { CableFault($0, at: end) } } catch {
        cable.problems.error(at: value.position, path: path, "\(error)")
        return []
      }
    }
  }

  private static func flicker(_ device: ObjectReader) -> Flicker? {
    guard let text = device.text("flicker") else { return nil }
    do {
      let quirk = try Quirk("flicker,maker=device" + (text.isEmpty ? "" : ",\(text)"))
      return [quirk].flicker
    } catch {
      device.error("flicker", "\(error)")
      return nil
    }
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
