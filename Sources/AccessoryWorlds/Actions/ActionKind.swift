import AccessoryFormats
import AccessoryHost
import AccessoryProfiles
import AccessorySimulator

/// One row in the table of actions. See ``WorldAction/kinds(_:for:)``.
package struct ActionKind: Sendable {
  package enum Tool: Sendable {
    case scenarios
    case plans
  }

  /// The control protocol's method for this action on an accessory or an app, or nil if the method does not exist or
  /// needs more parameters.
  package let method: String?
  /// The key in `easim run` that performs the action on every accessory.
  package let key: Character?
  /// Creates the action on an accessory or app with this name. All other keys have their defaults.
  package let action: @Sendable (_ of: String) -> WorldAction
  let tools: [Tool]
  let kind: Kind<WorldAction>

  /// The action's name: `accessory.plugIn` is the step `accessory: 'plugIn'`.
  package var name: String { kind.name }
  package var summary: String { kind.summary }
}

extension [ActionKind] {
  package func starting(with names: [String]) -> [ActionKind] {
    names.compactMap { name in first { $0.name == name } } + filter { !names.contains($0.name) }
  }
}

// MARK: - The form in files

extension WorldAction {
  /// The format of all actions, such as `accessory.plugIn,of=glasses`.
  package static let format = format(kinds())

  private static func format(_ kinds: [ActionKind]) -> OneOf<WorldAction> {
    OneOf("action", key: "action", example: "accessory.plugIn,of=glasses") { kinds.map(\.kind) }
  }

  /// Returns the format of an action as part of a step: `accessory: 'plugIn', of: 'glasses'`.
  package static func format<Step>(
    in record: Record<Step>, at path: Property<Step, WorldAction>, _ names: ScenarioNames, for tool: ActionKind.Tool
  ) -> Format<Step> {
    let kinds = kinds(names, for: tool).filter { $0.tools.contains(tool) }
    let used = sides.filter { side in kinds.contains { $0.name.hasPrefix(side.key + ".") } }
    return format(kinds).format(in: record, at: path, sides: used) { key, kind in
      switch key {
      case "of" where kind.hasPrefix("device."): "'\(kind.dropFirst("device.".count))' applies to every cable"
      case "of": "only 'openSession' applies to one accessory"
      case "sessions": "'sessions' needs app: 'kill' or app: 'crash'"
      default: nil
      }
    }
  }

  private static let sides = [
    OneOfSide("accessory", "the accessory's action"), OneOfSide("cable", "the event on an accessory's cable"),
    OneOfSide("device", "the device's action"), OneOfSide("app", "the app's action, or an event that affects the app"),
    OneOfSide(
      "sdk", "the action of another SDK in the app's process, which shares the app's registrations and sessions"),
    OneOfSide(
      "otherApp", "the action of another app, or an event that affects it; this app is not running at the start"),
  ]

  /// Whether the accessory must be plugged in (true) or unplugged (false) for the action, or nil if the action is
  /// possible in both cases.
  package var needsPlug: Bool? {
    switch self {
    case .accessory(let action, _): action.needsPlug
    case .pull: true
    case .faults, .resetLink, .noticeCables, .deviceMessage, .app: nil
    }
  }

  package var subject: String? {
    switch self {
    case .accessory(_, let name), .pull(let name, _), .faults(_, let name), .resetLink(let name),
      .deviceMessage(_, let name), .app(.opensSession(let name), _), .app(_, .named(let name)):
      name
    case .noticeCables, .app: nil
    }
  }
}

struct ActionKeys: Equatable, Sendable {
  var of: String?
  var sessions: AppAction.Sessions?
  var sees: [String] = []
  var message = MessageRuleEntry(send: .id(0))
  var quirk = Quirk.noStatus
  var faults: [CableFault] = []

  init() {}

