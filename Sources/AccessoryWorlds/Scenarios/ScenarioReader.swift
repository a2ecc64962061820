import AccessoryCore
import AccessoryProfiles
import AccessoryTransports

/// Reads a scenario file into a ``Scenario``; all errors of the file are reported at once, each with its position.
package enum ScenarioReader {
  package static let shape = ObjectShape(
    "scenario",
    [
      "$schema", "version", "description", "reproduces", "source", "story", "survival", "naive", "seed", "accessories",
      "cable", "device", "app", "apps", "steps", "tail", "expect", "forbid",
    ])
  package static let cableShape = ObjectShape("cable", ["latency", "bytesPerSecond", "faults"])
  package static let deviceShape = ObjectShape(
    "device", ["policy", "flicker", "window", "packetLength", "firstSession", "link"])
  package static let partShape = ObjectShape("accessory", ["profile", "quirks", "serial", "link", "streams"])
  package static let faultShape = ObjectShape("fault", ["fault", "at"])
  package static let expectationShape = ObjectShape("expectation", ["event", "of", "protocols", "after", "before"])

  package static let ends = ["device", "accessory"]
  static let longest = longestInScenarios

  /// Reads a scenario that is judged by what its app sees.
  package static func read(_ file: ScenarioSource, profiles: ProfileLibrary) throws(SourceProblems) -> Scenario {
    try read(file, profiles: profiles) { root, scenario, parts in
      if root.value("apps") != nil {
        root.error(
          "apps", "a scenario with 'apps' is judged by the rules of seeded worlds: play it with 'easim scenario run'")
      } else {
        finish(&scenario, root, parts)
      }
    }.scenario
  }

  /// Reads what all scenarios have, and with `rest` what the kind of scenario adds.
  package static func read<Rest>(
    _ file: ScenarioSource, profiles: ProfileLibrary, rest: (ObjectReader, inout Scenario, [Part]) -> Rest
  ) throws(SourceProblems) -> (scenario: Scenario, rest: Rest) {
    let tree: JSON5Value
    do { tree = try JSON5.read(file.bytes, file: file.path) } catch { throw SourceProblems([error]) }
    let problems = ProblemCollector()
    let read = ObjectReader(tree, shape: shape, problems).map { root in
      let parts = parts(root, profiles)
      var scenario = scenario(root, name: file.name, parts)
      let rest = rest(root, &scenario, parts)
      return (scenario: scenario, rest: rest)
    }
    try problems.throwErrors()
    guard let read else { preconditionFailure("a scenario that was not read has no reported problem") }
    return read
  }

  private static func scenario(_ root: ObjectReader, name: String, _ parts: [Part]) -> Scenario {
    _ = root.text("$schema")
    if root.require("version") { _ = root.integer("version", in: Scenario.formatVersion...Scenario.formatVersion) }
    root.require("description")
    root.require("steps")
    let device = root.object("device", deviceShape)
    var scenario = Scenario(
      name: name, summary: root.text("description") ?? "", reproduces: texts(root, "reproduces"),
      source: root.text("source") ?? "", accessories: parts.map { Scenario.Part(name: $0.name, profile: $0.profile) },
      policy: device?.choice("policy", of: ["ready", "early"]) == "early" ? .early : .ready,
      deviceFlicker: device.flatMap { flicker($0) }, steps: [],
      tail: root.duration("tail", in: .zero...longest) ?? .seconds(60), expectations: [])
    scenario.story = root.text("story") ?? ""
    scenario.survival = root.text("survival") ?? ""
    if let cable = root.object("cable", cableShape) {
      scenario.line.latency = cable.duration("latency", in: .zero ... .seconds(60)) ?? .zero
      scenario.line.bytesPerSecond = cable.integer("bytesPerSecond", in: 1...1_000_000_000)
      scenario.faults = faults(cable)
    }
    scenario.seed = root.integer("seed", in: 0...Int.max).map { UInt64($0) }
    return scenario
  }

  /// Reads the app, the steps and the expectations of a scenario without `apps`.
  package static func finish(_ scenario: inout Scenario, _ root: ObjectReader, _ parts: [Part]) {
    if root.value("forbid") != nil { root.error("forbid", "only a scenario with 'apps' has 'forbid'") }
    for part in parts { part.reader.refuse(["link", "streams"], "only an accessory of a scenario with 'apps'") }
    root.object("device", deviceShape)?.refuse(
      ["window", "packetLength", "firstSession", "link"], "only the device of a scenario with 'apps'")
    root.require("expect")
    let names = parts.map(\.name)
    scenario.steps = steps(root, names)
    scenario.expectations = expectations(root, names)
    scenario.naiveClient = root.choice("naive", of: ScenarioClients.naive.map(\.name))
    if let value = root.value("app") {
      let section = Format.object(ScenarioAppSection.format).read(value, at: Place(root.path(of: "app"), root.problems))
      scenario.app = section?.settings ?? scenario.app
      scenario.payload = section?.payload ?? scenario.payload
      scenario.interval = section?.interval
    }
  }

  package static func texts(_ reader: ObjectReader, _ key: String) -> [String] {
    (reader.array(key) ?? []).compactMap { element in
      if case .text(let text) = element.value.content { return text }
      reader.problems.error(
        at: element.value.position, path: element.path, "expected text, found \(element.value.summary)")
      return nil
    }
  }

  // MARK: Accessories

  /// An accessory as it was read so far.
  package struct Part {
    package let name: String
    package let profile: Profile
    package let reader: ObjectReader
  }

  private static func parts(_ root: ObjectReader, _ profiles: ProfileLibrary) -> [Part] {
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
  ) -> Part? {
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
    return Part(name: name, profile: profile, reader: reader)
  }

  /// A profile by its name or path, or one that is written here in full.
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

extension ObjectReader {
  /// Reports keys that do not belong here.
  package func refuse(_ keys: [String], _ who: String) {
    for key in keys where value(key) != nil { error(key, "\(who) has '\(key)'") }
  }
}
