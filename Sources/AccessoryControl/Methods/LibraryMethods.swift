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
      Nothing.params, Library.format,
      effect: .reads,
      exampleResult:
        "{\"profiles\":[{\"profile\":\"echo\",\"summary\":\"…\",\"name\":\"…\",\"manufacturer\":\"…\",\"protocols\":[\"com.example.echo\"],\"yours\":false},…],"
        + "\"scenarios\":[{\"scenario\":\"flicker\",\"summary\":\"…\",\"seconds\":2.5,\"naive\":\"…\"},…],"
        + "\"linkPresets\":[{\"linkPreset\":\"bluetooth\",\"summary\":\"…\",\"faults\":[\"rate,bytes=7500\",…]},…]}"
    ) { call, _ in
      let profiles = call.profiles
      let scenarios = ScenarioLibrary(profiles: profiles)
      return Library(
        profiles: profiles.names.map { Library.entry($0.name, isUsers: $0.isUsers, in: profiles) },
        scenarios: scenarios.names.compactMap { try? scenarios.scenario($0) }.map(Library.entry),
        linkPresets: LinkPreset.all.map(Library.entry))
    }
  ]
}

private struct Library: Equatable, Sendable {
  var profiles: [JSON5Value] = []
  var scenarios: [JSON5Value] = []
  var linkPresets: [JSON5Value] = []

  static let format = Record("library", "", Library()) {
    Field(
      "profiles", \.profiles, .list(of: .raw("a profile")),
      "each with `profile`, `summary`, `name`, `manufacturer`, `protocols` and `yours` (whether the profile is one you "
        + "wrote); if a profile is unusable, `problem` says why",
      isRequired: true)
    Field(
      "scenarios", \.scenarios, .list(of: .raw("a scenario")),
      "each with `scenario`, `summary`, `seconds`, and `naive` (the client that the scenario breaks)", isRequired: true)
    Field(
      "linkPresets", \.linkPresets, .list(of: .raw("a link preset")),
      "each with `linkPreset`, `summary` and its `faults`",
      isRequired: true)
  }

  static func entry(_ name: String, isUsers: Bool, in library: ProfileLibrary) -> JSON5Value {
    var members: [JSON5Member] = [.init("profile", .text(name))]
    do throws(SourceProblems) {
      let profile = try library.profile(name)
      members += [
        .init("summary", .text(profile.summary)), .init("name", .text(profile.identity.name)),
        .init("manufacturer", .text(profile.identity.manufacturer)),
        .init("protocols", .array(profile.protocols.map { .text($0.name) })),
      ]
    } catch {
      members.append(.init("problem", .text("\(error)")))
    }
    return .object(members + [.init("yours", .boolean(isUsers))])
  }

  static func entry(_ scenario: Scenario) -> JSON5Value {
    var members: [JSON5Member] = [
      .init("scenario", .text(scenario.name)), .init("summary", .text(scenario.about.summary)),
      .init("seconds", .seconds(scenario.length)),
    ]
    if let naive = scenario.naiveClient { members.append(.init("naive", .text(naive))) }
    return .object(members)
  }

  static func entry(_ preset: LinkPreset) -> JSON5Value {
    .object([
      .init("linkPreset", .text(preset.name)), .init("summary", .text(preset.summary)),
      .init("faults", .array(preset.faults.map { .text($0.description) })),
    ])
  }
}

extension JSON5Value {
  /// Returns a duration in seconds, rounded to six decimal places.
  static func seconds(_ duration: Duration) -> JSON5Value {
    let microseconds = (Instant.origin + duration).nanoseconds / 1_000
    let value = Double(microseconds) / 1_000_000
    return JSON5Value(.number(JSON5Number(spelling: "\(value)", value: value, integer: nil)))
  }
}
