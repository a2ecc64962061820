import AccessoryCore
import AccessoryFaults
import AccessoryFormats
import AccessoryProfiles
import AccessoryWorlds

extension ControlMethods {
  static let library: [ControlMethod] = [
    ControlMethod(
      "library.list",
      "List the profiles, scenarios and link presets that other methods accept by name.",
      .none, contents, effect: .reads,
      exampleResult:
        "{\"profiles\":[{\"profile\":\"echo\",\"summary\":\"…\",\"name\":\"…\",\"manufacturer\":\"…\",\"protocols\":[\"com.example.echo\"],\"yours\":false},…],"
        + "\"scenarios\":[{\"scenario\":\"flicker\",\"summary\":\"…\",\"seconds\":2.5,\"naive\":\"…\"},…],"
        + "\"linkPresets\":[{\"linkPreset\":\"bluetooth\",\"summary\":\"…\",\"faults\":[\"rate,bytes=7500\",…]},…]}"
    ) { call in call.profiles }
  ]

  private static let contents = Answer<ProfileLibrary>("library") {
    Key(
      "profiles", .list(of: .raw("a profile")),
      "the profiles, each with `profile`, `summary`, `name`, `manufacturer`, `protocols` and `yours` (whether the "
        + "profile is one you wrote); if a profile is unusable, `problem` says why"
    ) { library in library.names.map { entry($0.name, isUsers: $0.isUsers, in: library) } }
    Key(
      "scenarios", .list(of: .raw("a scenario")),
      "the scenarios, each with `scenario`, `summary`, `seconds`, and `naive` (the client that the scenario breaks)"
    ) {
      let scenarios = ScenarioLibrary(profiles: $0)
      return scenarios.names.compactMap { try? scenarios.scenario($0) }.map(entry)
    }
    Key(
      "linkPresets", .list(of: .raw("a link preset")),
      "the link presets, each with `linkPreset`, `summary` and its `faults`"
    ) { _ in LinkPreset.all.map(entry) }
  }

  private static func entry(_ name: String, isUsers: Bool, in library: ProfileLibrary) -> JSON5Value {
    var (profile, problem): (Profile?, JSON5Value?)
    do { profile = try library.profile(name) } catch { problem = .text("\(error)") }
    return .members([
      ("profile", .text(name)), ("summary", profile.map { .text($0.summary) }),
      ("name", profile.map { .text($0.identity.name) }),
      ("manufacturer", profile.map { .text($0.identity.manufacturer) }),
      ("protocols", profile.map { .array($0.protocols.map { .text($0.name) }) }), ("problem", problem),
      ("yours", .boolean(isUsers)),
    ])
  }

  private static func entry(_ scenario: Scenario) -> JSON5Value {
    .members([
      ("scenario", .text(scenario.name)), ("summary", .text(scenario.about.summary)),
      ("seconds", .seconds(scenario.length)), ("naive", scenario.naiveClient.map { .text($0) }),
    ])
  }

  private static func entry(_ preset: LinkPreset) -> JSON5Value {
    .members([
      ("linkPreset", .text(preset.name)), ("summary", .text(preset.summary)),
      ("faults", .array(preset.faults.map { .text($0.description) })),
    ])
  }
}

extension JSON5Value {
  /// Creates an object without the keys that have no value.
  static func members(_ members: [(key: String, value: JSON5Value?)]) -> JSON5Value {
    .object(members.compactMap { key, value in value.map { JSON5Member(key, $0) } })
  }

  /// Returns a duration in seconds, rounded to six decimal places.
  static func seconds(_ duration: Duration) -> JSON5Value {
    let microseconds = (Instant.origin + duration).nanoseconds / 1_000
    let value = Double(microseconds) / 1_000_000
    return JSON5Value(.number(JSON5Number(spelling: "\(value)", value: value, integer: nil)))
  }
}
