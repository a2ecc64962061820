import AccessoryCore
import AccessoryFaults
import AccessoryFormats
import AccessoryHost
import AccessoryProfiles

// The format of scenario files. The schema and the tables in docs/scenario-files.md are generated from this format.
// AccessorySoak reuses parts of the format for scenarios that have the key `apps`.

extension Scenario {
  package static let longest = Duration.seconds(7 * 24 * 3_600)

  private static let base = Scenario(
    about: About(), accessories: [], policy: .ready, steps: [], tail: .seconds(60), expectations: [])

  package static func format(_ names: ScenarioNames = ScenarioNames()) -> Record<Scenario> {
    Record(
      "scenario", "the events that affect accessories, cables, the device and an app, and what the app must see", base
    ) {
      About.format.fields(at: \.about)
      Field(
        "naive", \.naiveClient, .optional(.words(ScenarioClients.naive.map { ($0.name, $0.name) })),
        "the naive client that the scenario breaks")
      Field("seed", \.seed, .optional(.seed), "the random seed; default: the command's")
      Field(
        "accessories", \.accessories, .accessories(names.profiles),
        "the accessories, keyed by the names that the steps use", isRequired: true)
      Field.cable(\.speed, \.faults)
      Field(group: "device", "the Apple device") {
        Field.device(\.policy, \.deviceFlicker, \.order)
        Field("auth", \.authentication, .choice, "how the device treats an accessory whose authentication fails")
        Field.refused(
          ["window", "packetLength", "firstSession", "link"], "only the device of a scenario with 'apps'")
      }
      Field("app", \.appSection, .object(ScenarioAppSection.format), ScenarioAppSection.format.summary)
      Field(
        "steps", \.steps, .steps(of: Step.format(names)) { $0.at }, "the steps, in chronological order",
        isRequired: true)
      Field("tail", \.tail, .duration(.zero...longest), "how long the world continues after the last step")
      Field(
        "expect", \.expectations, .list(of: .object(Expectation.format(names))),
        "the events that the app must see, in order",
        isRequired: true)
      Field.refused(["apps", "forbid"], "only a scenario with 'apps'")
    }
  }

  private var appSection: ScenarioAppSection {
    get { ScenarioAppSection(settings: app, payload: payload, interval: interval) }
    set { (app, payload, interval) = (newValue.settings, newValue.payload, newValue.interval) }
  }

  package init(_ source: ScenarioSource, profiles: ProfileLibrary) throws(SourceProblems) {
    self = try source.read(profiles) { tree, names throws(SourceProblems) in
      try Scenario(tree, names, name: source.name)
    }
  }

  package init(_ tree: JSON5Value, _ names: ScenarioNames, name: String) throws(SourceProblems) {
    if let apps = tree["apps"] {
      let message = "a scenario with 'apps' has its own apps and expects no events, so no other app can play it"
      throw SourceProblems([SourceProblem(at: apps.position, path: "apps", message)])
    }
    self = try Scenario.format(names).read(tree)
    about.name = name
  }
}

package struct ScenarioNames: Sendable {
  package var profiles = ProfileLibrary()
  /// The names that the file gives to accessories, or nil if names are not checked.
  package var accessories: [String]?
  package var apps: [String]?

  package init(profiles: ProfileLibrary = ProfileLibrary(), accessories: [String]? = nil, apps: [String]? = nil) {
    (self.profiles, self.accessories, self.apps) = (profiles, accessories, apps)
  }

  package init(in tree: JSON5Value, profiles: ProfileLibrary = ProfileLibrary()) {
    func names(_ key: String) -> [String]? {
      guard case .object(let members)? = tree[key]?.content, !members.isEmpty else { return nil }
      return members.map(\.key)
    }
    self.init(profiles: profiles, accessories: names("accessories"), apps: names("apps"))
  }
}

extension ScenarioSource {
  package func read<Whole>(
    _ profiles: ProfileLibrary, _ read: (JSON5Value, ScenarioNames) throws(SourceProblems) -> Whole
  ) throws(SourceProblems) -> Whole {
    let tree: JSON5Value
    do { tree = try JSON5.read(bytes, file: path) } catch { throw SourceProblems([error]) }
    return try read(tree, ScenarioNames(in: tree, profiles: profiles))
  }
}

// MARK: - Parts

extension Scenario.About {
  package static let format = Record("about", "", Scenario.About()) {
    Field(passing: "$schema", .text, "the path of the JSON Schema, for editors")
    Field(constant: "version", Scenario.formatVersion, "the version of this format")
    Field("description", \.summary, .text, "what the scenario reproduces, in one sentence", isRequired: true)
    Field(
      "reproduces", \.reproduces, .list(of: .text),
      "the identifiers (such as F1) of the behaviors and failures that the scenario reproduces")
    Field("source", \.source, .text, "where the failure was reported")
    Field("story", \.story, .text, "a description of the failure and of the affected product")
    Field("survival", \.survival, .text, "how an app can survive the failure")
  }
}

extension Scenario.Part {
  // These keys change the profile, and are therefore never written.

