import AccessoryFormats
import AccessoryHost

extension ControlMethods {
  static let apps: [ControlMethod] = launching + appActions + opening + picker

  private static let launching = [
    ControlMethod(
      "app.launch",
      "Launch an app on a world's device. `app` notifications then report each accessory that connects or disconnects. "
        + "When this client disconnects, the app ends as if it had been killed.",
      .all(AppChoices.format), .new("app"), errors: [.unknown, .gone, .limit],
      example: "{\"protocols\":[\"com.lawaken.iap2\"]}"
    ) { call, choices in
      let world = try call.server.world(choices.world)
      let id = try call.server.apps.issue()
      let app = ControlledApp(id, choices, in: world, client: call.client.isTransient ? nil : call.client)
      call.server.apps.put(app, named: id)
      return id
    },
    ControlMethod(
      "app.list", "List apps and their state.", .world,
      .list("apps", ControlledApp.answer, "the apps, in order of launch"),
      effect: .reads, errors: [.unknown, .gone]
    ) { call, params in
      if let world = params { return try call.server.world(world).apps }
      return call.server.apps.all
    },
    ControlMethod(
      "app.accessories", "List the accessories that an app sees in `connectedAccessories`.", .id(of: "app"),
      .list("accessories", PublishedAccessory.answer, "the accessories, in the order in which they connected"),
      effect: .reads, errors: [.unknown, .gone, .state], example: "{\"app\":\"p1\"}"
    ) { call, id in
      try call.server.apps.find(id).running().accessories
    },
  ]

  private static let opening = [
    ControlMethod(
      later: "app.open",
      "Open a session with an accessory that an app sees. With `wait`, the response arrives once a session is open, or "
        + "when the wait times out, with the latest reason for the failure.",
      .all(Opening.format), SessionState.answer, errors: [.unknown, .gone, .state, .refused, .limit],
      example: "{\"app\":\"p1\",\"protocol\":\"com.lawaken.iap2\"}"
    ) { call, answer, params in
      let app = try call.server.apps.find(params.app)
      try open(app, params, until: app.world.loop.now + params.wait, call, answer)
    }
  ]

  private static func open(
    _ app: ControlledApp, _ params: Opening, until deadline: Instant, _ call: ControlCall,
    _ answer: @escaping (Result<SessionState, RPCError>) -> Void
  ) throws(RPCError) {
    let refusal: RPCError
    do throws(RPCError) {
      let session = try app.open(try params.choose(in: app), params.protocolName)
      let firstLine = params.port ? try? bytePort(of: session, call).firstLine : nil
      return answer(.success(SessionState(session: session, firstLine: firstLine)))
    } catch {
      guard error.kind == .refused, app.world.loop.now < deadline else { throw error }
      refusal = error
    }
    app.world.wait(
      call, until: deadline,
      accepts: { [id = app.id] notice in
        guard case .app(id, _) = notice.content else { return false }
        return notice.name == "connect" || notice.name == "ended"
      }
    ) { end, _ in
      guard end == .notice else { return answer(.failure(refusal)) }
      do throws(RPCError) { try open(app, params, until: deadline, call, answer) } catch {
        answer(.failure(error))
      }
    }
  }
}

private struct Opening: Equatable, Sendable {
  var app = ""
  var connectionID: Int?
  var accessory: String?
  var protocolName = ""
  var wait = Duration.zero
  var port = false

  static let format = Record("opening", "", Opening()) {
    Field("app", \.app, .text, "the id of the app", isRequired: true)
    Field("protocol", \.protocolName, .text, "the protocol", isRequired: true)
    Field(
      "connectionID", \.connectionID, .optional(.integer(0...Int.max)),
      "the accessory's connection ID (default: the first accessory that offers the protocol)")
    Field("accessory", \.accessory, .optional(.text), "the accessory's id, instead of a connection ID")
    Field(
      "wait", \.wait, .duration(.zero ... .seconds(3_600)),
      "how long to wait for an accessory that offers the protocol, on the world's clock")
    Field(
      "port", \.port, .boolean,
      "whether the response also contains the ticket that `session.port` would return, as `firstLine`")
  }

  func choose(in app: ControlledApp) throws(RPCError) -> Int {
    if let connectionID { return connectionID }
    let seen = try app.running().accessories
    if let accessory {
      let serial = try app.world.server.accessories.find(accessory).profile.identity.serialNumber
      if let found = seen.last(where: { $0.serialNumber == serial }) { return found.connectionID }
      throw RPCError(
        .refused, "the app '\(app.id)' does not see the accessory '\(accessory)'",
        advice: "plug it in and wait for the app's event 'connect'")
    }
    if let found = seen.first(where: { $0.protocols.contains(protocolName) }) { return found.connectionID }
    let offered = seen.flatMap(\.protocols)
    throw RPCError(
      .refused,
      "the app '\(app.id)' sees no accessory that offers \(Excerpt.of(protocolName))"
        + Suggestion.nearHint(for: protocolName, in: offered),
      advice: seen.contains { $0.protocols.isEmpty }
        ? "an accessory has connected without protocols, as in a flicker: wait for the app's next event 'connect'"
        : "plug an accessory in and wait for the app's event 'connect'")
  }
}
