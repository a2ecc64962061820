import AccessoryCore
import AccessoryProfiles
import AccessoryTransports
import AccessoryWorlds

// A plan as a scenario file with several apps. Instead of expectations, the rules of the soak judge it. Reading the
// file gives the same plan, and so the same world to the byte.
extension SoakPlan {
  /// The file's text, under a comment; only what differs from the defaults is written.
  public func fileText(description: String, comment: String = "") -> String {
    let lines = comment.isEmpty ? [] : comment.split(separator: "\n", omittingEmptySubsequences: false)
    return lines.map { $0.isEmpty ? "//\n" : "// \($0)\n" }.joined() + JSON5Writer.write(tree(description))
  }

  func tree(_ description: String) -> JSON5Value {
    var root: [JSON5Member] = [
      .init("version", .number(Scenario.formatVersion)), .init("description", .text(description)),
      .init("seed", .number(Int(clamping: seed))),
      .init("accessories", .object(accessories.map { .init($0.profile.name, $0.tree) })),
    ]
    root.add("cable", cable)
    root.add("device", device)
    root.append(
      .init(
        "apps",
        .object(apps.enumerated().map { .init(Self.name(ofApp: $0.offset), SoakPlan.App.format.tree($0.element)) })))
    root.append(.init("steps", .array(steps.map(tree))))
    root.append(.init("tail", .duration(length - (steps.last?.at ?? .zero))))
    if !forbidden.isEmpty { root.append(.init("forbid", .array(forbidden.map { .text($0.word) }))) }
    return .object(root)
  }

  /// What files call an app.
  static func name(ofApp number: Int) -> String { "app-\(number)" }

  private var cable: [JSON5Member] {
    var members: [JSON5Member] = []
    if line.latency > .zero { members.append(.init("latency", .duration(line.latency))) }
    if let rate = line.bytesPerSecond { members.append(.init("bytesPerSecond", .number(rate))) }
    if !faults.isEmpty { members.append(.init("faults", .array(faults.map(\.tree)))) }
    return members
  }

  private var device: [JSON5Member] {
    var members: [JSON5Member] = []
    if policy == .early { members.append(.init("policy", .text("early"))) }
    if let deviceFlicker { members.append(.init("flicker", .text(deviceFlicker.text))) }
    if deviceWindow != ScenarioFile.standardWindow { members.append(.init("window", .number(Int(deviceWindow)))) }
    if deviceLength != ScenarioFile.standardLength {
      members.append(.init("packetLength", .number(Int(deviceLength))))
    }
    if firstSession != 1 { members.append(.init("firstSession", .number(Int(firstSession)))) }
    members.add("link", SoakLinkChoices.format.tree(deviceLink))
    return members
  }

  private func tree(_ step: Step) -> JSON5Value {
    let (side, word): (String, String) =
      switch step.action {
      case .plugIn: ("accessory", "plugIn")
      case .unplug: ("accessory", "unplug")
      case .closeSessions: ("accessory", "closeSessions")
      case .pull: ("cable", "pull")
      case .resetLink: ("device", "resetLink")
      case .closeApp: ("app", "quit")
      }
    var members: [JSON5Member] = [.init("at", .duration(step.at)), .init(side, .text(word))]
    if case .closeApp(let number) = step.action {
      if apps.count > 1 { members.append(.init("of", .text(Self.name(ofApp: number)))) }
    } else if let number = step.action.accessory, accessories.count > 1 {
      members.append(.init("of", .text(accessories[number].profile.name)))
    }
    return .object(members)
  }
}

extension SoakPlan.Accessory {
  fileprivate var tree: JSON5Value {
    var members: [JSON5Member] = [.init("profile", profile.tree)]
    members.add("link", SoakLinkChoices.format.tree(link))
    if case .streams(let streams) = conduct {
      members.append(.init("streams", .array(streams.map { SoakStreamPlan.format.write($0) })))
    }
    return .object(members)
  }
}

extension CableFault {
  /// The text alone at the device's end.
  fileprivate var tree: JSON5Value {
    if end == .device { return .text(fault.description) }
    return .object([.init("fault", .text(fault.description)), .init("at", .text("accessory"))])
  }
}

extension Flicker {
  /// The parameters of the quirk that it comes from.
  fileprivate var text: String {
    "cycles=\(cycles),empty=\(DurationText.format(empty)),gap=\(DurationText.format(gap)),"
      + "jitter=\(DurationText.format(jitter)),auth=\(answersAuthentication ? "answer" : "never")"
  }
}

extension [JSON5Member] {
  /// Adds an object, unless it would be empty.
  fileprivate mutating func add(_ key: String, _ members: [JSON5Member]) {
    add(key, .object(members))
  }

  fileprivate mutating func add(_ key: String, _ tree: JSON5Value) {
    if tree != .object([]) { append(.init(key, tree)) }
  }
}
