import AccessoryFormats
import AccessoryHost
import AccessoryWorlds

// Methods that each perform one action from the action table.

extension ControlMethods {
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
        .only("registrations", "registrations", .integer(0...Int.max), "number of registrations still in effect"),
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
