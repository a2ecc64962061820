import AccessoryCore
import AccessoryFormats
import AccessoryPages
import Certificates
import IAP2

extension ControlMethods {
  static let packets: [ControlMethod] = [
    ControlMethod(
      "packet.record",
      "Choose whether to record every packet on a world's cables; the first packets on each cable are always kept.",
      .init(
        "recording packets", .world,
        Argument("recording", .boolean, "whether every packet is recorded", from: true)),
      range, errors: [.unknown, .gone], example: "{\"recording\":true}"
    ) { call, world, isRecording in
      let world = try call.server.world(world)
      world.packets.isRecording = isRecording
      return world.packets
    },
    ControlMethod(
      later: "packet.list",
      "Get the packets after a given number, as the device sees them, or as the accessory does if it is at another "
        + "address. The server keeps the last \(PacketLog.usualPackets) packets.",
      .init(
        "listing packets", .world,
        Argument("after", .natural, "only packets numbered higher than this", from: 0),
        Argument("limit", .integer(1...5_000), "maximum number", from: 500),
        Argument(
          "wait", .duration(.zero ... .seconds(3_600)),
          "how long to wait for the first packet, on the world's clock", from: .zero),
        Argument("bytes", .boolean, "whether to include each packet's bytes as `hex`", from: false)),
      page, effect: .reads, errors: [.unknown, .gone], example: "{\"limit\":1}",
      exampleResult:
        "{\"recording\":true,\"first\":1,\"last\":96,\"packets\":[{\"number\":1,\"t\":0,\"cable\":1,\"accessory\":\"a1\",\"from\":\"device\","
        + "\"event\":\"detection\",\"length\":6,\"text\":\"DETECT\"}]}"
    ) { call, answer, world, after, limit, wait, isWhole in
      let world = try call.server.world(world)
      let log = world.packets
      func give() { answer(.success((log, log.packets(after: after, atMost: limit), isWhole: isWhole))) }
      guard wait > .zero, log.lastNumber <= after else { return give() }
      world.wait(call, until: world.loop.now + wait, isDone: { log.lastNumber > after }) { _, _ in give() }
    },
    ControlMethod(
      "packet.get", "Get one packet: its bytes, and its fields with their offsets.",
      .init(
        "one packet", .world,
        Argument("number", .integer(1...Int.max), "the number of the packet", from: 0, isRequired: true)),
      onePacket, effect: .reads, errors: [.unknown, .gone], example: "{\"number\":1}",
      exampleResult:
        "{\"packet\":{\"number\":1,\"t\":0,\"cable\":1,\"accessory\":\"a1\",\"from\":\"device\",\"event\":\"detection\",\"length\":6,"
        + "\"text\":\"DETECT\",\"hex\":\"ff550200ee10\"},\"fields\":[]}"
    ) { call, world, number in
      let log = try call.server.world(world).packets
      guard let packet = log.packet(number) else {
        throw number <= log.lastNumber
          ? RPCError(.gone, "packet \(number) is gone: the oldest packet kept is \(log.firstNumber)")
          : RPCError(.unknown, "there is no packet \(number): the newest is \(log.lastNumber)")
      }
      return packet
    },
  ]

  private static let range = Answer<PacketLog>("range of packets") {
    Key("recording", .boolean, "whether every packet is recorded") { $0.isRecording }
    Key("first", .natural, "the number of the oldest packet kept") { $0.firstNumber }
    Key("last", .natural, "the number of the newest packet") { $0.lastNumber }
  }

  private static let page = Answer<(log: PacketLog, packets: [LoggedPacket], isWhole: Bool)>("packets") {
    Key("recording", .boolean, "whether every packet is recorded") { $0.log.isRecording }
    Key("first", .natural, "the number of the oldest packet kept") { $0.log.firstNumber }
    Key("last", .natural, "the number of the newest packet") { $0.log.lastNumber }
    Key(
      "packets", .list(of: .raw("a packet")),
      "the packets, each with its `number`, `t`, `cable`, `accessory` (or the id of the host), `from`, `event`, "
        + "`length` and `text`; a link packet also has `control`, `seq`, `ack`, `session` and, where applicable, "
        + "`messages`, `repeated`, and `externalSession` with its `data` as text or hex; a transfer on a native "
        + "channel has `channel`; with the event `fault`, a packet that a fault acted on, which may be listed twice"
    ) { page in page.packets.map { $0.tree(isWhole: page.isWhole) } }
  }

  private static let onePacket = Answer<LoggedPacket>("one packet") {
    Key("packet", .raw("a packet"), "the packet, as in `packet.list`, with its bytes as `hex`") {
      $0.tree(isWhole: true)
    }
    Key(
      "fields", .raw("fields"),
      "the fields, each with its `name`, `value`, `offset` and `length` in bytes, and the `fields` inside it"
    ) { .array(PacketFields.of($0)) }
  }

