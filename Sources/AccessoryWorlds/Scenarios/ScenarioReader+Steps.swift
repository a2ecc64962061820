import AccessoryCore
import AccessoryHost
import AccessoryProfiles

// The steps of a scenario: what happens when, on which side.
extension ScenarioReader {
  package static let stepShape = ObjectShape("step", ["at"] + sides + ["of", "sessions", "sees"])

  static let sides = ["accessory", "cable", "device", "app", "sdk", "otherApp"]
  package static let accessoryActions = ["plugIn", "unplug", "closeSessions", "forgetSessions"]
  package static let cableActions = ["pull", "pullUnnoticed"]
  package static let deviceActions = ["resetLink", "ignoreCables", "heedCables"]
  package static let appActions = [
    "launch", "quit", "kill", "crash", "register", "unregister", "foreground", "background", "suspend", "resume",
    "openSession", "closeSession", "look",
  ]
  static let sdkActions = ["openSession", "closeSession"]
  static let otherAppActions = [
    "launch", "quit", "kill", "crash", "foreground", "background", "suspend", "resume", "openSession", "closeSession",
  ]
  /// What becomes of the sessions of an app that is killed or crashes.
  static let sessionsOfEndedApps = ["closed", "left"]

  static func steps(_ root: ObjectReader, _ names: [String]) -> [Scenario.Step] {
    steps(root) { action($0, names) }.map { Scenario.Step(at: $0.at, $0.action) }
  }

  /// The steps with what `action` makes of each.
  package static func steps<Action>(
    _ root: ObjectReader, _ action: (ObjectReader) -> Action?
  ) -> [(at: Duration, action: Action)] {
    var steps: [(at: Duration, action: Action)] = []
    for (path, value) in root.array("steps") ?? [] {
      guard let reader = ObjectReader(value, shape: stepShape, path: path, root.problems) else { continue }
      guard reader.require("at"), let at = reader.duration("at", in: .zero...longest) else { continue }
      if let last = steps.last, at < last.at {
        reader.error("at", "steps must be in the order of time: the step before is at \(DurationText.format(last.at))")
      }
      if reader.value("sessions") != nil, ending(reader) == nil {
        reader.error("sessions", "'sessions' needs app: 'kill' or app: 'crash'")
      }
      if let action = action(reader) { steps.append((at, action)) }
    }
    return steps
  }

  package static func action(_ reader: ObjectReader, _ names: [String]) -> Scenario.Action? {
    let given = sides.filter { reader.value($0) != nil }
    guard given.count == 1, let side = given.first else {
      reader.problems.error(
        at: reader.position, path: reader.path,
        "a step needs exactly one of \(sides.map { "'\($0)'" }.joined(separator: ", "))")
      return nil
    }
    if reader.value("sees") != nil, reader.text(side) != "look" {
      reader.error("sees", "'sees' needs app: 'look'")
    }
    switch side {
    case "app": return appAction(reader, side, of: appActions, names).map(Scenario.Action.app)
    case "otherApp": return appAction(reader, side, of: otherAppActions, names).map(Scenario.Action.otherApp)
    case "sdk": return sdkAction(reader, names).map(Scenario.Action.sdk)
    default: break
    }
    if side == "device", let heeds = noticesCables(reader) { return .deviceHeedsCables(heeds) }
    guard let name = accessory(reader, names) else { return nil }
    switch side {
    case "accessory":
      switch reader.choice("accessory", of: accessoryActions) {
      case "plugIn"?: return .accessoryPlugsIn(name)
      case "unplug"?: return .accessoryUnplugs(name)
      case "closeSessions"?: return .accessoryClosesSessions(name)
      case "forgetSessions"?: return .accessoryForgetsSessions(name)
      default: return nil
      }
    case "cable":
      return reader.choice("cable", of: cableActions).map { word in
        word == "pull" ? .cablePulled(name) : .cablePulledUnnoticed(name)
      }
    default: return reader.choice("device", of: deviceActions).map { _ in .deviceResetsLink(name) }
    }
  }

  private static func noticesCables(_ reader: ObjectReader) -> Bool? {
    guard case .text(let word)? = reader.value("device")?.content, ["ignoreCables", "heedCables"].contains(word) else {
      return nil
    }
    if reader.value("of") != nil { reader.error("of", "'\(word)' is about every cable") }
    return word == "heedCables"
  }

  /// How the step ends an app without its doing.
  private static func ending(_ reader: ObjectReader) -> Scenario.Ending? {
    for side in ["app", "otherApp"] {
      if case .text(let word)? = reader.value(side)?.content, let ending = Scenario.Ending(rawValue: word) {
        return ending
      }
    }
    return nil
  }

  private static func sdkAction(_ reader: ObjectReader, _ names: [String]) -> Scenario.SDKAction? {
    switch reader.choice("sdk", of: sdkActions) {
    case "openSession"?: return accessory(reader, names).map(Scenario.SDKAction.opensSession)
    case "closeSession"?:
      if reader.value("of") != nil { reader.error("of", "only 'openSession' is about one accessory") }
      return .closesSession
    default: return nil
    }
  }

  private static func appAction(
    _ reader: ObjectReader, _ side: String, of words: [String], _ names: [String]
  ) -> Scenario.AppAction? {
    guard let word = reader.choice(side, of: words) else { return nil }
    if reader.value("of") != nil, word != "openSession" {
      reader.error("of", "only 'openSession' is about one accessory")
    }
    switch word {
    case "launch": return .launches
    case "quit": return .quits
    case "kill", "crash":
      let sessions = reader.value("sessions") == nil ? nil : reader.choice("sessions", of: sessionsOfEndedApps)
      return ending(reader).map { .ends($0, leavesSessions: sessions == "left") }
    case "register": return .registers
    case "unregister": return .unregisters
    case "foreground": return .moves(.foreground)
    case "background", "resume": return .moves(.background)
    case "suspend": return .moves(.suspended)
    case "openSession": return accessory(reader, names).map(Scenario.AppAction.opensSession)
    case "closeSession": return .closesSession
    default:
      guard reader.require("sees") else { return nil }
      return .looks(sees: accessories(reader, names))
    }
  }

  /// The accessories that an app is to see; each by a name that is known here.
  private static func accessories(_ reader: ObjectReader, _ names: [String]) -> [String] {
    for (path, value) in reader.array("sees") ?? [] {
      guard case .text(let name) = value.content, !names.contains(name) else { continue }
      reader.problems.error(
        at: value.position, path: path, "there is no accessory '\(name)'\(Suggestion.hint(for: name, in: names))")
    }
    return texts(reader, "sees")
  }

  /// Which accessory is meant: the one named with `of`, or the only one there is.
  private static func accessory(_ reader: ObjectReader, _ names: [String]) -> String? {
    named(reader, names, "accessory")
  }

  /// Which of the things with these names is meant.
  package static func named(_ reader: ObjectReader, _ names: [String], _ what: String) -> String? {
    if reader.value("of") != nil { return reader.choice("of", of: names) }
    if names.count == 1 { return names[0] }
    if !names.isEmpty {
      reader.problems.error(
        at: reader.position, path: reader.path,
        "there are several: add 'of' with the name of the \(what): \(names.map { "'\($0)'" }.joined(separator: ", "))")
    }
    return nil
  }
}
