import AccessoryCore
import AccessoryFormats
import AccessorySessions

extension ControlMethods {
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
      "time.now", "Get the time on a world's clock.", .only("asking for the time", .world),
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
      "after", \.after, .optional(.integer(0...Int.max)),
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
      "number", .integer(0...Int.max),
      "the number of the world's latest notification; to continue waiting, pass this number as `after`"
    ) { $0.world.lastNumber }
  }
}
