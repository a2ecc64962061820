import AccessoryFormats

extension ControlMethods {
  /// The methods for worlds. The world `main` exists from the start.
  static let worlds: [ControlMethod] = [
    ControlMethod(
      "world.create",
      "Create a world: an Apple device with nothing plugged in. The world `main` exists from the start.",
      WorldChoices.format, .new("world"), errors: [.limit], example: "{\"time\":\"virtual\",\"seed\":7}"
    ) { call, choices in
      if let flicker = choices.deviceFlicker, case .flicker = flicker {
      } else if choices.deviceFlicker != nil {
        throw RPCError(.params, "deviceFlicker: expected the quirk 'flicker' with its parameters")
      }
      let id = try call.server.worlds.issue()
      call.server.worlds.put(ControlWorld(id, choices, in: call.server), named: id)
      return id
    },
    ControlMethod(
      "world.list", "List the worlds.", Nothing.params, .list("worlds", ControlWorld.answer, "all worlds"),
      effect: .reads
    ) { call, _ in call.server.worlds.all },
    ControlMethod(
      "world.remove", "Remove a world: end its apps, unplug its accessories, and discard their ids.", .id(of: "world"),
      errors: [.unknown, .gone, .state], example: "{\"world\":\"w1\"}"
    ) { call, id in
      let world = try call.server.world(id)
      guard world.id != "main" else { throw RPCError(.state, "the world 'main' cannot be removed") }
      world.end()
      call.server.worlds.remove(world.id)
      // The world is kept alive until its last scheduled work has run.
      call.server.loop.schedule(after: .seconds(5)) { world.virtual?.dropWork() }
    },
  ]
}

extension ControlWorld {
  fileprivate static let answer = Answer<ControlWorld>("world state", "a world and its contents") {
    Key("world", .text, "the world's id") { $0.id }
    Key("time", .choice, "whether the world runs in real or virtual time") { $0.choices.time }
    Key("t", .seconds, "seconds on the world's clock") { $0.loop.now.wholeSeconds }
    Key("accessories", .list(of: .text), "the ids of the accessories in this world") { $0.accessories.map(\.id) }
    Key("apps", .list(of: .text), "the ids of the apps in this world") { $0.apps.map(\.id) }
    Key("number", .integer(0...Int.max), "the number of the world's latest notification") { $0.lastNumber }
  }
}
