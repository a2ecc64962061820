import AccessoryCore
import AccessoryHost

extension ControlMethods {
  /// Methods about remote apps.
  static let apps: [ControlMethod] = [
    ControlMethod(
      "app.launch",
      "Launch an app on a world's device. From now on the notification `app` reports each accessory that connects or "
        + "disconnects. When this client's connection ends, the app ends as if it had been killed.",
      AppChoices.format, Made.format("app"), errors: [.unknown, .gone, .limit],
      example: "{\"protocols\":[\"com.lawaken.iap2\"]}"
    ) { call, choices in
      let world = try call.server.world(choices.world)
      let id = try call.server.apps.issue()
      let app = ControlledApp(id, choices, in: world, client: call.client.isTransient ? nil : call.client)
      call.server.apps.put(app, named: id)
      return Made(id: id)
    },
    ControlMethod(
      "app.list", "List the apps with their state.", OptionalWorld.format,
      Listed<RemoteAppState>.format("apps", RemoteAppState.format.format, "in the order of their launch"),
      effect: .reads, errors: [.unknown, .gone]
    ) { call, params in
      if let world = params.world { return Listed(all: try call.server.world(world).apps.map(\.state)) }
      return Listed(all: call.server.apps.all.map(\.state))
    },
    ControlMethod(
      "app.accessories", "List the accessories that an app sees: its `connectedAccessories`.", OneID.app,
      Listed<ConnectedAccessory>.format(
        "accessories", ConnectedAccessory.format.format, "in the order in which they connected"),
      effect: .reads, errors: [.unknown, .gone, .state], example: "{\"app\":\"p1\"}"
    ) { call, params in
      Listed(all: try call.server.apps.find(params.id).running().accessories.map(ConnectedAccessory.init))
    },
    ControlMethod(
      "app.register", "Register for notifications; each call needs its `app.unregister`.", OneID.app,
      Registrations.format,
      errors: [.unknown, .gone, .state], example: "{\"app\":\"p1\"}"
    ) { call, params in
      let view = try call.server.apps.find(params.id).running()
      view.register()
      return Registrations(count: view.registrationCount)
    },
    ControlMethod(
      "app.unregister", "Take one registration back. One too many is a misuse, which `app.list` shows.", OneID.app,
      Registrations.format, errors: [.unknown, .gone, .state], example: "{\"app\":\"p1\"}"
    ) { call, params in
      let view = try call.server.apps.find(params.id).running()
      view.unregister()
      return Registrations(count: view.registrationCount)
    },
    moving("background", to: .background, "Put an app into the background, where it still runs."),
    moving(
      "suspend", to: .suspended,
      "Suspend an app: it gets nothing and can call nothing. With the background mode its notifications wait."),
    moving("foreground", to: .foreground, "Bring an app to the screen."),
    ending("kill", "Kill an app as the system or the user does.", "the app was killed"),
    ending("crash", "End an app as a crash does.", "the app crashed"),
    ControlMethod(
      "app.open", "Open a session with an accessory that an app sees.", Opening.format, SessionState.format,
      errors: [.unknown, .gone, .state, .refused, .limit],
      example: "{\"app\":\"p1\",\"protocol\":\"com.lawaken.iap2\"}"
    ) { call, params in
      let app = try call.server.apps.find(params.app)
      return try app.open(try params.choose(in: app), params.protocolName).state
    },
  ]

  private static func moving(_ name: String, to state: AppState, _ summary: String) -> ControlMethod {
    ControlMethod(
      "app.\(name)", summary, OneID.app, RemoteAppState.format, errors: [.unknown, .gone], example: "{\"app\":\"p1\"}"
    ) { call, params in
      let app = try call.server.apps.find(params.id)
      try app.living().move(to: state)
      return app.state
    }
  }

  private static func ending(_ name: String, _ summary: String, _ reason: String) -> ControlMethod {
    ControlMethod(
      "app.\(name)", summary, Ending.format, Nothing.result, errors: [.unknown, .gone],
      example: name == "kill" ? "{\"app\":\"p2\",\"sessions\":\"left\"}" : "{\"app\":\"p3\"}"
    ) { call, params in
      try call.server.apps.find(params.app).end(reason, leavingSessions: params.sessions == .left)
      return Nothing()
    }
  }
}

private struct Ending: Equatable, Sendable {
  enum Sessions: String, CaseIterable, Sendable {
    case closed
    case left
  }

  var app = ""
  var sessions = Sessions.closed

  static let format = Record("ending", "", Ending()) {
    Field("app", \.app, .text, "the id of the app", isRequired: true)
    Field(
      "sessions", \.sessions, .choice,
      "closed: the device closes its sessions; left: the device keeps them open, as iPhones were seen to do, and to other "
        + "apps they are those of another app")
  }
}

private struct Registrations: Equatable, Sendable {
  var count = 0

  static let format = Record("registrations", "", Registrations()) {
    Field("registrations", \.count, .integer(0...Int.max), "registrations that were not undone", isRequired: true)
  }
}

private struct Opening: Equatable, Sendable {
  var app = ""
  var connectionID: Int?
  var accessory: String?
  var protocolName = ""

  static let format = Record("opening", "", Opening()) {
    Field("app", \.app, .text, "the id of the app", isRequired: true)
    Field("protocol", \.protocolName, .text, "the protocol", isRequired: true)
    Field(
      "connectionID", \.connectionID, .optional(.integer(0...Int.max)),
      "the accessory's connection ID; the first accessory that offers the protocol when left out")
    Field("accessory", \.accessory, .optional(.text), "the id of the accessory, instead of its connection ID")
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
