import AccessoryCore
import AccessoryProfiles
import AccessoryTransports

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
    root.append(.init("apps", .object(apps.enumerated().map { .init(Self.name(ofApp: $0.offset), $0.element.tree) })))
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
    if deviceWindow != ScenarioReader.standardWindow { members.append(.init("window", .number(Int(deviceWindow)))) }
    if deviceLength != ScenarioReader.standardLength {
      members.append(.init("packetLength", .number(Int(deviceLength))))
    }
    if firstSession != 1 { members.append(.init("firstSession", .number(Int(firstSession)))) }
    members.add("link", deviceLink.members)
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
    members.add("link", link.members)
    if case .streams(let streams) = conduct {
      members.append(.init("streams", .array(streams.map { .object($0.members) })))
    }
    return .object(members)
  }
}

extension SoakPlan.App {
  fileprivate var tree: JSON5Value {
    var members: [JSON5Member] = [.init("sessions", .array(sessions.map { .object($0.members) }))]
    if patience > .zero { members.append(.init("patience", .duration(patience))) }
    if isRude { members.append(.init("rude", .boolean(true))) }
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

extension SoakStreamPlan {
  fileprivate var members: [JSON5Member] {
    var members: [JSON5Member] = []
    if protocolNumber != 0 { members.append(.init("protocol", .number(protocolNumber))) }
    members.append(.init("bytes", .number(bytes)))
    if chunk != max(1, bytes) { members.append(.init("chunk", .number(chunk))) }
    if think > .zero { members.append(.init("think", .duration(think))) }
    switch reading {
    case .eager: break
    case .slow(let bytes, let every):
      members += [.init("readBytes", .number(bytes)), .init("readEvery", .duration(every))]
    case .stops(let after, let resumes):
      members.append(.init("stopsAfter", .number(after)))
      if let resumes { members.append(.init("resumesAfter", .duration(resumes))) }
    }
    switch closing {
    case .never: break
    case .afterWriting: members.append(.init("closes", .text("afterWriting")))
    case .after(let time): members.append(.init("closes", .duration(time)))
    }
    return members
  }
}

extension SoakLinkChoices {
  fileprivate var members: [JSON5Member] {
    var members: [JSON5Member] = []
    if initialSequence != 0 { members.append(.init("initialSequence", .number(Int(initialSequence)))) }
    if extendedAcknowledgement != 0 {
      let word = ScenarioReader.extendedAcknowledgements[extendedAcknowledgement]
      members.append(.init("extendedAcknowledgement", .text(word)))
    }
    if let cumulativeAcknowledgements {
      members.append(.init("cumulativeAcknowledgements", .number(Int(cumulativeAcknowledgements))))
    }
    for (key, flag) in ScenarioReader.linkFlags where self[keyPath: flag] != SoakLinkChoices()[keyPath: flag] {
      members.append(.init(key, .boolean(self[keyPath: flag])))
    }
    for (key, bound) in ScenarioReader.linkBounds where self[keyPath: bound] != SoakLinkChoices()[keyPath: bound] {
      members.append(.init(key, .number(self[keyPath: bound])))
    }
    return members
  }
}

extension [JSON5Member] {
  /// Adds an object, unless it would be empty.
  fileprivate mutating func add(_ key: String, _ members: [JSON5Member]) {
    if !members.isEmpty { append(.init(key, .object(members))) }
  }
}
