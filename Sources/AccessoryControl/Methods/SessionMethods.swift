import AccessoryFormats
import Certificates

extension ControlMethods {
  /// The methods for sessions, at an app's end or at the end of an accessory whose sessions were taken over.
  static let sessions: [ControlMethod] = [
    ControlMethod(
      later: "session.write",
      "Write bytes to a session. The response arrives when all bytes have been accepted, the wait times out, or the "
        + "session ends.",
      Writing.format, Written.format, effect: .reads, errors: [.unknown, .gone, .state, .limit],
      example: "{\"session\":\"s1\",\"text\":\"hello\"}"
    ) { call, params, answer in
      let session = try open(params.session, call)
      let bytes = try params.sent.bytes()
      guard session.waitingBytes + bytes.count <= Writing.mostWaiting else {
        throw RPCError(
          .limit, "\(session.waitingBytes) bytes are waiting for space in the session '\(session.id)' already",
          advice: "wait for the answers of earlier writes")
      }
      session.write(bytes, until: session.world.loop.now + params.wait, by: call) {
        answer(.success(Written(count: $0, time: session.world.loop.now.wholeSeconds)))
      }
    },
    ControlMethod(
      later: "session.read",
      "Read the bytes that have arrived in a session; with `wait`, wait for the first byte or the end of the session.",
      Reading.format,
      ReadBytes.format, effect: .reads, errors: [.unknown, .gone, .state],
      example: "{\"session\":\"s1\",\"wait\":\"1s\"}"
    ) { call, params, answer in
      let session = try find(params.session, call)
      func give(_ stopped: String?) {
        let bytes = session.read(atMost: params.limit)
        let isOver = !session.session.isOpen && bytes.isEmpty
        answer(
          .success(
            ReadBytes(
              data: Base64.text(bytes), count: bytes.count, isOver: isOver, reason: isOver ? session.state.reason : nil,
              stopped: bytes.isEmpty && !isOver ? stopped : nil, time: session.world.loop.now.wholeSeconds)))
      }
      let bytes = session.read(atMost: params.limit)
      if !bytes.isEmpty {
        return answer(
          .success(
            ReadBytes(
              data: Base64.text(bytes), count: bytes.count, time: session.world.loop.now.wholeSeconds)))
      }
      guard params.wait > .zero, session.session.isOpen else { return give(nil) }
      let deadline = session.world.loop.now + params.wait
      session.world.wait(
        ControlWait(
          call, until: deadline,
          accepts: { notice in
            guard case .session(let news) = notice.content, news.session == session.id else { return false }
            return news.name == "readable" || news.name == "ended"
          },
          done: { end in
            if case .failed(let error) = end { answer(.failure(error)) } else { give(end.word) }
          }))
    },
    ControlMethod(
      later: "session.close", "Close a session from this end. Bytes already written are still sent.", Closing.format,
      SessionState.format, errors: [.unknown, .gone], example: "{\"session\":\"s1\"}"
    ) { call, params, answer in
      let session = try call.server.sessions.find(params.session)
      session.close(params.reason, afterWriting: params.written, by: call) { answer(.success(session.state)) }
    },
    ControlMethod(
      "session.state", "Get the state of a session: whether it is open, why it ended, and its counters.",
      .id(of: "session"),
      SessionState.format, effect: .reads, errors: [.unknown, .gone], example: "{\"session\":\"s1\"}"
    ) { call, id in try call.server.sessions.find(id).state },
    ControlMethod(
      "session.port",
      "Get a ticket for a connection that carries a session's bytes at full speed. Connect to the address, then send "
        + "the first line and a line break. After that, the connection carries the session's bytes in both directions. "
        + "A ticket can be used once, within 30 seconds.",
      .id(of: "session"), PortPlace.format, errors: [.unknown, .gone, .state, .time, .address],
      example: "{\"session\":\"s1\"}",
      exampleResult: "{\"firstLine\":\"session 5f0c…\"}"
    ) { call, id in
      try bytePort(of: try open(id, call), call)
    },
  ]