  private var quirks: [Quirk] {
    get { [] }
    set { for quirk in newValue { profile.apply(quirk) } }
  }

  private var serial: String? {
    get { nil }
    set { if let newValue { profile.identity.serialNumber = newValue } }
  }

  /// Returns the format of an accessory. A profile that is defined in the scenario itself gets the accessory's name.
  package static func format(named name: String, _ profiles: ProfileLibrary) -> Record<Self> {
    Record("accessory", "an accessory", Self(name: name, profile: Profile.format.base)) {
      Field(
        "profile", \.profile, .reference(named: name, profiles),
        "the accessory's profile: a name, a path, or the profile itself",
        isRequired: true)
      Field("quirks", \.quirks, .list(of: .oneOf(Quirk.format)), "the accessory's quirks, in addition to the profile's")
      Field("serial", \.serial, .optional(.text), "the accessory's serial number, instead of the profile's")
    }
  }
}

extension Format<[Scenario.Part]> {
  fileprivate static func accessories(_ profiles: ProfileLibrary) -> Format {
    Format<[Named<Scenario.Part>]>.named(atLeast: 1) { name in
      let part = Scenario.Part.format(named: name, profiles)
      return .object(
        Record(part.name, part.summary, part.base) {
          part.fields(at: \.self)
          Field.refused(["link", "streams"], "only an accessory of a scenario with 'apps'")
        })
    }.map { parts in
      parts.map(\.value)
    } back: { parts in
      parts.map { Named($0.name, $0) }
    }
  }
}

extension Format<Profile> {
  fileprivate static func reference(named name: String, _ profiles: ProfileLibrary) -> Format {
    Format(.either([.text(TextShape()), .document("a profile")])) { value, place in
      do throws(SourceProblems) {
        switch value.content {
        case .object: return try profiles.template(tree: value, name: name).instance()
        case .text(let reference): return try profiles.profile(reference)
        case .null, .boolean, .number, .array:
          return place.expected("the name or path of a profile, or the profile itself", value)
        }
      } catch {
        // A problem without a position is about the reference to a file, not about the file's contents.
        for problem in error.problems where problem.position != nil { place.problems.add(problem) }
        for problem in error.problems where problem.position == nil { place.error(value, problem.message) }
        return nil
      }
    } write: {
      $0.tree
    }
  }
}

extension Field {
  package static func cable(
    _ speed: Property<Root, World.Settings.CableSpeed>, _ faults: Property<Root, [CableFault]>
  ) -> Field {
    let speedFormat = Record("speed", "", World.Settings.CableSpeed()) {
      Field<World.Settings.CableSpeed>(
        "latency", \.latency, .duration(.zero ... .seconds(60)), "propagation delay")
      Field<World.Settings.CableSpeed>(
        "bytesPerSecond", \.bytesPerSecond, .optional(.integer(1...1_000_000_000)),
        "bytes per second in each direction; default: unlimited")
    }
    return Field(group: "cable", "the cables") {
      speedFormat.fields(at: speed)
      Field("faults", faults, .cableFaults, "the faults on each cable, in the order in which bytes pass through them")
    }
  }

  package static func device(
    _ policy: Property<Root, PublicationMachine.Policy>, _ flicker: Property<Root, Flicker?>,
    _ order: Property<Root, HostOrder>
  ) -> [Field] {
    [
      Field(
        "policy", policy, .choice,
        "when the device shows an accessory to apps: once the accessory is ready, or earlier"),
      Field(
        "flicker", flicker, .optional(.deviceFlicker),
        "a flicker caused by the device: the quirk's parameters, such as `cycles=2`; may be empty"),
      Field(
        "order", order, .choice,
        "what the device requests from an accessory first; a policy other than `ready`, or a flicker, "
          + "requires `identification`"
      ),
    ]
  }
}

extension Format<Flicker> {
  fileprivate static let deviceFlicker = parsed(.text(TextShape()), expected: "text") { text in
    [try Quirk("flicker,maker=device" + (text.isEmpty ? "" : ",\(text)"))].flicker
  } text: { flicker in
    let members = Quirk.format.members(.flicker(flicker)).filter { $0.key != "maker" }
    return members.map { "\($0.key)=\($0.value.word)" }.joined(separator: ",")
  }
}

private struct FaultSection: Equatable {
  var faults: [Fault] = []
  var end = Cable.End.device

  static let format = Record("cable fault", "a fault, and the end of the cable at which the fault acts", FaultSection())
  {
    Field("fault", \.faults, .faults, "the fault, or the name of a link preset", isRequired: true)
    Field(
      "at", \.end, .words([("device", .device), ("accessory", .accessory)]),
      "the end of the cable at which the fault acts")
  }
}

extension Format<[CableFault]> {
  static let cableFaults: Format = Format<[FaultSection]>.list(
    of: FaultSection.format.format(orJust: "fault")
  ).map { sections in
    sections.flatMap { section in section.faults.map { CableFault($0, at: section.end) } }
  } back: { faults in
    faults.map { FaultSection(faults: [$0.fault], end: $0.end) }
  }
}

