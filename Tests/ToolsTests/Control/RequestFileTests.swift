import AccessoryControl
import AccessoryFormats
import Glibc
import LinuxIO
import TestSupport
import Testing

/// Of the files that requests name, only regular files are read. The files are read on another thread, while the
/// client's next requests wait.
@Suite(.waits) struct RequestFileTests {
  let place = TemporaryFolder()

  private static let requests = [
    "accessory.add {\"profile\":\"PATH\"}", "accessory.add {\"recording\":\"PATH\"}",
    "accessory.add {\"profile\":{\"version\":1,\"extends\":\"PATH\"}}", "scenario.run {\"scenario\":\"PATH\"}",
  ]

  @Test(arguments: requests, ["fifo.json5", "link.json5"]) func aPipeIsRefused(request: String, name: String) throws {
    try #require(mkfifo(place.file("fifo.json5"), 0o600) == 0)
    place.link("link.json5", to: place.file("fifo.json5"))
    let words = request.replacing("PATH", with: place.file(name)).split(separator: " ", maxSplits: 1).map(String.init)
    let client = ControlDesk().client()
    let error = try #require(try client.call(words[0], words[1])["error"]?["message"]?.word)
    #expect(error.contains("\(name) cannot be read: it is a pipe; copy its contents to a regular file"), "\(error)")
  }

  /// Sends several lines at once to a server in real time, and returns the answers.
  private func answers(_ lines: String, count: Int) throws -> [JSON5Value] {
    let loop = try EpollLoop(seed: 7)
    let server = ControlServer(ControlServer.Settings(), on: loop)
    defer { server.stop() }
    let client = RPCLines(server.makeClient())
    client.receive(Array(lines.utf8).span.bytes)
    var received: [UInt8] = []
    let isThere = loop.run(
      until: {
        client.send { bytes in
          bytes.withUnsafeBytes { received += $0 }
          return bytes.byteCount
        }
        return received.count { $0 == 0x0A } >= count
      }, limit: .seconds(60))
    #expect(isThere)
    return try received.split(separator: 0x0A).map { try JSON5.read(Array($0), file: "answer") }
  }

  /// The second request needs an object that the first request creates.
  @Test func requestsAfterOneThatReadsAFileAreBegunAfterIt() throws {
    let base = place.write("{version: 1, extends: 'echo'}", to: "base.json5")
    let path = place.write("{version: 1, extends: './\(base.split(separator: "/").last ?? "")'}", to: "over.json5")
    let add = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"accessory.add\",\"params\":{\"profile\":\"\(path)\"}}"
    let plug = "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"accessory.plug\",\"params\":{\"accessory\":\"a1\"}}"
    for answer in try answers("\(add)\n\(plug)\n", count: 2) { #expect(answer["error"] == nil, "\(answer)") }
    let both = try answers("[\(add),\(plug)]\n", count: 1).first.elements
    #expect(both.count == 2)
    for answer in both { #expect(answer["error"] == nil, "\(answer)") }
  }
}
