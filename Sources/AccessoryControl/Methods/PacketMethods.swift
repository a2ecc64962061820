import AccessoryCore
import AccessoryFormats
import AccessoryPages
import IAP2

extension ControlMethods {
  static let packets: [ControlMethod] = [
    ControlMethod(
      "packet.record",
      "Choose whether to record every packet on a world's cables; the first packets on each cable are always kept.",
      PacketRecording.format, PacketRange.format, errors: [.unknown, .gone], example: "{\"recording\":true}"
    ) { call, params in
      let world = try call.server.world(params.world)
      world.packets.isRecording = params.isRecording
      return PacketRange(world.packets)
    },
    ControlMethod(
      later: "packet.list",
      "Get the packets after a given number, as seen by the device, or by the accessory if it is at another address. "
        + "The server keeps the last \(PacketLog.Limits().packets) packets.",
      PacketListing.format, PacketPage.format, effect: .reads, errors: [.unknown, .gone], example: "{\"limit\":1}",
      exampleResult:
        "{\"recording\":true,\"first\":1,\"last\":96,\"packets\":[{\"number\":1,\"t\":0,\"cable\":1,\"accessory\":\"a1\",\"from\":\"device\","
        + "\"event\":\"detection\",\"length\":6,\"text\":\"DETECT\"}]}"
    ) { call, params, answer in
      let world = try call.server.world(params.world)
      let log = world.packets
      func page() -> PacketPage {
        PacketPage(
          range: PacketRange(log),
          packets: log.packets(after: params.after, atMost: params.limit).map { $0.tree(isWhole: params.isWhole) })
      }
      guard params.wait > .zero, log.lastNumber <= params.after else { return answer(.success(page())) }
      world.wait(
        ControlWait(
          call, until: world.loop.now + params.wait, isDone: { log.lastNumber > params.after }
        ) { end in
          if case .failed(let error) = end { answer(.failure(error)) } else { answer(.success(page())) }
        })
    },
    ControlMethod(
      "packet.get", "Get one packet: its bytes, and its fields with their offsets.",
      PacketNumber.format, OnePacket.format, effect: .reads, errors: [.unknown, .gone], example: "{\"number\":1}",
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
      return OnePacket(
        packet: packet.tree(isWhole: true), fields: .array(PacketField.fields(of: packet).map(\.tree)))
    },
  ]
}

extension LoggedPacket {
  /// Returns the packet as JSON, with all its bytes if `isWhole` is set.
  package func tree(isWhole: Bool) -> JSON5Value {
    var members: [JSON5Member] = [
      .init("number", .number(number)), .init("t", .seconds(time - .origin)),
      .init("cable", .number(cable)), .init("accessory", .text(accessory)),
      .init("from", .text(from == .accessory ? "accessory" : "device")), .init("event", .text(event.rawValue)),
    ]
    if let channel { members.append(.init("channel", .text(channel))) }
    if let header {
      members += [
        .init("control", .text("\(header.control)")), .init("seq", .number(Int(header.sequence))),
        .init("ack", .number(Int(header.acknowledgement))), .init("session", .number(Int(header.session))),
      ]
    }
    if let externalSession { members.append(.init("externalSession", .number(externalSession))) }
    members.append(.init("length", .number(bytes.count)))
    if let data { members.append(.init("data", .text(data))) }
    if let fault { members.append(.init("fault", .text(fault))) }
    if isRepeated { members.append(.init("repeated", .boolean(true))) }
    members.append(.init("text", .text(text)))
    if !messages.isEmpty {
      let all = messages.map { id in
        JSON5Value.object(
          [.init("id", .text(Hex.number(id.rawValue)))]
            + (MessageCatalog.entry(id).map { [.init("name", .text($0.name))] } ?? []))
      }
      members.append(.init("messages", .array(all)))
    }
    if isWhole { members.append(.init("hex", .text(Hex.plain(bytes)))) }
    return .object(members)
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

private struct PacketRange: Equatable, Sendable {
  var isRecording = false
  var first = 0
  var last = 0

  init() {}

  init(_ log: PacketLog) { (isRecording, first, last) = (log.isRecording, log.firstNumber, log.lastNumber) }

  static let format = Record("range of packets", "", PacketRange()) {
    Field("recording", \.isRecording, .boolean, "whether every packet is recorded", isRequired: true)
    Field("first", \.first, .integer(0...Int.max), "the number of the oldest packet kept", isRequired: true)
    Field("last", \.last, .integer(0...Int.max), "the number of the newest packet", isRequired: true)
  }
}

private struct PacketPage: Equatable, Sendable {
  var range = PacketRange()
  var packets: [JSON5Value] = []

  static let format = Record("packets", "", PacketPage()) {
    Field("recording", \.range.isRecording, .boolean, "whether every packet is recorded", isRequired: true)
    Field("first", \.range.first, .integer(0...Int.max), "the number of the oldest packet kept", isRequired: true)
    Field("last", \.range.last, .integer(0...Int.max), "the number of the newest packet", isRequired: true)
    Field(
      "packets", \.packets, .list(of: .raw("a packet")),
      "each with its `number`, `t`, `cable`, `accessory` (or the id of the host), `from`, `event`, `length` and "
        + "`text`; a link packet also has `control`, `seq`, `ack`, `session` and, where applicable, `messages`, `repeated`, "
        + "and `externalSession` with its `data` as text or hex; a transfer on a native channel has `channel`; the event "
        + "`fault` shows a packet that a fault acted on, and the same packet may be listed a second time",
      isRequired: true)
  }
}

private struct OnePacket: Equatable, Sendable {
  var packet = JSON5Value.null
  var fields = JSON5Value.null

  static let format = Record("one packet", "", OnePacket()) {
    Field("packet", \.packet, .raw("a packet"), "as in `packet.list`, with its bytes as `hex`", isRequired: true)
    Field(
      "fields", \.fields, .raw("fields"),
      "each with its `name`, `value`, `offset` and `length` in bytes, and the `fields` inside it", isRequired: true)
  }
}
