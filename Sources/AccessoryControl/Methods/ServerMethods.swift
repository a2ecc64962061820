import AccessoryFormats

extension ControlMethods {
  /// Methods about the server, and about events.
  static let server: [ControlMethod] = [
    ControlMethod(
      "rpc.discover", "Describe the protocol as an OpenRPC document.", Nothing.params,
      Record("OpenRPC document", "see https://spec.open-rpc.org", JSON5Value.object([])) {
        Field(derived: "openrpc", .text, "the version of OpenRPC") { _ in OpenRPC.version }
        Field(derived: "info", .raw("info"), "name and version") { $0["info"] ?? .null }
        Field(derived: "methods", .raw("methods"), "every method") { $0["methods"] ?? .null }
      },
      effect: .reads,
      exampleResult: "{\"openrpc\":\"1.3.2\",\"info\":{\"title\":\"easim\",\"version\":\"…\"},\"methods\":[…]}"
    ) { call, _ in OpenRPC.document(version: call.server.settings.version) },
    ControlMethod(
      "server.info", "Get the server's version and the number of its objects.", Nothing.params, ServerInfo.format,
      effect: .reads,
      exampleResult:
        "{\"version\":\"…\",\"protocol\":1,\"worlds\":1,\"accessories\":0,\"apps\":0,\"sessions\":0,\"clients\":1}"
    ) { call, _ in
      let server = call.server
      return ServerInfo(
        version: server.settings.version, worlds: server.worlds.count, accessories: server.accessories.count,
        apps: server.apps.count, sessions: server.sessions.count, clients: server.clients.count)
    },
    ControlMethod(
      "client.detach",
      "Keep apps that this client launches from now on running after it disconnects. A detached client gets no "
        + "notifications from them.",
      Nothing.params, Nothing.result, effect: .reads, exampleResult: "{}"
    ) { call, _ in
      call.client.detach()
      return Nothing()
    },
    ControlMethod(
      "events.subscribe",
      "Send this client every event of a world as the notification `event`, and every request that changes something "
        + "as `change`; with `after`, past ones first. Notifications of the client's own apps and sessions need no "
        + "subscription.",
      Subscribing.format, LastNumber.format, effect: .reads, errors: [.unknown, .gone], example: "{\"world\":\"main\"}"
    ) { call, params in
      let worlds = try params.world.map { [try call.server.world($0)] } ?? call.server.worlds.all
      var subscription = call.client.subscription ?? ControlSubscription(worlds: [])
      if params.world == nil { subscription.worlds = nil } else { subscription.worlds?.insert(worlds[0].id) }
      call.client.subscription = subscription
      if let after = params.after {
        for notice in worlds.flatMap({ $0.notices(after: after, atMost: .max) }) {
          switch notice.content {
          case .event, .change: call.client.notify(ControlNews(notice))
          case .app, .session: break
          }
        }
      }
      return LastNumber(number: worlds.map(\.lastNumber).max() ?? 0)
    },
    ControlMethod(
      "events.unsubscribe", "Stop sending events to this client.", Nothing.params, Nothing.result, effect: .reads
    ) {
      call, _ in
      call.client.subscription = nil
      return Nothing()
    },
    ControlMethod(
      "events.list",
      "Get past notices of a world: events, requests that changed something, and the notifications of all apps and "
        + "sessions. The server keeps the last \(ControlWorld.mostNotices).",
      Listing.format, Listed<JSON5Value>.format("notices", .raw("a notice"), "each with its `method` and `params`"),
      effect: .reads, errors: [.unknown, .gone], example: "{\"world\":\"main\",\"after\":0,\"limit\":1}"
    ) { call, params in
      let world = try call.server.world(params.world)
      return Listed(all: world.notices(after: params.after, atMost: params.limit).map { ControlNews($0).tree })
    },
  ]
}

private struct ServerInfo: Equatable, Sendable {
  var version = ""
  var revision = 1
  var worlds = 0
  var accessories = 0
  var apps = 0
  var sessions = 0
  var clients = 0

  static let format = Record("server info", "", ServerInfo()) {
    Field("version", \.version, .text, "of easim", isRequired: true)
    Field(
      "protocol", \.revision, .integer(1...Int.max),
      "of this protocol; a version may gain methods and keys, but never changes or loses any", isRequired: true)
    Field("worlds", \.worlds, .integer(0...Int.max), "number of worlds", isRequired: true)
    Field("accessories", \.accessories, .integer(0...Int.max), "number of accessories", isRequired: true)
    Field("apps", \.apps, .integer(0...Int.max), "number of apps", isRequired: true)
    Field("sessions", \.sessions, .integer(0...Int.max), "number of sessions", isRequired: true)
    Field("clients", \.clients, .integer(0...Int.max), "number of clients", isRequired: true)
  }
}

private struct Subscribing: Equatable, Sendable {
  var world: String?
  var after: Int?

  static let format = Record("subscribing", "", Subscribing()) {
    Field("world", \.world, .optional(.text), "the id of a world (default: all worlds, including future ones)")
    Field(
      "after", \.after, .optional(.integer(0...Int.max)),
      "first send past events with greater numbers (default: only new events)")
  }
}

private struct Listing: Equatable, Sendable {
  var world = "main"
  var after = 0
  var limit = 1_000

  static let format = Record("listing", "", Listing()) {
    Field("world", \.world, .text, "the id of the world")
    Field("after", \.after, .integer(0...Int.max), "only notices with greater numbers")
    Field("limit", \.limit, .integer(1...10_000), "maximum number")
  }
}

private struct LastNumber: Equatable, Sendable {
  var number = 0

  static let format = Record("last number", "", LastNumber()) {
    Field("number", \.number, .integer(0...Int.max), "the number of the latest notice", isRequired: true)
  }
}
