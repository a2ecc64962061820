import AccessoryCore
import AccessoryProfiles
import AccessoryTransports

/// Turns a scenario's file into a ``Scenario``; every mistake is reported at once, each with its place.
enum ScenarioReader {
  static let shape = ObjectShape(
    "scenario",
    [
      "$schema", "version", "description", "reproduces", "source", "story", "survival", "naive", "accessories", "cable",
      "device", "app", "steps", "tail", "expect",
    ])
  static let cableShape = ObjectShape("cable", ["latency", "bytesPerSecond", "faults"])
  static let deviceShape = ObjectShape("device", ["policy", "flicker"])
  static let partShape = ObjectShape("accessory", ["profile", "quirks", "serial"])
  static let expectationShape = ObjectShape("expectation", ["event", "of", "protocols", "after", "before"])

  static let longest = Duration.seconds(24 * 3_600)

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
    scenario.story = root.text("story") ?? ""
    scenario.survival = root.text("survival") ?? ""
    scenario.naiveClient = root.choice("naive", of: ScenarioClients.naive.map(\.name))
    if let cable = root.object("cable", cableShape) {
      scenario.line.latency = cable.duration("latency", in: .zero ... .seconds(60)) ?? .zero
      scenario.line.bytesPerSecond = cable.integer("bytesPerSecond", in: 1...1_000_000_000)
      scenario.faults = faults(cable)
    }
    if let app = root.object("app", appShape) { read(app, into: &scenario) }
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

  private static func faults(_ cable: ObjectReader) -> [Fault] {
    (cable.array("faults") ?? []).flatMap { path, value -> [Fault] in
      guard case .text(let text) = value.content else {
        cable.problems.error(at: value.position, path: path, "expected a fault as text, found \(value.summary)")
        return []
      }
      do { return try FaultPreset.faults(text) } catch {
        cable.problems.error(at: value.position, path: path, "\(error)")
        return []
      }
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
