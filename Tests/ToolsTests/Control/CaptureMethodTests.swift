import AccessoryControl
import AccessoryCore
import AccessoryProfiles
import Certificates
import Glibc
import TestSupport
import Testing

@Suite struct CaptureMethodTests {
  private func echo(_ client: DeskClient, _ session: String) throws {
    try client.open()
    try client.result("session.write", "{\"session\":\"\(session)\",\"text\":\"marker\"}")
    try client.result("session.read", "{\"session\":\"\(session)\",\"wait\":\"5s\"}")
    try client.result("session.close", "{\"session\":\"\(session)\"}")
    try client.desk.advance(.seconds(1))
  }

  private func bytes(_ client: DeskClient, _ capture: String) -> [UInt8] {
    for ending in ["pcapng", "txt"] {
      if let found = client.desk.server.capture(at: "/captures/\(capture).\(ending)") { return found.bytes }
    }
    return []
  }

  private func text(_ client: DeskClient, _ capture: String) -> String {
    String(decoding: bytes(client, capture), as: UTF8.self)
  }

  @Test func aTranscriptHasWhatPassesWhileItIsOn() throws {
    let client = try ControlDesk().echo()
    try client.plug()
    try client.result("capture.start", "{\"accessory\":\"a1\",\"form\":\"transcript\"}")
    try echo(client, "s1")
    #expect(text(client, "c1").contains("6d 61 72 6b 65 72"))
    #expect(!text(client, "c1").contains("SYN"), "the cable was plugged in before")
    try client.result("capture.stop", "{\"capture\":\"c1\"}")
    let whole = text(client, "c1")
    try echo(client, "s2")
    #expect(text(client, "c1") == whole)
  }

