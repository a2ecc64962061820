import AccessoryCore
import AccessoryHost
import AccessoryProfiles

/// A step as files have it: when, on which side, what, and to which accessory or app.
package struct StepSection: Equatable, Sendable {
  /// What an accessory does.
  package enum AccessoryWord: String, CaseIterable, Sendable {
    case plugIn, unplug, closeSessions, forgetSessions, message
  }
  /// What happens to a cable.
  package enum CableWord: String, CaseIterable, Sendable { case pull, pullUnnoticed }
  /// What the device does.
  package enum DeviceWord: String, CaseIterable, Sendable { case resetLink, ignoreCables, heedCables, message }
  /// What happens to an app.
  package enum AppWord: String, CaseIterable, Sendable {
    case launch, quit, kill, crash, register, unregister, foreground, background, suspend, resume, openSession
    case closeSession, look

    /// What happens to an app that is not judged.
    static let ofOtherApps = allCases.filter { ![.register, .unregister, .look].contains($0) }
  }
  /// What another SDK of the app does.
  package enum SDKWord: String, CaseIterable, Sendable { case openSession, closeSession }
  /// What becomes of the sessions of an app that is killed or crashes.
  package enum SessionsWord: String, CaseIterable, Sendable { case closed, left }

  /// The words that a kind of scenario has.
  package struct Words: Sendable {
    var accessory = AccessoryWord.allCases
    var cable = CableWord.allCases
    var device = DeviceWord.allCases
    var app = AppWord.allCases

    /// Those of a scenario with one app, and with another SDK and another app beside it.
    package static let all = Words()
    /// Those of a scenario with `apps`, which says nothing else of an app.
    package static let ofPlans = Words(
      accessory: [.plugIn, .unplug, .closeSessions], cable: [.pull], device: [.resetLink], app: [.quit])

    var haveOneApp: Bool { app.contains(.look) }
    var sides: [String] { ["accessory", "cable", "device", "app"] + (haveOneApp ? ["sdk", "otherApp"] : []) }
  }

  package var at: Duration
  package var accessory: AccessoryWord?
  package var cable: CableWord?
  package var device: DeviceWord?
  package var app: AppWord?
  var sdk: SDKWord?
  var otherApp: AppWord?
  package var of: String?
  var sessions: SessionsWord?
  var sees: [String]?
  var send: Profile.MessageName?
  var parameters: [Named<MessageValue>] = []

  /// A step in which nothing happens.
  package init(at: Duration = .zero) { self.at = at }

  /// The keys of a step.
  package static func format(_ names: ScenarioNames, _ words: Words) -> Record<StepSection> {
    Record(words.haveOneApp ? "step" : "step with apps", "one step: when, on one side, and what", StepSection()) {
      Field("at", \.at, .duration(.zero...Scenario.longest), "when, from the start", isRequired: true)
      Field("accessory", \.accessory, .optional(.choice(of: words.accessory)), "what an accessory does")
      Field("cable", \.cable, .optional(.choice(of: words.cable)), "what happens to the cable of an accessory")
      Field("device", \.device, .optional(.choice(of: words.device)), "what the device does")
      Field("app", \.app, .optional(.choice(of: words.app)), "what happens to the app")
      if words.haveOneApp {
        Field(
          "sdk", \.sdk, .optional(.choice),
          "what another SDK in the app's process does; it shares the app's registrations and sessions")
        Field(
          "otherApp", \.otherApp, .optional(.choice(of: AppWord.ofOtherApps)),
          "what happens to another app, which is not running until it is launched")
      }
      Field("of", \.of, .optional(.text), "which accessory or app; may be left out where there is only one")
      if words.haveOneApp {
        Field(
          "sessions", \.sessions, .optional(.choice),
          "with `kill` and `crash`: what the system does with the sessions of the app; it closes them when left out")
        Field(
          "sees", \.sees, .optional(.list(of: .accessory(among: names.accessories))),
          "with `look`: the accessories that the app's list must hold, in the order of publication")
        Field(
          "send", \.send, .optional(Profile.MessageName.format),
          "with `message`: the control message, by name or number; where a rule sends this message, it is the rule's "
            + "parameters that change, and an end that subscribed to it receives it at once")
        Field(
          "parameters", \.parameters, MessageValue.parameters,
          "with `message`: its parameters, as in the rules of a profile")
      }
    }.checked(
      schema: [.init("anyOf", .array(words.sides.map { .object([.init("required", .array([.text($0)]))]) }))]
    ) { step, object in
      step.check(object, names, words)
    }
  }

  // MARK: Rules

  /// What `of` says.
  private enum Subject {
    case accessory, app
    case nothing(why: String)
  }

  private func subject(_ names: ScenarioNames) -> Subject? {
    if accessory != nil || cable != nil || device == .resetLink || device == .message { return .accessory }
    if app == .openSession || otherApp == .openSession || sdk == .openSession { return .accessory }
    if let device { return .nothing(why: "'\(device.rawValue)' is about every cable") }
    if app == .quit, names.apps != nil { return .app }
    return app == nil && otherApp == nil && sdk == nil
      ? nil : .nothing(why: "only 'openSession' is about one accessory")
  }

  private func check(_ object: ObjectReader, _ names: ScenarioNames, _ words: Words) {
    let given = words.sides.filter { object.value($0) != nil }
    guard given.count == 1 else {
      return object.error("a step needs exactly one of \(words.sides.map { "'\($0)'" }.joined(separator: ", "))")
    }
    if words.haveOneApp {
      let ends = [app, otherApp].contains { $0 == .kill || $0 == .crash }
      if !ends, object.value("sessions") != nil {
        object.error("sessions", "'sessions' needs app: 'kill' or app: 'crash'")
      }
      if app == .look {
        object.require("sees")
      } else if object.value("sees") != nil {
        object.error("sees", "'sees' needs app: 'look'")
      }
      if accessory == .message || device == .message {
        if object.require("send") { entry?.checkParameters(object) }
      } else {
        for key in ["send", "parameters"] where object.value(key) != nil {
          object.error(key, "'\(key)' needs accessory: 'message' or device: 'message'")
        }
      }
    }
    switch subject(names) {
    case nil: break
    case .nothing(let why)?: if of != nil { object.error("of", why) }
    case .accessory?: check(object, names.accessories, "accessory")
    case .app?: check(object, names.apps, "app")
    }
  }

  /// The message of the step; nil where there is none.
  private var entry: MessageRuleEntry? {
    guard let send else { return nil }
    var entry = MessageRuleEntry(send: send)
    entry.parameters = parameters
    return entry
  }

  fileprivate var saying: Scenario.Saying? { entry.flatMap { try? Scenario.Saying($0) } }

  private func check(_ object: ObjectReader, _ names: [String]?, _ what: String) {
    guard let names else { return }
    if let of {
      if !names.contains(of) {
        object.error("of", "there is no \(what) '\(Excerpt.of(of))'\(Suggestion.hint(for: of, in: names))")
      }
    } else if object.value("of") == nil, names.count != 1 {
      let choice = names.isEmpty ? "there is none" : names.map { "'\($0)'" }.joined(separator: ", ")
      object.error("there are several: add 'of' with the name of the \(what): \(choice)")
    }
  }
}

