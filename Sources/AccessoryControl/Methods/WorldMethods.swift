import AccessoryCore
import AccessoryFaults
import AccessoryFormats
import AccessoryProfiles
import AccessorySessions
import AccessoryWorlds

extension ControlMethods {
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

  static let time: [ControlMethod] = [
    ControlMethod(
      later: "time.advance",
      "Advance virtual time. Time stops early if a session that this client has taken over is waiting for the client.",
      .init(
        "advancing", .world,
        Argument(
          "by", .duration(.zero ... .seconds(86_400)), "how far to advance the clock", from: .zero, isRequired: true)),
      Waited.answer, effect: .passesTime, errors: [.unknown, .gone, .time], example: "{\"world\":\"w2\",\"by\":\"10s\"}"
    ) { call, answer, world, time in
      let world = try call.server.world(world)
      guard world.virtual != nil else {
        throw RPCError(
          .time, "the time of the world '\(world.id)' is real: it passes on its own",
          advice: "create a world with time: virtual, or wait with time.runUntil")
      }
      wait(world, call, time, accepts: nil, answer)
    },
    ControlMethod(
      "time.now", "Get the time on a world's clock.", .init("asking for the time", .world),
      .only("time", "t", .seconds, "seconds on the world's clock"), effect: .reads,
      errors: [.unknown, .gone], example: "{\"world\":\"main\"}"
    ) { call, world in try call.server.world(world).loop.now },
    ControlMethod(
      later: "time.runUntil",
      "Wait for a notification; in a world with virtual time, this advances the clock until it arrives.",
      .all(Waiting.format), Waited.answer,
      effect: .passesTime, errors: [.unknown, .gone],
      example: "{\"event\":\"connect\",\"side\":\"device\",\"after\":0,\"limit\":\"5s\"}"
    ) { call, answer, params in
      let world = try call.server.world(params.world)
      let accepts = try params.filter(call.server)
      if let after = params.after, let past = world.notices(after: after, atMost: .max).first(where: accepts) {
        return answer(.success(Waited(notice: past, world: world)))
      }
      wait(world, call, params.limit, accepts: accepts, answer)
    },
  ]

  private static func wait(
    _ world: ControlWorld, _ call: ControlCall, _ limit: Duration, accepts: ((ControlNotice) -> Bool)?,
    _ answer: @escaping (Result<Waited, RPCError>) -> Void
  ) {
    world.wait(call, until: world.loop.now + limit, accepts: accepts) { [unowned world] end, notice in
      answer(.success(Waited(stopped: end, notice: notice, world: world)))
    }
  }

  static let hosts: [ControlMethod] = [
    ControlMethod(
      "host.add",
      "Make a world's device connect to the accessories at an address: local, a socket, USB or Bluetooth. If an "
        + "accessory flickers or comes back, the device reconnects to it.",
      .init("adding a host", Argument(text: "address", "the address, as in easim commands"), .world), .new("host"),
      errors: [.unknown, .gone, .limit, .time, .address],
      example: "{\"address\":\"unix:/tmp/glasses.sock\"}", exampleResult: "{\"host\":\"h1\"}"
    ) { call, text, world in
      let world = try call.server.world(world)
      let address: Address
      do { address = try Address(parsing: text) } catch { throw RPCError(.params, "address: \(error)") }
      let id = try call.server.hosts.issue()
      call.server.hosts.put(try ControlledHost(id, address, in: world), named: id)
      return id
    },
    ControlMethod(
      "host.list", "List the addresses that devices connect to.", .world,
      .list("hosts", ControlledHost.answer, "the hosts, in the order in which they were added"),
      effect: .reads, errors: [.unknown, .gone]
    ) { call, world in try world.map { try call.server.world($0).hosts } ?? call.server.hosts.all },
    ControlMethod(
      "host.remove", "Stop connecting to an address, and unplug the accessories that are connected there.",
      .id(of: "host"), .nothing, errors: [.unknown, .gone], example: "{\"host\":\"h1\"}", exampleResult: "{}"
    ) { call, id in
      try call.server.hosts.find(id).remove()
    },
  ]

