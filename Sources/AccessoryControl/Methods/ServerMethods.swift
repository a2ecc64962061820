import AccessoryCore
import AccessoryFaults
import AccessoryFormats
import AccessoryProfiles
import AccessoryWorlds

extension ControlMethods {
  static let server: [ControlMethod] = [
    ControlMethod(
      "rpc.discover", "Describe the protocol as an OpenRPC document.", .none,
      Answer<JSON5Value>("OpenRPC document", "see https://spec.open-rpc.org") {
        Key(optional: "openrpc", .text, "the OpenRPC version") { _ in OpenRPC.version }
        Key(optional: "info", .raw("info"), "name and version") { $0["info"] }
        Key(optional: "methods", .list(of: .raw("method")), "every method") { tree in
          if case .array(let methods)? = tree["methods"]?.content { methods } else { nil }
        }
        Key(optional: "components", .raw("components"), "the types that methods refer to") { $0["components"] }
      },
      effect: .reads,
      exampleResult:
        "{\"openrpc\":\"1.3.2\",\"info\":{\"title\":\"easim\",\"version\":\"…\"},\"methods\":[…],\"components\":{…}}"
    ) { call in OpenRPC.document(version: call.server.settings.version) },
    ControlMethod(
      "server.info", "Get the server's version and the number of its objects.", .none, ControlServer.info,
      effect: .reads,
      exampleResult:
        "{\"version\":\"…\",\"protocol\":1,\"worlds\":1,\"accessories\":0,\"apps\":0,\"sessions\":0,\"clients\":1}"
    ) { call in call.server },
    ControlMethod(
      "client.detach",
      "Detach from the apps that this client launches from now on: they keep running after the client disconnects, and "
        + "the client gets no notifications from them.",
      .none, .nothing, effect: .reads, exampleResult: "{}"
    ) { call in
      call.client.detach()
    },
    ControlMethod(
      "client.cancel",
      "End one of this client's waiting requests early. The server answers that request with the results so far, and "
        + "sets `stopped` to `cancelled`.",
      .init(
        "cancelling",
        Argument(
          "request", RPCID.format, "the `id` of the waiting request", from: .null, isRequired: true)),
      .only("cancelled", "cancelled", .boolean, "whether the request was waiting"), effect: .reads,
      example: "{\"request\":7}",
      exampleResult: "{\"cancelled\":true}"
    ) { call, request in
      let cancelled = call.server.worlds.all.filter { $0.cancelWaits(of: call.client, request: request) }
      return !cancelled.isEmpty
    },
    ControlMethod(
      "events.subscribe",
      "Send this client a world's events as `event` notifications, and each request that changes something as a "
        + "`change` notification. With `after`, past notifications come first. A second subscription to a world "
        + "replaces the first. Notifications about the client's own apps and sessions need no subscription.",
      .init(
        "subscribing",
        Argument(optional: "world", .text, "the id of a world (default: all worlds, including future ones)"),
        Argument(
          optional: "events", .list(of: .text),
          "which notifications to send: events with these names, such as connect, and `change` notifications about "
            + "requests with these names (default: all)"),
        Argument(
          optional: "accessories", .list(of: .text),
          "only events about the accessories with these ids (default: all)"),
        Argument(
          optional: "after", .natural,
          "first send past events numbered higher than this (default: only new events)")),
      .only("last number", "number", .natural, "the number of the latest notification"),
      effect: .reads,
      errors: [.unknown, .gone], example: "{\"world\":\"main\"}"
    ) { call, world, events, accessories, after in
      let worlds = try world.map { [try call.server.world($0)] } ?? call.server.worlds.all
      for id in accessories ?? [] { _ = try call.server.accessories.find(id) }
      let choice = ControlSubscription.Choice(names: events.map(Set.init), accessories: accessories.map(Set.init))
      var subscription = call.client.subscription ?? ControlSubscription()
      if let world { subscription.worlds[world] = choice } else { subscription = .init(others: choice) }
      call.client.subscription = subscription
      if let after {
        for notice in worlds.flatMap({ $0.notices(after: after, atMost: .max) }) {
          switch notice.content {
          case .event, .change:
            if choice.includes(notice) { call.client.notify(RPCDocument.notification(notice.method, notice.json)) }
          case .app, .session: break
          }
        }
      }
      return worlds.map(\.lastNumber).max() ?? 0
    },
    ControlMethod(
      "events.unsubscribe", "Stop sending events to this client.",
      .init("unsubscribing", Argument(optional: "world", .text, "the id of a world (default: all worlds)")),
      .nothing, effect: .reads, errors: [.unknown, .gone]
    ) { call, params in
      if let world = params {
        _ = try call.server.world(world)
        call.client.subscription?.worlds.updateValue(nil, forKey: world)
      } else {
        call.client.subscription = nil
      }
    },
    ControlMethod(
      "events.list",
      "Get a world's past notifications: events, changes, and the notifications of all apps and "
        + "sessions. The server keeps the last \(ControlWorld.mostNotices) notifications.",
      .init(
        "listing", .world,
        Argument("after", .natural, "only notifications numbered higher than this", from: 0),
        Argument("limit", .integer(1...10_000), "maximum number", from: 1_000)),
      pastNotices, effect: .reads, errors: [.unknown, .gone], example: "{\"world\":\"main\",\"after\":0,\"limit\":1}"
    ) { call, world, after, limit in
      let world = try call.server.world(world)
      return (world.notices(after: after, atMost: limit), max(0, world.forgottenCount - after))
    },
  ]

  private static let pastNotices = Answer<(notices: [ControlNotice], dropped: Int)>("past notices") {
    Key("notices", .list(of: .raw("a notification")), "each with its `method` and `params`") {
      $0.notices.map(\.tree)
    }
    Key("dropped", .natural, "number of notifications after `after` that the server has already dropped") { $0.dropped }
  }

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

extension ControlServer {
  fileprivate static let info = Answer<ControlServer>("server info") {
    Key("version", .text, "the version of easim") { $0.settings.version }
    Key(
      "protocol", .integer(1...Int.max),
      "the version of this protocol; methods and keys may be added to a version, but never changed or removed"
    ) { _ in 1 }
    Key("worlds", .natural, "number of worlds") { $0.worlds.count }
    Key("accessories", .natural, "number of accessories") { $0.accessories.count }
    Key("apps", .natural, "number of apps") { $0.apps.count }
    Key("sessions", .natural, "number of sessions") { $0.sessions.count }
    Key("clients", .natural, "number of clients") { $0.clients.count }
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
