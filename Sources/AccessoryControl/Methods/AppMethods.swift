import AccessoryFormats
import AccessoryHost
import AccessoryWorlds

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
    ) { call, world in try world.map { try call.server.world($0).apps } ?? call.server.apps.all },
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
      .all(Opening.format), ControlledSession.answer, errors: [.unknown, .gone, .state, .refused, .limit],
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
      return answer(.success((session, firstLine)))
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

  static let picker = [
    ControlMethod(
      later: "app.showPicker",
      "Show an app's Bluetooth picker, as `showBluetoothAccessoryPicker` does. The answer is sent once `app.choose` "
        + "has been called and the chosen accessory, if any, has connected. Call `accessory.list` to see which "
        + "accessories can be offered.",
      .init(
        "showing", .id(of: "app"),
        Argument(
          optional: "accessories", .list(of: .text),
          "the ids of the accessories that match the app's filter (default: all)")),
      .only("picker result", "outcome", .choice, "`chosen` means that the accessory has connected"),
      errors: [.unknown, .gone, .state], example: "{\"app\":\"p1\"}",
      exampleResult: "{\"outcome\":\"chosen\"}"
    ) { call, answer, app, offered in try show(app, offered, call, answer) },
    ControlMethod(
      "app.choose",
      "Choose an accessory in an app's Bluetooth picker, or close the picker without choosing one. If no picker is "
        + "shown, the choice applies to the next one.",
      .init(
        "choosing", .id(of: "app"),
        Argument(optional: "accessory", .text, "the id of the accessory that the user chooses"),
        Argument(
          "outcome", .choice, "how the picker ends if no `accessory` is given", from: PickerOutcome.cancelled)),
      .nothing, errors: [.unknown, .gone],
      example: "{\"app\":\"p1\",\"accessory\":\"a1\"}"
    ) { call, app, accessory, outcome in
      let app = try call.server.apps.find(app)
      if let accessory { _ = try call.server.accessories.find(accessory) }
      app.picker.answer = (accessory, outcome)
      app.world.recheck()
    },
  ]

  /// The time limit for choosing an accessory, and the time limit for connecting to it.
  private static let (userLimit, connectLimit) = (Duration.seconds(3_600), Duration.seconds(30))

  private static func show(
    _ app: String, _ offered: [String]?, _ call: ControlCall,
    _ answer: @escaping (Result<PickerOutcome, RPCError>) -> Void
  ) throws(RPCError) {
    let app = try call.server.apps.find(app)
    _ = try app.running()
    guard !app.picker.isShown else {
      throw RPCError(.state, "the app '\(app.id)' is already showing its picker", advice: "call app.choose")
    }
    app.picker.isShown = true
    let world = app.world
    world.wait(
      call, until: world.loop.now + userLimit, isDone: { app.picker.answer != nil || app.view == nil }
    ) { _, _ in
      let choice = app.picker.answer
      (app.picker.isShown, app.picker.answer) = (false, nil)
      func finish(_ outcome: PickerOutcome) { answer(.success(outcome)) }
      guard let choice, app.view != nil else { return finish(.cancelled) }
      guard let id = choice.accessory else { return finish(choice.outcome) }
      guard let chosen = try? call.server.accessories.find(id), chosen.world === world, offered?.contains(id) ?? true
      else { return finish(.notFound) }
      if chosen.isPlugged { return finish(.alreadyConnected) }
      let serial = chosen.profile.identity.serialNumber
      app.picker.chosenSerial = serial
      do { try chosen.perform(.accessory(.plugIn, of: id)) } catch { return finish(.failed) }
      world.wait(
        call, until: world.loop.now + connectLimit,
        accepts: { _ in
          app.view?.accessories.contains { $0.serialNumber == serial && !$0.protocols.isEmpty } ?? true
        }
      ) { end, _ in
        let isThere = end == .notice && app.view != nil
        // Finishes on a later turn of the loop, so that the app is notified before it receives the picker's result.
        call.server.later { finish(isThere ? .chosen : .failed) }
      }
    }
  }

  // MARK: Methods that each perform one action from the action table

  static let accessoryActions = WorldAction.kinds().compactMap { kind in
    kind.method.flatMap { accessoryMethod($0, kind) }
  }

  static let appActions = WorldAction.kinds()
    .starting(with: ["app.register", "app.unregister", "app.background", "app.suspend", "app.foreground"])
    .compactMap { kind in kind.method.flatMap { appMethod($0, kind) } }

  private static func accessoryMethod(_ name: String, _ kind: ActionKind) -> ControlMethod? {
    let needsPlug = kind.action("").needsPlug
    let errors: [RPCError.Kind] =
      [.unknown, .gone] + (needsPlug == nil ? [] : [.state]) + (needsPlug == false ? [.address] : [])
    let example = "{\"accessory\":\"a1\"}"
    func answering<Source>(
      _ result: Answer<Source>, _ answer: @escaping @Sendable (ControlledAccessory) -> Source
    ) -> ControlMethod {
      ControlMethod(name, kind.summary, .id(of: "accessory"), result, errors: errors, example: example) {
        call, id in
        let accessory = try call.server.accessories.find(id)
        try accessory.perform(kind.action(accessory.id))
        return answer(accessory)
      }
    }
    switch kind.action("") {
    case .app: return nil
    case .pull:
      return ControlMethod(
        later: name, kind.summary,
        .init(
          "pulling", .id(of: "accessory"),
          Argument(
            "unnoticed", .boolean,
            "whether the device behaves as if the accessory were still there until a request goes unanswered",
            from: false)),
        ControlledAccessory.answer, errors: errors, example: example
      ) { call, answer, accessory, isUnnoticed in
        let accessory = try call.server.accessories.find(accessory)
        try accessory.perform(.pull(accessory.id, unnoticed: isUnnoticed))
        // Answers on a later turn of the loop, after the accessory has noticed that its cable has been unplugged.
        call.server.later { answer(.success(accessory)) }
      }
    case .accessory(.plugIn, _), .accessory(.unplug, _): return answering(ControlledAccessory.answer) { $0 }
    case .accessory, .faults, .resetLink, .noticeCables, .deviceMessage:
      return answering(.nothing) { _ in }
    }
  }

  private static func appMethod(_ name: String, _ kind: ActionKind) -> ControlMethod? {
    guard case .app(let action, _) = kind.action("") else { return nil }
    let example = "{\"app\":\"p1\"}"
    switch action {
    case .registers, .unregisters:
      return ControlMethod(
        name, kind.summary, .id(of: "app"),
        .only("registrations", "registrations", .natural, "number of registrations still in effect"),
        errors: [.unknown, .gone, .state], example: example
      ) { call, id in
        let app = try call.server.apps.find(id)
        try app.perform(action)
        return app.view?.registrationCount ?? 0
      }
    case .ends(let ending, _):
      return ControlMethod(
        name, kind.summary,
        .init(
          "ending", .id(of: "app"),
          Argument<AppAction.Sessions>(
            "sessions", .choice,
            "closed: the device closes the app's sessions; left: the device keeps the app's sessions open, as observed on "
              + "Apple devices, so no other app can use them", from: .closed)),
        .nothing, errors: [.unknown, .gone],
        example: ending == .kill ? "{\"app\":\"p2\",\"sessions\":\"left\"}" : "{\"app\":\"p3\"}"
      ) { call, app, sessions in
        let app = try call.server.apps.find(app)
        try app.perform(.ends(ending, leavesSessions: sessions == .left))
      }
    case .launches, .quits, .moves, .opensSession, .closesSession, .looks:
      return ControlMethod(
        name, kind.summary, .id(of: "app"), ControlledApp.answer, errors: [.unknown, .gone], example: example
      ) { call, id in
        let app = try call.server.apps.find(id)
        try app.perform(action)
        return app
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
      "connectionID", \.connectionID, .optional(.natural),
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

struct AppPicker {
  var isShown = false
  /// What the user does in the current picker, or in the next picker if none is shown.
  var answer: (accessory: String?, outcome: PickerOutcome)?
  /// The serial number of the chosen accessory, or nil once the app has been notified.
  var chosenSerial: String?

  /// Returns true for the chosen accessory, but only on the first call.
  mutating func takesSelection(_ accessory: PublishedAccessory) -> Bool {
    guard accessory.serialNumber == chosenSerial, !accessory.protocols.isEmpty else { return false }
    chosenSerial = nil
    return true
  }
}

enum PickerOutcome: String, CaseIterable, Sendable {
  case chosen, alreadyConnected, notFound, cancelled, failed
}

// MARK: - Methods that each perform one action from the action table