  static let proxies: [ControlMethod] = [
    ControlMethod(
      "proxy.add",
      "Relay bytes unchanged between a device and an accessory at two addresses, as `easim proxy` does. The world's "
        + "packets, captures and traces include the relayed bytes.",
      .init(
        "adding a proxy",
        Argument(text: "device", "where the device connects: any address that `easim run --on` accepts"),
        Argument(text: "accessory", "where the accessory is: any address that hosts connect to"),
        Argument(
          "faults", .list(of: .text), "faults on the cable, or names of link presets, in the notation of --fault",
          from: []),
        Argument(
          "world", .text, "the id of the world whose packets and captures include the relayed bytes", from: "main")),
      .new("proxy"), errors: [.unknown, .gone, .limit, .time, .address],
      example: "{\"device\":\"unix:/tmp/proxy.sock\",\"accessory\":\"unix:/tmp/glasses.sock\"}",
      exampleResult: "{\"proxy\":\"x1\"}"
    ) { call, device, accessory, faults, world in
      let world = try call.server.world(world)
      let id = try call.server.proxies.issue()
      let proxy = try ControlledProxy(
        id, accessory: address(accessory, "accessory"), device: address(device, "device"), parsed(faults), in: world)
      call.server.proxies.put(proxy, named: id)
      return id
    },
    ControlMethod(
      "proxy.list", "List the proxies and how many bytes they have relayed.", .world,
      .list("proxies", ControlledProxy.answer, "the proxies, in the order in which they were added"),
      effect: .reads, errors: [.unknown, .gone]
    ) { call, world in try world.map { try call.server.world($0).proxies } ?? call.server.proxies.all },
    ControlMethod(
      "proxy.fault",
      "Replace all faults of a proxy, on the current connection and later ones. `in` means bytes that the accessory "
        + "sends, `out` bytes that the device sends.",
      .init(
        "faults of a proxy", .id(of: "proxy"),
        Argument(
          "faults", .list(of: .text),
          "the complete list of faults, in the notation of --fault; it replaces the earlier list", from: [],
          isRequired: true)),
      ControlledProxy.answer, errors: [.unknown, .gone],
      example: "{\"proxy\":\"x1\",\"faults\":[\"loss,chance=2%,direction=in\"]}",
      exampleResult:
        "{\"proxy\":\"x1\",\"world\":\"main\",\"device\":\"unix:/tmp/proxy.sock\",\"accessory\":\"unix:/tmp/glasses.sock\","
        + "\"hasAccessory\":false,\"hasDevice\":false,\"attachments\":0,\"fromAccessory\":0,\"fromDevice\":0,"
        + "\"faults\":[\"loss,chance=2%,direction=in\"]}"
    ) { call, proxy, faults in
      let proxy = try call.server.proxies.find(proxy)
      proxy.change(to: try parsed(faults))
      return proxy
    },
    ControlMethod(
      "proxy.remove", "Disconnect the device and the accessory, and remove the proxy.",
      .id(of: "proxy"), .nothing, errors: [.unknown, .gone],
      example: "{\"proxy\":\"x1\"}", exampleResult: "{}"
    ) { call, id in
      try call.server.proxies.find(id).remove()
    },
  ]

  private static func address(_ text: String, _ key: String) throws(RPCError) -> Address {
    do { return try Address(parsing: text) } catch { throw RPCError(.params, "\(key): \(error)") }
  }

  private static func parsed(_ texts: [String]) throws -> [Fault] {
    try texts.flatMap { text throws(SourceProblems) in try LinkPreset.faults(text) }
  }
}

extension ControlWorld {
  fileprivate static let answer = Answer<ControlWorld>("world state", "a world and its contents") {
    Key("world", .text, "the world's id") { $0.id }
    Key("time", .choice, "whether the world runs in real or virtual time") { $0.choices.time }
    Key("t", .seconds, "seconds on the world's clock") { $0.loop.now }
    Key("accessories", .list(of: .text), "the ids of the accessories in this world") { $0.accessories.map(\.id) }
    Key("apps", .list(of: .text), "the ids of the apps in this world") { $0.apps.map(\.id) }
    Key("number", .natural, "the number of the world's latest notification") { $0.lastNumber }
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

private struct Waiting: Equatable, Sendable {
  var world = "main"
  var event = ""
  var side: TimelineEvent.Side?
  var accessory: String?
  var app: String?
  var session: String?
  var after: Int?
  var limit = Duration.seconds(60)

  static let format = Record("waiting", "", Waiting()) {
    Field("world", \.world, .text, "the id of the world")
    Field("event", \.event, .text, "the name of the event (default: any)")
    Field(
      "side", \.side,
      .optional(.words([TimelineEvent.Side.accessory, .cable, .device, .app].map { ($0.rawValue, $0) })),
      "the side on which the event happened (default: any)")
    Field("accessory", \.accessory, .optional(.text), "wait for an event of the accessory with this id")
    Field("app", \.app, .optional(.text), "wait for an event of the app with this id")
    Field("session", \.session, .optional(.text), "wait for a notification from the session with this id")
    Field(
      "after", \.after, .optional(.natural),
      "also accept past notifications numbered higher than this (default: only new ones)")
    Field("limit", \.limit, .duration(.zero ... .seconds(86_400)), "how long to wait, on the world's clock")
  }

  /// Returns a function that accepts the notices for which the client waits.
  func filter(_ server: ControlServer) throws(RPCError) -> (ControlNotice) -> Bool {
    let serial = try accessory.map { id throws(RPCError) in
      try server.accessories.find(id).profile.identity.serialNumber
    }
    if let app { _ = try server.apps.find(app) }
    if let session { _ = try server.sessions.find(session) }
    return { notice in
      guard event.isEmpty || notice.name == event else { return false }
      switch notice.content {
      case .event(let event):
        return app == nil && session == nil && (side == nil || event.side == side)
          && (accessory == nil || notice.accessory == accessory)
      case .app(let id, let shown): return id == app && (accessory == nil || shown?.serialNumber == serial)
      case .session(let id): return id == session
      case .change: return !event.isEmpty && side == nil && accessory == nil && app == nil && session == nil
      }
    }
  }
}

private struct Waited {
  var stopped = ControlWait.End.notice
  var notice: ControlNotice?
  let world: ControlWorld

  static let answer = Answer<Waited>("waited") {
    Key("reached", .boolean, "whether the expected notification arrived") { $0.stopped == .notice }
    Key(
      "stopped", .text,
      "why the wait ended: `notice` if the notification arrived, `limit` if the wait timed out, `attention` if a "
        + "session that this client has taken over needs the client, `cancelled` if `client.cancel` ended the wait"
    ) { $0.stopped.rawValue }
    Key(optional: "notice", .raw("a notification"), "the notification, with its `method` and `params`") {
      $0.notice?.tree
    }
    Key("t", .seconds, "seconds on the world's clock") { $0.world.loop.now }
    Key(
      "number", .natural,
      "the number of the world's latest notification; to continue waiting, pass this number as `after`"
    ) { $0.world.lastNumber }
  }
}