extension Format {
  /// Steps, in the order of time.
  package static func steps<Step>(
    of format: Format<Step>, at time: @escaping @Sendable (Step) -> Duration
  ) -> Format where Value == [Step] {
    Format(.list(format.shape, count: 0...Int.max)) { value, place in
      guard case .array(let elements) = value.content else { return place.expected("a list", value) }
      var steps: [Step] = []
      for (index, element) in elements.enumerated() {
        guard let step = format.read(element, at: place.element(index)) else { continue }
        if let last = steps.last.map(time), time(step) < last, let written = element["at"] {
          place.element(index).key("at").error(
            written, "steps must be in the order of time: the step before is at \(DurationText.format(last))")
        }
        steps.append(step)
      }
      return steps
    } write: { steps in
      .array(steps.map(format.write))
    }
  }
}

// MARK: - Steps of a scenario

extension Scenario.Step {
  static func format(_ names: ScenarioNames) -> Format<Self> {
    StepSection.format(names, .all).format.map { section in
      section.action(section.of ?? names.accessories?.first ?? "").map { Self(at: section.at, $0) }
    } otherwise: {
      "nothing happens in this step"
    } back: { step in
      var section = StepSection(step)
      if names.accessories?.count == 1 { section.of = nil }
      return section
    }
  }
}

