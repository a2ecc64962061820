import AccessoryControl
import AccessoryCore
import LinuxIO

/// The control protocol fuzzer's target: a client sends lines, time passes, and the connection is closed.
public enum FuzzedControl {
  /// Sends `bytes` to a server, and traps if the server breaks a rule.
  public static func play(_ bytes: [UInt8]) {
    let loop = VirtualLoop(seed: 1)
    let server = ControlServer(ControlServer.Settings(), on: loop)
    let (client, other) = (RPCLines(server.makeClient()), RPCLines(server.makeClient()))
    client.receive(Array(prelude.utf8).span.bytes)
    // The input is sent in pieces, which may end in the middle of a line.
    for part in stride(from: 0, to: bytes.count, by: 97) {
      client.receive(bytes[part..<min(part + 97, bytes.count)].span.bytes)
      client.send { $0.byteCount }
    }
    client.receive([0x0A].span.bytes)
    _ = try? loop.advance(by: .seconds(2))
    precondition(client.unsentCount <= 64 << 20, "answers grow without a limit")
    // The input must not affect other clients.
    other.receive(Array("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server.info\"}\n".utf8).span.bytes)
    precondition(other.unsentCount > 0, "another client gets no answer")
    client.close("the end of the input")
    server.stop()
    _ = try? loop.advance(by: .seconds(10))
  }

  private static let prelude = [
    "\"method\":\"accessory.add\",\"params\":{\"profile\":\"echo\"}", "\"method\":\"app.launch\"",
    "\"method\":\"world.create\",\"params\":{\"time\":\"virtual\"}",
    "\"method\":\"accessory.plug\",\"params\":{\"accessory\":\"a1\"}",
  ].map { "{\"jsonrpc\":\"2.0\",\($0)}\n" }.joined()
}