  /// Creates a ticket for a connection that carries the bytes of a session.
  static func bytePort(of session: ControlledSession, _ call: ControlCall) throws(RPCError) -> PortPlace {
    let address = call.client.cameByPort ? nil : call.server.portAddresses.first
    guard call.client.cameByPort || address != nil else {
      throw RPCError(
        .address, "the server has no port for the bytes of sessions",
        advice: "start easim serve with --control PATH or --remote HOST:PORT, or use session.read and session.write")
    }
    return PortPlace(address: address, firstLine: "session \(try BytePort(for: session).ticket)")
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
      throw RPCError(.gone, "the session '\(id)' has ended: \(session.state.reason ?? "closed")")
    }
    return session
  }
}

extension ControlWait.End {
  var word: String? {
    switch self {
    case .reached: nil
    case .limit: "limit"
    case .attention: "attention"
    case .cancelled: "cancelled"
    case .failed: "failed"
    }
  }
}

private struct Writing: Equatable, Sendable {
  /// The maximum number of bytes that may wait in one session until there is room.
  static let mostWaiting = 4 << 20

  var session = ""
  var sent = SentBytes()
  var wait = Duration.seconds(30)

  static let format = Record("writing", "", Writing()) {
    Field("session", \.session, .text, "the id of the session", isRequired: true)
    Field("data", \.sent.data, .optional(.text), "the bytes in base64")
    Field("text", \.sent.text, .optional(.text), "the bytes as text, instead of data")
    Field(
      "wait", \.wait, .duration(.zero ... .seconds(3_600)), "how long to wait for space, on the world's clock")
  }
}

private struct Written: Equatable, Sendable {
  var count = 0
  var time = 0.0

  static let format = Record("written", "", Written()) {
    Field("written", \.count, .integer(0...Int.max), "number of bytes accepted", isRequired: true)
    Field("t", \.time, .seconds, "seconds on the world's clock", isRequired: true)
  }
}

private struct Reading: Equatable, Sendable {
  var session = ""
  var limit = 65_536
  var wait = Duration.zero

  static let format = Record("reading", "", Reading()) {
    Field("session", \.session, .text, "the id of the session", isRequired: true)
    Field("limit", \.limit, .integer(1...1_048_576), "maximum number of bytes")
    Field("wait", \.wait, .duration(.zero ... .seconds(3_600)), "how long to wait, on the world's clock")
  }
}

private struct ReadBytes: Equatable, Sendable {
  var data = ""
  var count = 0
  var isOver = false
  var reason: String?
  var stopped: String?
  var time = 0.0

  static let format = Record("read bytes", "", ReadBytes()) {
    Field("data", \.data, .text, "the bytes in base64", isRequired: true)
    Field("bytes", \.count, .integer(0...Int.max), "number of bytes read", isRequired: true)
    Field("ended", \.isOver, .boolean, "whether the session has ended and all bytes have been read", isRequired: true)
    Field("reason", \.reason, .optional(.text), "why the session has ended")
    Field(
      "stopped", \.stopped, .optional(.text),
      "why no bytes arrived: `limit` if the wait timed out, `attention` if a session that this client has taken over "
        + "needs the client, `cancelled` if `client.cancel` ended the wait"
    )
    Field("t", \.time, .seconds, "seconds on the world's clock", isRequired: true)
  }
}

private struct Closing: Equatable, Sendable {
  var session = ""
  var reason: String?
  var written = 0

  static let format = Record("closing", "", Closing()) {
    Field("session", \.session, .text, "the id of the session", isRequired: true)
    Field("reason", \.reason, .optional(.text), "the reason to show on the timeline")
    Field(
      "written", \.written, .integer(0...Int.max),
      "the number of bytes sent over the session's own connection, which may arrive later than this request; the "
        + "session is closed when it has accepted them, or after 10 seconds")
  }
}

/// The address to connect to for the bytes of a session, and the line to send there.
struct PortPlace: Equatable, Sendable {
  var address: String?
  var firstLine = ""

  static let format = Record("place for bytes", "", PortPlace()) {
    Field(
      "address", \.address, .optional(.text),
      "where to connect: unix:PATH or tcp:HOST:PORT; if absent, open another connection to the same socket or port")
    Field("firstLine", \.firstLine, .text, "the first line to send", isRequired: true)
  }
}
