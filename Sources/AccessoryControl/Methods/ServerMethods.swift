import AccessoryFormats

extension ControlMethods {
  static let server: [ControlMethod] = [
    ControlMethod(
      "rpc.discover", "Describe the protocol as an OpenRPC document.", Nothing.params,
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
    ) { call, _ in OpenRPC.document(version: call.server.settings.version) },
    ControlMethod(
      "server.info", "Get the server's version and the number of its objects.", Nothing.params, ControlServer.info,
      effect: .reads,
      exampleResult:
        "{\"version\":\"…\",\"protocol\":1,\"worlds\":1,\"accessories\":0,\"apps\":0,\"sessions\":0,\"clients\":1}"
    ) { call, _ in call.server },
    ControlMethod(
      "client.detach",
      "Detach from the apps that this client launches from now on: they keep running after the client disconnects, and "
        + "the client gets no notifications from them.",
      Nothing.params, effect: .reads, exampleResult: "{}"
    ) { call, _ in
      call.client.detach()
    },
    ControlMethod(
      "client.cancel",
      "Cut short one of this client's waiting requests. The server answers that request with the results so far, and "
        + "sets `stopped` to `cancelled`.",
      .only("cancelling", "request", CancelledRequest.format, "the `id` of the waiting request", from: .number(0)),
      .only("cancelled", "cancelled", .boolean, "whether the request was waiting"), effect: .reads,
      example: "{\"request\":7}",
      exampleResult: "{\"cancelled\":true}"
    ) { call, params in call.client.cancel(params.id) },
    ControlMethod(
      "events.subscribe",
      "Send this client a world's events as `event` notifications, and every request that changes something as a "
        + "`change` notification; with `after`, past ones come first. A second subscription to a world replaces the "
        + "first. Notifications about the client's own apps and sessions need no subscription.",
      Subscribing.format,
      .only("last number", "number", .integer(0...Int.max), "the number of the latest notification"),
      effect: .reads,
      errors: [.unknown, .gone], example: "{\"world\":\"main\"}"
    ) { call, params in
      let worlds = try params.world.map { [try call.server.world($0)] } ?? call.server.worlds.all
      for id in params.accessories ?? [] { _ = try call.server.accessories.find(id) }
      let choice = ControlSubscription.Choice(
        names: params.events.map(Set.init), accessories: params.accessories.map(Set.init))
      var subscription = call.client.subscription ?? ControlSubscription()
      if let world = params.world { subscription.worlds[world] = choice } else { subscription = .init(others: choice) }
      call.client.subscription = subscription
      if let after = params.after {
        for notice in worlds.flatMap({ $0.notices(after: after, atMost: .max) }) {
          switch notice.content {
          case .event, .change: if choice.includes(notice) { call.client.notify(ControlNews(notice)) }
          case .app, .session: break
          }
        }
      }
      return worlds.map(\.lastNumber).max() ?? 0
    },
    ControlMethod(
      "events.unsubscribe", "Stop sending events to this client.",
      .only(
        "unsubscribing", "world", .optional(.text), "the id of a world (default: all worlds)", from: nil,
        isRequired: false),
      effect: .reads, errors: [.unknown, .gone]
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
      Listing.format, pastNotices,
      effect: .reads, errors: [.unknown, .gone], example: "{\"world\":\"main\",\"after\":0,\"limit\":1}"
    ) { call, params in
      let world = try call.server.world(params.world)
      return (
        world.notices(after: params.after, atMost: params.limit), max(0, world.forgottenCount - params.after)
      )
    },
  ]

  private static let pastNotices = Answer<(notices: [ControlNotice], dropped: Int)>("past notices") {
    Key("notices", .list(of: .raw("a notification")), "each with its `method` and `params`") {
      $0.notices.map { ControlNews($0).tree }
    }
    Key(
      "dropped", .integer(0...Int.max), "number of notifications numbered higher than `after` that are no longer kept"
    ) { $0.dropped }
  }
}

extension ControlServer {
  fileprivate static let info = Answer<ControlServer>("server info") {
    Key("version", .text, "the version of easim") { $0.settings.version }
    Key(
      "protocol", .integer(1...Int.max),
      "the version of this protocol; methods and keys may be added to a version, but never changed or removed"
    ) { _ in 1 }
    Key("worlds", .integer(0...Int.max), "number of worlds") { $0.worlds.count }
    Key("accessories", .integer(0...Int.max), "number of accessories") { $0.accessories.count }
    Key("apps", .integer(0...Int.max), "number of apps") { $0.apps.count }
    Key("sessions", .integer(0...Int.max), "number of sessions") { $0.sessions.count }
    Key("clients", .integer(0...Int.max), "number of clients") { $0.clients.count }
  }
}

/// The ID of a request to cancel: a string or a whole number.
private enum CancelledRequest: Equatable, Sendable {
  case text(String)
  case number(Int)

  var id: RPCID {
    switch self {
    case .text(let text): .text(text)
    case .number(let number): .number("\(number)")
    }
  }

  static let format = Format<CancelledRequest>(
    .either([.text(TextShape()), .integer(Int64.min...Int64.max)])
  ) { value, place in
    switch value.content {
    case .text(let text): return .text(text)
    case .number(let number):
      if let whole = number.integer { return .number(Int(whole)) }
      return place.expected("a text or a whole number", value)
    default: return place.expected("a text or a whole number", value)
    }
  } write: { request in
    switch request {
    case .text(let text): .text(text)
    case .number(let number): .number(number)
    }
  }
}

private struct Subscribing: Equatable, Sendable {
  var world: String?
  var events: [String]?
  var accessories: [String]?
  var after: Int?

  static let format = Record("subscribing", "", Subscribing()) {
    Field("world", \.world, .optional(.text), "the id of a world (default: all worlds, including future ones)")
    Field(
      "events", \.events, .optional(.list(of: .text)),
      "which notifications to send: events with these names, such as connect, and `change` notifications about requests "
        + "with these names (default: all)"
    )
    Field(
      "accessories", \.accessories, .optional(.list(of: .text)),
      "only events about the accessories with these ids (default: all)")
    Field(
      "after", \.after, .optional(.integer(0...Int.max)),
      "first send past events numbered higher than this (default: only new events)")
  }
}

private struct Listing: Equatable, Sendable {
  var world = "main"
  var after = 0
  var limit = 1_000

  static let format = Record("listing", "", Listing()) {
    Field("world", \.world, .text, "the id of the world")
    Field("after", \.after, .integer(0...Int.max), "only notifications numbered higher than this")
    Field("limit", \.limit, .integer(1...10_000), "maximum number")
  }
}
