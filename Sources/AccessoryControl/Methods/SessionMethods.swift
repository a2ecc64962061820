import AccessoryFormats
import Certificates

extension ControlMethods {
  static let sessions: [ControlMethod] = [
    ControlMethod(
      later: "session.write",
      "Write bytes to a session. The response arrives when all bytes have been accepted, the wait times out, or the "
        + "session ends.",
      .init(
        "writing", .id(of: "session"), Argument(optional: "data", .text, "the bytes in base64"),
        Argument(optional: "text", .text, "the text to write; use this instead of `data`"),
        Argument(
          "wait", .duration(.zero ... .seconds(3_600)), "how long to wait for space, on the world's clock",
          from: .seconds(30))),
      written, effect: .reads, errors: [.unknown, .gone, .state, .limit],
      example: "{\"session\":\"s1\",\"text\":\"hello\"}"
    ) { call, answer, session, data, text, wait in
      let session = try open(session, call)
      let bytes = try bytes(data: data, text: text)
      guard session.waitingBytes + bytes.count <= mostWaiting else {
        throw RPCError(
          .limit, "\(session.waitingBytes) bytes are already waiting for space in the session '\(session.id)'",
          advice: "wait for the responses to earlier writes")
      }
      session.write(bytes, until: session.world.loop.now + wait, by: call) {
        answer(.success(($0, session.world.loop.now)))
      }
    },
    ControlMethod(
      later: "session.read",
      "Read the bytes that have arrived in a session; with `wait`, wait for the first byte or the end of the session.",
      .init(
        "reading", .id(of: "session"),
        Argument("limit", .integer(1...1_048_576), "maximum number of bytes", from: 65_536),
        Argument(
          "wait", .duration(.zero ... .seconds(3_600)), "how long to wait, on the world's clock", from: .zero)),
      ReadBytes.answer, effect: .reads, errors: [.unknown, .gone, .state],
      example: "{\"session\":\"s1\",\"wait\":\"1s\"}"
    ) { call, answer, session, limit, wait in
      let session = try find(session, call)
      func give(_ bytes: [UInt8], _ stopped: String? = nil) {
        answer(.success(ReadBytes(session: session, bytes: bytes, stopped: stopped)))
      }
      let bytes = session.read(atMost: limit)
      guard bytes.isEmpty, wait > .zero, session.session.isOpen else { return give(bytes) }
      session.world.wait(
        call, until: session.world.loop.now + wait,
        accepts: { notice in
          guard case .session(session.id) = notice.content else { return false }
          return notice.name == "readable" || notice.name == "ended"
        }
      ) { end, _ in give(session.read(atMost: limit), end == .notice ? nil : end.rawValue) }
    },
    ControlMethod(
      later: "session.close", "Close a session from this end. Bytes already written are still sent.",
      .init(
        "closing", .id(of: "session"), Argument(optional: "reason", .text, "the reason to show on the timeline"),
        Argument(
          "written", .natural,
          "the number of bytes sent over the session's own connection, where they may arrive after this request; the "
            + "session closes once it has accepted all of them, or after 10 seconds", from: 0)),
      ControlledSession.answer, errors: [.unknown, .gone], example: "{\"session\":\"s1\"}"
    ) { call, answer, session, reason, written in
      let session = try call.server.sessions.find(session)
      session.close(reason, afterWriting: written, by: call) {
        answer(.success((session, nil)))
      }
    },
    ControlMethod(
      "session.state", "Get the state of a session: whether it is open, why it ended, and its counters.",
      .id(of: "session"),
      ControlledSession.answer, effect: .reads, errors: [.unknown, .gone], example: "{\"session\":\"s1\"}"
    ) { call, id in (try call.server.sessions.find(id), nil) },
    ControlMethod(
      "session.port",
      "Get a ticket for a connection that carries a session's bytes at full speed. Connect to the address, then send "
        + "the first line and a line break. After that, the connection carries the session's bytes in both directions. "
        + "A ticket can be used once, within 30 seconds.",
      .id(of: "session"), portPlace, errors: [.unknown, .gone, .state, .time, .address],
      example: "{\"session\":\"s1\"}",
      exampleResult: "{\"firstLine\":\"session 5f0c…\"}"
    ) { call, id in
      try bytePort(of: try open(id, call), call)
    },
  ]

  private static let mostWaiting = 4 << 20

  private static let written = Answer<(count: Int, time: Instant)>("written") {
    Key("written", .natural, "number of bytes accepted") { $0.count }
    Key("t", .seconds, "seconds on the world's clock") { $0.time }
  }

  static func bytePort(of session: ControlledSession, _ call: ControlCall) throws(RPCError) -> PortPlace {
    let address = call.client.cameByPort ? nil : call.server.portAddresses.first
    guard call.client.cameByPort || address != nil else {
      throw RPCError(
        .address, "the server has no port for session bytes",
        advice: "start easim serve with --control PATH or --remote HOST:PORT, or use session.read and session.write")
    }
    return (address, "session \(try BytePort(for: session).ticket)")
  }

  private static func find(_ id: String, _ call: ControlCall) throws(RPCError) -> ControlledSession {
    let session = try call.server.sessions.find(id)
    if let app = session.app { _ = try app.running() }
    if session.port != nil {
      throw RPCError(
        .state, "a separate connection carries the bytes of the session '\(id)'", advice: "read and write there")
    }
    return session
  }

  private static func open(_ id: String, _ call: ControlCall) throws(RPCError) -> ControlledSession {
    let session = try find(id, call)
    guard session.session.isOpen else {
      throw RPCError(.gone, "the session '\(id)' has ended: \(session.reason ?? "closed")")
    }
    return session
  }

  fileprivate static let portPlace = Answer<PortPlace>("place for bytes") {
    Key(
      optional: "address", .text,
      "where to connect: unix:PATH or tcp:HOST:PORT; if absent, open another connection to the same socket or port"
    ) { $0.address }
    Key("firstLine", .text, "the first line to send") { $0.firstLine }
  }
}

private struct ReadBytes {
  let session: ControlledSession
  let bytes: [UInt8]
  let stopped: String?
  private var isOver: Bool { !session.session.isOpen && bytes.isEmpty }

  static let answer = Answer<ReadBytes>("read bytes") {
    Key("data", .text, "the bytes in base64") { Base64.text($0.bytes) }
    Key("bytes", .natural, "number of bytes read") { $0.bytes.count }
    Key("ended", .boolean, "whether the session has ended and all bytes have been read") { $0.isOver }
    Key(optional: "reason", .text, "why the session has ended") { $0.isOver ? $0.session.reason : nil }
    Key(
      optional: "stopped", .text,
      "why no bytes arrived: `limit` if the wait timed out, `attention` if a session that this client has taken over "
        + "needs the client, `cancelled` if `client.cancel` ended the wait"
    ) { $0.bytes.isEmpty && !$0.isOver ? $0.stopped : nil }
    Key("t", .seconds, "seconds on the world's clock") { $0.session.world.loop.now }
  }
}

/// The address that a client connects to in order to exchange a session's bytes, and the first line to send there.
typealias PortPlace = (address: String?, firstLine: String)