extension StepSection {
  fileprivate func action(_ name: String) -> Scenario.Action? {
    if let accessory {
      switch accessory {
      case .plugIn: return .accessoryPlugsIn(name)
      case .unplug: return .accessoryUnplugs(name)
      case .closeSessions: return .accessoryClosesSessions(name)
      case .forgetSessions: return .accessoryForgetsSessions(name)
      case .message: return saying.map { .accessorySays(name, $0) }
      }
    }
    if let cable { return cable == .pull ? .cablePulled(name) : .cablePulledUnnoticed(name) }
    if let device {
      switch device {
      case .resetLink: return .deviceResetsLink(name)
      case .ignoreCables, .heedCables: return .deviceHeedsCables(device == .heedCables)
      case .message: return saying.map { .deviceSays(name, $0) }
      }
    }
    if let app { return .app(action(of: app, name)) }
    if let sdk { return .sdk(sdk == .openSession ? .opensSession(name) : .closesSession) }
    return otherApp.map { .otherApp(action(of: $0, name)) }
  }

  private func action(of app: AppWord, _ name: String) -> Scenario.AppAction {
    switch app {
    case .launch: .launches
    case .quit: .quits
    case .kill: .ends(.kill, leavesSessions: sessions == .left)
    case .crash: .ends(.crash, leavesSessions: sessions == .left)
    case .register: .registers
    case .unregister: .unregisters
    case .foreground: .moves(.foreground)
    case .background, .resume: .moves(.background)
    case .suspend: .moves(.suspended)
    case .openSession: .opensSession(name)
    case .closeSession: .closesSession
    case .look: .looks(sees: sees ?? [])
    }
  }

  fileprivate init(_ step: Scenario.Step) {
    self.init(at: step.at)
    switch step.action {
    case .accessoryPlugsIn(let name): (accessory, of) = (.plugIn, name)
    case .accessoryUnplugs(let name): (accessory, of) = (.unplug, name)
    case .accessoryClosesSessions(let name): (accessory, of) = (.closeSessions, name)
    case .accessoryForgetsSessions(let name): (accessory, of) = (.forgetSessions, name)
    case .cablePulled(let name): (cable, of) = (.pull, name)
    case .cablePulledUnnoticed(let name): (cable, of) = (.pullUnnoticed, name)
    case .deviceResetsLink(let name): (device, of) = (.resetLink, name)
    case .accessorySays(let name, let saying):
      (accessory, of, send, parameters) = (.message, name, saying.entry.send, saying.entry.parameters)
    case .deviceSays(let name, let saying):
      (device, of, send, parameters) = (.message, name, saying.entry.send, saying.entry.parameters)
    case .deviceHeedsCables(let heeds): device = heeds ? .heedCables : .ignoreCables
    case .app(let action): app = word(action)
    case .sdk(.opensSession(let name)): (sdk, of) = (.openSession, name)
    case .sdk(.closesSession): sdk = .closeSession
    case .otherApp(let action): otherApp = word(action)
    }
  }

  private mutating func word(_ action: Scenario.AppAction) -> AppWord {
    switch action {
    case .launches: return .launch
    case .quits: return .quit
    case .ends(let ending, let leavesSessions):
      if leavesSessions { sessions = .left }
      return ending == .kill ? .kill : .crash
    case .registers: return .register
    case .unregisters: return .unregister
    case .moves(.foreground): return .foreground
    case .moves(.background): return .background
    case .moves(.suspended): return .suspend
    case .opensSession(let name):
      of = name
      return .openSession
    case .closesSession: return .closeSession
    case .looks(let sees):
      self.sees = sees
      return .look
    }
  }
}
