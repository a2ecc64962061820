import AccessoryCore
import AccessoryFormats
import AccessoryPages
import IAP2

extension ControlMethods {
  static let packets: [ControlMethod] = [
    ControlMethod(
      "packet.record",
      "Choose whether to record every packet on a world's cables; the first packets on each cable are always kept.",
      PacketRecording.format, range, errors: [.unknown, .gone], example: "{\"recording\":true}"
    ) { call, params in
      let world = try call.server.world(params.world)
      world.packets.isRecording = params.isRecording
      return world.packets
    },
    ControlMethod(
      later: "packet.list",
      "Get the packets after a given number, as seen by the device, or by the accessory if it is at another address. "
        + "The server keeps the last \(PacketLog.Limits().packets) packets.",
      PacketListing.format, page, effect: .reads, errors: [.unknown, .gone], example: "{\"limit\":1}",
      exampleResult:
        "{\"recording\":true,\"first\":1,\"last\":96,\"packets\":[{\"number\":1,\"t\":0,\"cable\":1,\"accessory\":\"a1\",\"from\":\"device\","
        + "\"event\":\"detection\",\"length\":6,\"text\":\"DETECT\"}]}"
    ) { call, params, answer in
      let world = try call.server.world(params.world)
      let log = world.packets
      func give() {
        answer(.success((log, log.packets(after: params.after, atMost: params.limit), isWhole: params.isWhole)))
      }
      guard params.wait > .zero, log.lastNumber <= params.after else { return give() }
      world.wait(
        ControlWait(
          call, until: world.loop.now + params.wait, isDone: { log.lastNumber > params.after }
        ) { end in
          if case .failed(let error) = end { answer(.failure(error)) } else { give() }
        })
    },
    ControlMethod(
      "packet.get", "Get one packet: its bytes, and its fields with their offsets.",
      PacketNumber.format, onePacket, effect: .reads, errors: [.unknown, .gone], example: "{\"number\":1}",
      exampleResult:
        "{\"packet\":{\"number\":1,\"t\":0,\"cable\":1,\"accessory\":\"a1\",\"from\":\"device\",\"event\":\"detection\",\"length\":6,"
        + "\"text\":\"DETECT\",\"hex\":\"ff550200ee10\"},\"fields\":[]}"
    ) { call, params in
      let log = try call.server.world(params.world).packets
      guard let packet = log.packet(params.number) else {
        throw params.number <= log.lastNumber
          ? RPCError(.gone, "packet \(params.number) is gone: the oldest packet kept is \(log.firstNumber)")
          : RPCError(.unknown, "there is no packet \(params.number): the newest is \(log.lastNumber)")
      }
      return packet
    },
  ]

  private static let range = Answer<PacketLog>("range of packets") {
    Key("recording", .boolean, "whether every packet is recorded") { $0.isRecording }
    Key("first", .integer(0...Int.max), "the number of the oldest packet kept") { $0.firstNumber }
    Key("last", .integer(0...Int.max), "the number of the newest packet") { $0.lastNumber }
  }

  private static let page = Answer<(log: PacketLog, packets: [LoggedPacket], isWhole: Bool)>("packets") {
    Key("recording", .boolean, "whether every packet is recorded") { $0.log.isRecording }
    Key("first", .integer(0...Int.max), "the number of the oldest packet kept") { $0.log.firstNumber }
    Key("last", .integer(0...Int.max), "the number of the newest packet") { $0.log.lastNumber }
    Key(
      "packets", .list(of: .raw("a packet")),
      "each with its `number`, `t`, `cable`, `accessory` (or the id of the host), `from`, `event`, `length` and "
        + "`text`; a link packet also has `control`, `seq`, `ack`, `session` and, where applicable, `messages`, `repeated`, "
        + "and `externalSession` with its `data` as text or hex; a transfer on a native channel has `channel`; the event "
        + "`fault` shows a packet that a fault acted on, and the same packet may be listed a second time"
    ) { page in page.packets.map { $0.tree(isWhole: page.isWhole) } }
  }

  private static let onePacket = Answer<LoggedPacket>("one packet") {
    Key("packet", .raw("a packet"), "as in `packet.list`, with its bytes as `hex`") { $0.tree(isWhole: true) }
    Key(
      "fields", .raw("fields"),
      "each with its `name`, `value`, `offset` and `length` in bytes, and the `fields` inside it"
    ) { .array(PacketField.fields(of: $0).map(\.tree)) }
  }
}

extension LoggedPacket {
  /// Returns the packet as JSON, with all its bytes if `isWhole` is set.
  package func tree(isWhole: Bool) -> JSON5Value {
    let all = messages.map { id in
      JSON5Value.object(
        [.init("id", .text(Hex.number(id.rawValue)))]
          + (MessageCatalog.entry(id).map { [.init("name", .text($0.name))] } ?? []))
    }
    return .members([
      ("number", .number(number)), ("t", .seconds(time - .origin)), ("cable", .number(cable)),
      ("accessory", .text(accessory)), ("from", .text(from == .accessory ? "accessory" : "device")),
      ("event", .text(event.rawValue)), ("channel", channel.map { .text($0) }),
      ("control", header.map { .text("\($0.control)") }), ("seq", header.map { .number(Int($0.sequence)) }),
      ("ack", header.map { .number(Int($0.acknowledgement)) }),
      ("session", header.map { .number(Int($0.session)) }),
      ("externalSession", externalSession.map { .number($0) }), ("length", .number(bytes.count)),
      ("data", data.map { .text($0) }), ("fault", fault.map { .text($0) }),
      ("repeated", isRepeated ? .boolean(true) : nil), ("text", .text(text)),
      ("messages", all.isEmpty ? nil : .array(all)), ("hex", isWhole ? .text(Hex.plain(bytes)) : nil),
    ])
  }
}

private struct PacketRecording: Equatable, Sendable {
  var world = "main"
  var isRecording = true

  static let format = Record("recording packets", "", PacketRecording()) {
    Field("world", \.world, .text, "the id of the world")
    Field("recording", \.isRecording, .boolean, "whether every packet is recorded")
  }
}

private struct PacketListing: Equatable, Sendable {
  var world = "main"
  var after = 0
  var limit = 500
  var wait = Duration.zero
  var isWhole = false

  static let format = Record("listing packets", "", PacketListing()) {
    Field("world", \.world, .text, "the id of the world")
    Field("after", \.after, .integer(0...Int.max), "only packets numbered higher than this")
    Field("limit", \.limit, .integer(1...5_000), "maximum number")
    Field(
      "wait", \.wait, .duration(.zero ... .seconds(3_600)),
      "how long to wait for the first packet, on the world's clock")
    Field("bytes", \.isWhole, .boolean, "whether to include each packet's bytes as `hex`")
  }
}

private struct PacketNumber: Equatable, Sendable {
  var world = "main"
  var number = 0

  static let format = Record("one packet", "", PacketNumber()) {
    Field("world", \.world, .text, "the id of the world")
    Field("number", \.number, .integer(1...Int.max), "the number of the packet", isRequired: true)
  }
}