  @Test func aCaptureOfAWorldHasEveryCableToComeAndTheEvents() throws {
    let client = try ControlDesk().echo()
    try client.result("capture.start")
    try client.result("accessory.add", "{\"profile\":\"lawk-view\"}")
    try client.plug()
    try client.result("accessory.plug", "{\"accessory\":\"a2\"}")
    try client.desk.advance(.seconds(5))
    try echo(client, "s1")
    try client.result("accessory.unplug", "{\"accessory\":\"a1\"}")
    try client.plug()
    let recorded = bytes(client, "c1")
    #expect(recorded.starts(with: [0x0A, 0x0D, 0x0D, 0x0A]))
    let text = String(decoding: recorded, as: UTF8.self)
    for name in ["Echo", "connect", "marker"] { #expect(text.contains(name), "\(name)") }
    // The capture contains the cables of a1 and a2, including a1's second cable.
    #expect(text.ranges(of: "c1:1").count == 2)
    #expect(text.ranges(of: "c1:2").count == 1)
  }

  @Test func aCaptureIsAnAccessoryThatAnswersAsRecorded() throws {
    let client = try ControlDesk().echo()
    try client.result("capture.start")
    try client.plug()
    try echo(client, "s1")
    let place = TemporaryFolder()
    place.write(bytes(client, "c1"), to: "echo.pcapng")

    let other = ControlDesk().client()
    try other.result("accessory.add", "{\"recording\":\"\(place.file("echo.pcapng"))\"}")
    try other.result("app.launch")
    try other.plug()
    try echo(other, "s1")
    let open = "{\"app\":\"p1\",\"protocol\":\"com.example.echo\"}"
    try other.result("app.open", open)
    try other.result("session.write", "{\"session\":\"s2\",\"text\":\"marked\"}")
    try other.desk.advance(.seconds(1))
    #expect(try other.kind("session.write", "{\"session\":\"s2\",\"text\":\"x\"}") == "gone")

    // The request may contain the bytes of the capture instead of a path.
    let data = Base64.text(bytes(client, "c1"))
    #expect(try other.result("accessory.add", "{\"recordingData\":\"\(data)\"}")["accessories"] != nil)
    #expect(try other.kind("accessory.add", "{\"recordingData\":\"bm9uZQ==\"}") == "params")
    #expect(try other.kind("accessory.add", "{}") == "params")
    #expect(try other.kind("accessory.add", "{\"recording\":\"/nonexistent\"}") == "params")
    #expect(try other.kind("accessory.add", "{\"recording\":\"x\",\"profile\":\"echo\"}") == "params")
  }

  @Test func theBytesAreReadInPieces() throws {
    let client = try ControlDesk().echo()
    try client.result("capture.start", "{\"form\":\"transcript\"}")
    try client.plug()
    try client.result("capture.stop", "{\"capture\":\"c1\"}")
    var (read, from) = (0, 0)
    while true {
      let piece = try client.result("capture.read", "{\"capture\":\"c1\",\"offset\":\(from),\"limit\":100}")
      guard case .number(let next)? = piece["next"]?.content, Int(next.value) > from else { break }
      read += Int(next.value) - from
      from = Int(next.value)
      if piece["over"]?.content == .boolean(true) { break }
    }
    #expect(read == bytes(client, "c1").count && read > 100)
  }

  @Test func aCaptureEndsAtItsLimitAndSaysWhatIsMissing() throws {
    let client = try ControlDesk().echo()
    try client.result("capture.start", "{\"limit\":2048}")
    try client.plug()
    try echo(client, "s1")
    let state = try #require(try client.result("capture.list")["captures"].elements.first)
    #expect(state["bytes"]?.word.isEmpty == false && bytes(client, "c1").count <= 2_048)
    #expect(state["lost"]?.word != "0")
    #expect(try client.kind("capture.start", "{\"limit\":\(300 << 20)}") == "params")
    try client.result("capture.start", "{\"limit\":\(200 << 20)}")
    #expect(try client.kind("capture.start", "{\"limit\":\(100 << 20)}") == "limit")
    try client.result("capture.remove", "{\"capture\":\"c2\"}")
    try client.result("capture.start", "{\"limit\":\(100 << 20)}")
    #expect(try client.kind("capture.read", "{\"capture\":\"c2\"}") == "gone")
  }

  @Test func capturesEndWithTheirWorld() throws {
    let client = try ControlDesk().echo()
    try client.result("world.create", "{\"time\":\"virtual\"}")
    try client.result("capture.start", "{\"world\":\"w1\"}")
    try client.result("world.remove", "{\"world\":\"w1\"}")
    #expect(try client.kind("capture.stop", "{\"capture\":\"c1\"}") == "gone")
  }

  @Test func runsAndCapturesAreKeptInAFolder() throws {
    var settings = ControlServer.Settings()
    let place = TemporaryFolder()
    for folder in ["captures", "runs"] { try #require(mkdir(place.file(folder), 0o755) == 0) }
    settings.kept = KeptFolder(place.path)
    let client = try ControlDesk(settings).echo()
    try client.result("capture.start")
    try client.plug()
    try client.result("burst.run", "{\"accessory\":\"a1\",\"bursts\":3,\"size\":100}")
    try client.result("job.wait", "{\"job\":\"j1\",\"limit\":\"20s\"}")
    let file = try #require(Folder.names(in: place.file("captures"))?.first)
    #expect(file.hasSuffix("Z-c1.pcapng"))
    #expect(try TextFile.read(place.file("captures/\(file)"), limit: 1 << 20) == bytes(client, "c1"))
    // A server that is started later finds the kept files.
    let later = ControlDesk(settings).client()
    let run = try #require(try later.result("job.kept")["runs"].elements.first)
    let name = try #require(run["run"]?.word)
    #expect(name.hasSuffix("Z-j1-burst") && run["state"]?.word == "passed")
    for form in ["json", "text", "html", "xml"] {
      let report = try later.result("job.keptReport", "{\"run\":\"\(name)\",\"form\":\"\(form)\"}")["report"]
      #expect(report?.word.isEmpty == false)
    }
    #expect(try later.kind("job.keptReport", "{\"run\":\"../runs/\(name)\"}") == "unknown")
    #expect(try ControlDesk().client().kind("job.kept") == "state")
  }
}
