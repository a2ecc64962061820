import AccessoryControl
import AccessoryFormats
import LinuxIO

final class ControlDesk {
  let loop: VirtualLoop
  let server: ControlServer

  init(_ settings: ControlServer.Settings = ControlServer.Settings()) {
    loop = VirtualLoop(seed: 7)
    server = ControlServer(settings, on: loop)
  }

  deinit { server.stop() }

  func client() -> DeskClient { DeskClient(self) }

  /// Returns a client that has added an echo accessory, a1, and launched an app, p1.
  func echo() throws -> DeskClient {
    let client = client()
    try client.result("accessory.add", "{\"profile\":\"echo\"}")
    try client.result("app.launch")
    return client
  }

  func advance(_ duration: Duration) throws { try loop.advance(by: duration) }
}

final class DeskClient {
  let desk: ControlDesk
  let client: RPCLines
  private(set) var lines: [JSON5Value] = []
  private var nextID = 0

  init(_ desk: ControlDesk) {
    self.desk = desk
    client = RPCLines(desk.server.makeClient())
  }

  func receive(_ text: String) {
    client.receive(Array(text.utf8).span.bytes)
  }

  func drain() throws {
    var bytes: [UInt8] = []
    client.send { span in
      span.withUnsafeBytes { bytes += $0 }
      return span.byteCount
    }
    for line in bytes.split(separator: 0x0A) { lines.append(try JSON5.read(Array(line), file: "answer")) }
  }

  @discardableResult
  func ask(_ method: String, _ params: String = "{}") -> Int {
    nextID += 1
    receive("{\"jsonrpc\":\"2.0\",\"id\":\(nextID),\"method\":\"\(method)\",\"params\":\(params)}\n")
    return nextID
  }

  func answer(_ id: Int) throws -> JSON5Value? {
    try drain()
    return lines.first { $0["id"]?.content == .number(JSON5Number(Int64(id))) }
  }

  /// Sends a request, lets the loop run for up to a minute of virtual time, and returns the answer.
  func call(_ method: String, _ params: String = "{}") throws -> JSON5Value {
    let id = ask(method, params)
    try desk.loop.run(until: { (try? self.answer(id)) ?? nil != nil }, limit: .seconds(60))
    guard let answer = try answer(id) else { throw NoAnswer(method: method) }
    return answer
  }

  @discardableResult
  func result(_ method: String, _ params: String = "{}") throws -> JSON5Value {
    let answer = try call(method, params)
    guard let result = answer["result"] else { throw Refused(method: method, answer: answer) }
    return result
  }

  func plug(for duration: Duration = .seconds(2)) throws {
    try result("accessory.plug", "{\"accessory\":\"a1\"}")
    try desk.advance(duration)
  }

  func open() throws { try result("app.open", "{\"app\":\"p1\",\"protocol\":\"com.example.echo\"}") }

  func kind(_ method: String, _ params: String = "{}") throws -> String? {
    try call(method, params)["error"]?["data"]?["kind"]?.word
  }

  func notices(_ method: String) throws -> [JSON5Value] {
    try drain()
    return lines.filter { $0["method"]?.content == .text(method) }.compactMap { $0["params"] }
  }

  struct NoAnswer: Error { let method: String }
  struct Refused: Error { let method: String, answer: JSON5Value }
}

extension JSON5Value? {
  /// The elements of a list, or none if there is no list.
  var elements: [JSON5Value] { if case .array(let all)? = self?.content { all } else { [] } }
}
