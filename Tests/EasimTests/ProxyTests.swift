import Glibc
import TestSupport
import Testing

@Suite(.waits) struct ProxyTests {
  private let place = TemporaryFolder()

  private func proxy(_ accessory: Accessory, on medium: Accessory.Medium, _ words: String...) throws -> Program {
    try Program(["proxy", "--accessory", accessory.address, "--device", address(medium)] + words)
  }

  private func address(_ medium: Accessory.Medium) -> String {
    switch medium {
    case .unix: "unix:\(place.file("proxy.sock"))"
    case .pty: "pty:\(place.file("proxy"))"
    case .tcp: "tcp:127.0.0.1:0"
    }
  }

  /// Tests accessories on every medium through proxies at two kinds of addresses. The certificate, the signature, the
  /// identification and 10,000 bytes must pass through.
  @Test(arguments: Accessory.Medium.allCases, [Accessory.Medium.unix, .pty])
  func bothEndsWorkThroughIt(accessory medium: Accessory.Medium, device: Accessory.Medium) throws {
    let accessory = try Accessory(on: medium, in: place, "--json")
    let proxy = try proxy(accessory, on: device)
    _ = try proxy.line("cable at")
    let send = try Program.run("send", address(device), "--10k", "--expect", "echo")
    #expect(send.ending == .exit(0), "\(send.out)\(send.err)")
    #expect(send.out.contains("10000 bytes sent, EADemo's pattern came back"), "\(send.out)")
    let end = try proxy.interrupt()
    #expect(end.ending == .exit(0), "\(end.err)")
    #expect(end.err.contains("from the accessory, "), "\(end.err)")
  }

  @Test func packetsAreLinesAndACapture() throws {
    let accessory = try Accessory(on: .unix, in: place)
    let file = place.file("proxy.pcapng")
    let proxy = try proxy(accessory, on: .unix, "--json", "--capture", file)
    _ = try proxy.line("\"attach\"")
    let send = try Program.run("send", address(.unix), "--text", "hello", "--expect", "echo")
    #expect(send.ending == .exit(0), "\(send.err)")
    proxy.send(SIGINT)
    let lines = try EventLines(try proxy.wait().out)
    let packets = lines.events("packet")
    #expect(packets.contains { $0["kind"]?.text == "detection" })
    for name in ["RequestAuthenticationCertificate", "AuthenticationSucceeded", "IdentificationAccepted"] {
      #expect(packets.contains { $0["text"]?.text?.contains(name) == true }, "\(name)")
    }
    #expect(packets.contains { $0["data"]?.text == "\"hello\"" && $0["from"]?.text == "device" })
    #expect(lines.events("attach").count >= 2)
    let decoded = try Program.run("decode", "--check", file)
    #expect(decoded.ending == .exit(0), "\(decoded.out)\(decoded.err)")
  }

  /// A fault with `out` affects only what the device sends. Here, the device's bytes do not arrive, so the accessory is
  /// never authenticated.
  @Test func aFaultDisturbsOneDirection() throws {
    let accessory = try Accessory(on: .unix, in: place)
    let proxy = try proxy(accessory, on: .unix, "--fault", "half-dead,direction=out")
    _ = try proxy.line("cable at")
    let send = try Program.run("send", address(.unix), "--text", "hello", "--timeout", "300ms")
    #expect(send.ending == .exit(6), "\(send.out)\(send.err)")
    let end = try proxy.interrupt()
    #expect(end.err.contains("from the device") && !end.err.contains(" 0 byte"), "\(end.err)")
  }

  @Test func anAccessoryThatComesLaterAndGoesIsPassedOn() throws {
    let first = try Accessory(on: .unix, in: place)
    let proxy = try proxy(first, on: .unix)
    _ = try proxy.line("cable at")
    try first.interrupt()
    _ = try proxy.line("unplugged")
    #expect(access(place.file("proxy.sock"), F_OK) != 0, "the device's end is gone, too")
    let second = try Accessory(on: .unix, in: place)
    _ = try proxy.line("cable at")
    let send = try Program.run("send", address(.unix), "--text", "hello", "--expect", "echo")
    #expect(send.ending == .exit(0), "\(send.out)\(send.err)")
    proxy.send(SIGTERM)
    #expect(try proxy.wait().ending == .exit(0))
    try second.interrupt()
  }
}
