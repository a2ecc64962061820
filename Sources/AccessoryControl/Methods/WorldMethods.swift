import AccessoryFormats
import AccessoryProfiles
import AccessorySessions
import AccessoryWorlds

extension ControlMethods {
  /// The methods for worlds. The world `main` exists from the beginning.
  static let worlds: [ControlMethod] = [
    ControlMethod(
      "world.create",
      "Create a world: an Apple device with nothing plugged in. The world `main` exists from the start.",
      .all(WorldChoices.format), .new("world"), errors: [.limit], example: "{\"time\":\"virtual\",\"seed\":7}"
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
      "world.list", "List the worlds.", .none, .list("worlds", ControlWorld.answer, "all worlds"),
      effect: .reads
    ) { call in call.server.worlds.all },
    ControlMethod(
      "world.remove", "Remove a world: end its apps, unplug its accessories, and discard their ids.", .id(of: "world"),
      .nothing, errors: [.unknown, .gone, .state], example: "{\"world\":\"w1\"}"
    ) { call, id in
      let world = try call.server.world(id)
      guard world.id != "main" else { throw RPCError(.state, "the world 'main' cannot be removed") }
      world.end()
      call.server.worlds.remove(world.id)
      // Keeps the world alive until its last scheduled task has run.
      call.server.loop.schedule(after: .seconds(5)) { world.virtual?.dropWork() }
    },
  ]
}

extension ControlWorld {
  fileprivate static let answer = Answer<ControlWorld>("world state", "a world and its contents") {
    Key("world", .text, "the world's id") { $0.id }
    Key("time", .choice, "whether the world runs in real or virtual time") { $0.choices.time }
    Key("t", .seconds, "seconds on the world's clock") { $0.loop.now }
    Key("accessories", .list(of: .text), "the ids of the accessories in this world") { $0.accessories.map(\.id) }
    Key("apps", .list(of: .text), "the ids of the apps in this world") { $0.apps.map(\.id) }
    Key("number", .integer(0...Int.max), "the number of the world's latest notification") { $0.lastNumber }
  }
}

struct WorldChoices: Equatable, Sendable {
  enum Time: String, CaseIterable, Sendable {
    case real
    case virtual
  }

  var time = Time.real
  var seed: UInt64 = 1
  var authentication: World.Settings.Authentication?
  var publishesEarly = false
  var order = HostOrder.authentication
  var deviceFlicker: Quirk?
  var latency = Duration.zero
  var bytesPerSecond: Int?
  var reportsMessages = false

  static let format = Record("world", "", WorldChoices()) {
    Field(
      "time", \.time, .choice,
      "real: time passes by itself; virtual: time passes only while a client waits, as fast as the machine allows")
    Field("seed", \.seed, .integer(0...UInt64(Int.max)), "random seed; the same seed gives the same run")
    Field(
      "authentication", \.authentication, .optional(.words([("stub", .stub), ("real", .real)])),
      "stub: messages of the right size without cryptography; real: as with real hardware. The default is real in real "
        + "time, and stub in virtual time")
    Field(
      "publishesEarly", \.publishesEarly, .boolean,
      "whether apps see an accessory, without protocols, before it is authenticated")
    Field(
      "order", \.order, .choice,
      "what the device requests from accessories first; auto requests authentication, then tries identification if the "
        + "accessory does not answer"
    )
    Field(
      "deviceFlicker", \.deviceFlicker, .optional(Quirk.format.format),
      "a flicker caused by the device; takes the parameters of the `flicker` quirk")
    Field("latency", \.latency, .duration(.zero ... .seconds(60)), "how long in-memory cables delay each byte")
    Field(
      "bytesPerSecond", \.bytesPerSecond, .optional(.integer(1...1_000_000_000)),
      "bytes per second on in-memory cables, in each direction (default: unlimited)")
    Field("messages", \.reportsMessages, .boolean, "whether each iAP2 control message is reported as an event")
  }

  func world(_ report: @escaping (TimelineEvent) -> Void) -> World.Settings {
    var settings = World.Settings()
    settings.authentication = authentication ?? (time == .real ? .real : .stub)
    settings.policy = publishesEarly ? .early : .ready
    settings.order = order
    if case .flicker(var flicker)? = deviceFlicker {
      flicker.maker = .device
      settings.deviceFlicker = flicker
    }
    settings.speed.latency = latency
    settings.speed.bytesPerSecond = bytesPerSecond
    settings.reportsMessages = reportsMessages
    settings.seed = seed
    settings.keepsEvents = false
    settings.faultsMayChange = true
    settings.report = report
    return settings
  }
}