extension Format<[Fault]> {
  fileprivate static let faults = parsed(
    .text(TextShape("fault")), expected: "a fault as text", throwing: { try LinkPreset.faults($0) },
    text: { $0.map(\.description).joined(separator: " ") })
}

extension Scenario.Expectation {
  fileprivate static func format(_ names: ScenarioNames) -> Record<Self> {
    Record("expectation", "an event that the app must see", Self("connect")) {
      Field("event", \.event, .words(Scenario.expectedEvents.map { ($0, $0) }), "the event to expect", isRequired: true)
      Field(
        "of", \.accessory, .optional(.name("accessory", among: names.accessories)),
        "the name of the accessory; default: any")
      Field(
        "protocols", \.protocols, .optional(.list(of: .text)), "the protocols that the accessory offers; default: any")
      Field("after", \.after, .optional(.duration(.zero...Scenario.longest)), "no earlier than this time")
      Field("before", \.before, .optional(.duration(.zero...Scenario.longest)), "no later than this time")
    }
  }
}

extension Format<String> {
  static func name(_ what: String, among names: [String]?) -> Format {
    Format(.text(TextShape())) { value, place in
      guard case .text(let name) = value.content else { return place.expected("text", value) }
      guard let names, !names.contains(name) else { return name }
      place.error(value, "there is no \(what) '\(Excerpt.of(name))'\(Suggestion.hint(for: name, in: names))")
      return nil
    } write: {
      .text($0)
    }
  }
}

extension Format<UInt64> {
  /// The format of a random seed. The limit is the largest number that a file can contain.
  package static let seed = integer(0...UInt64(Int64.max))
}

extension Scenario.Step {
  package static func format(_ names: ScenarioNames, for tool: ActionKind.Tool = .scenarios) -> Format<Self> {
    let time = Record(
      tool == .plans ? "step with apps" : "step", "a step: a time, a side and an action",
      Self(at: .zero, .noticeCables(true))
    ) {
      Field(
        "at", \.at, .duration(.zero...Scenario.longest), "when the step happens, counted from the start",
        isRequired: true)
    }
    return WorldAction.format(in: time, at: \.action, names, for: tool)
  }
}

extension Format {
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
            written, "steps must be in chronological order: the previous step is at \(DurationText.format(last))")
        }
        steps.append(step)
      }
      return steps
    } write: { steps in
      .array(steps.map(format.write))
    }
  }
}

struct ScenarioAppSection: Equatable {
  var settings = AppSettings()
  var payload = 2_000
  var interval: Duration?

  static let format = Record(
    "app", "the app: its Info.plist, and how the system treats the app", Self()
  ) {
    Field(
      "protocols", \.settings.manifest.declaredProtocols, .optional(.list(of: .text)),
      "UISupportedExternalAccessoryProtocols; default: all protocols are treated as declared")
    Field(
      "backgroundModes", \.settings.manifest.backgroundModes, .list(of: .text),
      "UIBackgroundModes; with external-accessory, the app keeps its accessories in the background"
    )
    Field(
      "registered", \.settings.startsRegistered, .boolean,
      "whether an object in the app's process registers for notifications at launch")
    Field(
      "payload", \.payload, .integer(1...1_000_000),
      "number of bytes that the app sends over each session and expects back")
    Field(
      "every", \.interval, .optional(.duration(.seconds(1)...Scenario.longest)),
      "the interval at which the app sends the payload again while a session is open; default: sent once")
    Field("rules", \.settings.rules, AppRules.format)
  }
}

extension AppRules {
  package static let format = Record(
    "rules", "how the system treats the app where iOS versions differ or the behavior is undocumented",
    AppRules()
  ) {
    Field(
      "visibility", \.visibility, .choice,
      "which accessories the app sees")
    Field(
      "undeclaredSessions", \.undeclaredSessions,
      .choice,
      "the result when an app opens a session for a protocol that it does not declare")
    Field(
      "honorsBackgroundMode", \.honorsBackgroundMode, .boolean,
      "whether the background mode has an effect, as it has since iOS 5")
    Field(
      "secondSession", \.secondSession,
      .choice,
      "the result when an app opens a second session with the same accessory and protocol")
    Field(
      "otherApps", \.otherApps,
      .choice,
      "the result when an app opens a session for a protocol while another app has a session open for it")
    Field(
      "reattachment", \.reattachment,
      .choice,
      "which notifications the app gets when an accessory disconnects and reconnects while the app is suspended")
    Field(
      "settlingTime", \.settlingTime, .duration(.zero...Scenario.longest),
      "how long an accessory refuses sessions after it connects")
    Field("wakesForBytes", \.wakesForBytes, .boolean, "whether arriving bytes wake a suspended app")
    Field(
      "wakeTime", \.wakeTime, .duration(.zero...Scenario.longest),
      "how long the app runs after bytes wake it")
    Field(
      "lostConnects", \.lostConnects,
      .choice,
      "which connect notifications the app does not get")
    Field(
      "announcesBytesOnce", \.announcesBytesOnce, .boolean,
      "whether a session reports available bytes only once")
  }
}
