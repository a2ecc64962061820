import AccessoryFormats
import Certificates

extension ControlMethods {
  /// The methods for captures and transcripts, which clients can start and stop while cables are in use.
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
        Argument("offset", .integer(0...Int.max), "the offset of the first byte", from: 0),
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
    Key("next", .integer(0...Int.max), "the offset after these bytes") { $0.range.upperBound }
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