  init(_ action: WorldAction) {
    of = action.subject
    switch action {
    case .accessory(.message(let sent), _), .deviceMessage(let sent, _): message = sent
    case .accessory(.quirk(let quirk), _): self.quirk = quirk
    case .faults(let faults, _): self.faults = faults
    case .app(.ends(_, leavesSessions: true), _): sessions = .left
    case .app(.looks(let sees), _): self.sees = sees
    case .accessory, .pull, .resetLink, .noticeCables, .app: break
    }
  }
}

struct ActionRows {
  enum Key {
    case of, ofApp, sessions, sees, message, quirk, faults
  }

  private let names: ScenarioNames

  init(_ names: ScenarioNames) { self.names = names }

  func callAsFunction(
    _ name: String, _ summary: String, _ tools: [ActionKind.Tool] = [.scenarios], _ method: String? = nil,
    key: Character? = nil, _ make: @escaping @Sendable (String) -> WorldAction
  ) -> ActionKind {
    self(name, summary, tools, method: method, key: key, keys: [.of]) { of, _ in make(of) }
  }

  func callAsFunction(
    _ name: String, _ summary: String, _ tools: [ActionKind.Tool] = [.scenarios], method: String? = nil,
    key: Character? = nil, keys: [Key], _ make: @escaping @Sendable (String, ActionKeys) -> WorldAction
  ) -> ActionKind {
    let isOfApp = keys.contains(.ofApp)
    let isAboutOne = isOfApp || keys.contains(.of)
    let subjects = isOfApp ? names.apps : keys.contains(.of) ? names.accessories : nil
    let only = subjects?.count == 1 ? subjects?.first : nil
    let record = Record(name, summary, ActionKeys()) {
      for key in keys { fields(key) }
    }.checked { given, object in
      // If the message could not be read, the problem has already been reported.
      if given.message.send != ActionKeys().message.send { given.message.checkParameters(object) }
      guard let subjects, only == nil, object.value("of") == nil else { return }
      let choice = subjects.isEmpty ? "there is none" : subjects.map { "'\($0)'" }.joined(separator: ", ")
      object.error(
        "there are several choices: add 'of' with the name of the \(isOfApp ? "app" : "accessory"): \(choice)")
    }
    let kind = Kind(record, { make($0.of ?? only ?? "", $0) }) { action in
      var given = ActionKeys(action)
      guard make(given.of ?? "", given) == action else { return nil }
      if given.of == only { given.of = nil }
      return given
    }
    return ActionKind(
      method: method, key: key, action: { make(isAboutOne ? $0 : "", ActionKeys()) }, tools: tools, kind: kind)
  }

  private func fields(_ key: Key) -> [Field<ActionKeys>] {
    switch key {
    case .of: [of(among: names.accessories, "accessory")]
    case .ofApp: [of(among: names.apps, "app")]
    case .sessions:
      [
        Field(
          "sessions", \.sessions, .optional(.choice),
          "with `kill` and `crash`: what the system does with the app's sessions; default: `closed`")
      ]
    case .sees:
      [
        Field(
          "sees", \.sees, .list(of: .name("accessory", among: names.accessories)),
          "with `look`: the accessories that the app must see in its list, in order of publication", isRequired: true)
      ]
    case .message:
      [
        Field(
          "send", \.message.send, Profile.MessageName.format,
          "with `message`: the control message, by name or number; if a rule also sends this message, the new "
            + "parameters replace the rule's, and a subscribed end receives the message at once", isRequired: true),
        Field(
          "parameters", \.message.parameters, MessageValue.parameters,
          "with `message`: the message's parameters, as in a profile's rules"),
      ]
    case .quirk: [Field("quirk", \.quirk, .oneOf(Quirk.format), "the quirk", isRequired: true)]
    case .faults: [Field("faults", \.faults, .cableFaults, "the faults", isRequired: true)]
    }
  }

  private func of(among names: [String]?, _ what: String) -> Field<ActionKeys> {
    Field(
      "of", \.of, .optional(.name(what, among: names)),
      "the name of the accessory or app; optional if there is only one")
  }
}