  static let traces: [ControlMethod] = [
    ControlMethod(
      "trace.get",
      "Get a self-contained HTML page that shows what happened in a world: lanes, packets, log and verdict. By "
        + "default, the page contains only the first packets of each cable; to include the rest, call packet.record "
        + "first.",
      .init(
        "asking for a trace", .world,
        Argument(optional: "job", .text, "the id of the job whose world and result to show"),
        Argument("verdict", .text, "the word at the top of the page, such as `failed`", from: ""),
        Argument("text", .text, "the sentence at the top of the page", from: "")),
      .only("trace", "html", .text, "the page"), effect: .reads,
      errors: [.unknown, .gone],
      example: "{\"text\":\"the greeting did not arrive\"}",
      exampleResult: "{\"html\":\"<!doctype html>…\"}"
    ) { call, world, job, word, text in
      let job = try job.map { try call.server.jobs.find($0) }
      let world = try job?.world ?? call.server.world(world)
      let verdict = job.map { TraceVerdict("\($0.state)", $0.outcome?.text ?? $0.title) }
      let trace = job?.trace ?? world.trace
      return String(decoding: trace.page(verdict ?? TraceVerdict(word, text)), as: UTF8.self)
    }
  ]

  static let captures: [ControlMethod] = [
    ControlMethod(
      "capture.start",
      "Record every byte, with its time and direction, on the cables of a world, an accessory or an address. Existing "
        + "cables are recorded from now on, later cables from the moment they are plugged in.",
      .all(CaptureChoices.format), .new("capture"), errors: [.unknown, .gone, .limit],
      example: "{\"accessory\":\"a1\"}"
    ) { call, params in try start(params, call) },
    ControlMethod(
      "capture.list", "List the captures.", .none,
      .list("captures", ControlledCapture.answer, "the captures, in the order in which they were started"),
      effect: .reads
    ) { call in call.server.captures.all },
    ControlMethod(
      "capture.read",
      "Read a capture's bytes from an offset. Over HTTP, `GET /captures/ID.pcapng` or `ID.txt` downloads the whole "
        + "capture.",
      .init(
        "reading a capture", .id(of: "capture"),
        Argument("offset", .natural, "the offset of the first byte", from: 0),
        Argument("limit", .integer(1...(2 << 20)), "maximum number of bytes", from: 1 << 20)),
      captureBytes, effect: .reads, errors: [.unknown, .gone],
      example: "{\"capture\":\"c1\",\"limit\":48}"
    ) { call, capture, offset, limit in
      let capture = try call.server.captures.find(capture)
      let start = min(offset, capture.bytes.count)
      let end = start + min(limit, capture.bytes.count - start)
      return (capture, start..<end)
    },
    ControlMethod(
      "capture.stop", "End a capture. You can still read the capture until you remove it.", .id(of: "capture"),
      ControlledCapture.answer, errors: [.unknown, .gone], example: "{\"capture\":\"c1\"}"
    ) { call, id in
      let capture = try call.server.captures.find(id)
      capture.stop()
      return capture
    },
    ControlMethod(
      "capture.remove", "End a capture and delete the recording. A file in the --keep folder is not deleted.",
      .id(of: "capture"), .nothing, errors: [.unknown, .gone], example: "{\"capture\":\"c1\"}"
    ) { call, id in
      let capture = try call.server.captures.find(id)
      capture.stop()
      call.server.captures.remove(capture.id)
    },
  ]

  private static let captureBytes = Answer<(capture: ControlledCapture, range: Range<Int>)>("bytes of a capture") {
    Key("data", .text, "the bytes in base64") { Base64.text(Array($0.capture.bytes[$0.range])) }
    Key("next", .natural, "the offset after these bytes") { $0.range.upperBound }
    Key("over", .boolean, "whether the capture has ended and these are its last bytes") {
      !$0.capture.isRecording && $0.range.upperBound == $0.capture.bytes.count
    }
  }

  private static func start(_ params: CaptureChoices, _ call: ControlCall) throws(RPCError) -> String {
    let server = call.server
    guard params.accessory == nil || params.host == nil else {
      throw RPCError(.params, "only one of the parameters accessory and host can be given")
    }
    let kept = server.captures.all.reduce(0) { $0 + $1.reserved }
    guard params.limit <= ControlledCapture.mostBytes - kept else {
      throw RPCError(
        .limit,
        "captures may keep \(ControlledCapture.mostBytes) bytes in total, and other captures use \(kept)",
        advice: "remove captures, or choose a smaller limit")
    }
    let subject: ControlledCapture.Subject
    let world: ControlWorld
    if let id = params.accessory {
      let accessory = try server.accessories.find(id)
      (subject, world) = (.accessory(accessory), accessory.world)
    } else if let id = params.host {
      let host = try server.hosts.find(id)
      (subject, world) = (.host(host), host.world)
    } else {
      (subject, world) = (.world, try server.world(params.world))
    }
    let id = try server.captures.issue()
    server.captures.put(ControlledCapture(id, server.captures.issued, params, of: subject, in: world), named: id)
    return id
  }
}

extension LoggedPacket {
  /// Returns the packet as JSON, with all its bytes if `isWhole` is true.
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

extension ControlWorld {
  fileprivate var trace: TraceRecorder {
    let trace = TraceRecorder(
      program: "easim \(server.settings.version)", command: "the world \(id)",
      time: virtual == nil ? "real" : "virtual", packets)
    for notice in notices(after: 0, atMost: .max) { trace.add(notice.method, params: notice.json, at: notice.time) }
    return trace
  }
}
