import Glibc
import TestSupport
import Testing

/// Tests `easim run` with silent hosts, with too many hosts, and with hosts whose names contain terminal control
/// characters.
@Suite(.waits) struct HostileHostTests {
  let place = TemporaryFolder()

  private var path: String { place.file("s") }

  private func run(_ words: String...) throws -> Program { try Program(["run"] + words) }

  private func connect() throws -> Int32 { try #require(UnixSocket.make(Glibc.connect, path)) }

  @Test func aSilentHostIsSentAwayAndTheNextIsServed() throws {
    let accessory = try run("echo", "--on", "unix:\(path)", "--handshake-timeout", "300ms")
    try accessory.line("plugged in at")
    let silent = try connect()
    defer { close(silent) }
    try accessory.line("closed the cable: the device did not take part in detection within 300ms")
    let send = try Program.run("send", "unix:\(path)", "--text", "hello", "--expect", "echo", "--timeout", "1m")
    #expect(send.ending == .exit(0), "\(send.err)")
    #expect(try accessory.interrupt().ending == .exit(0))
  }

  @Test func refusedHostsBeyondTheFirstFewAreCounted() throws {
    let accessory = try run("echo", "--on", "unix:\(path)", "--handshake-timeout", "0s")
    try accessory.line("plugged in at")
    let first = try connect()
    defer { close(first) }
    try accessory.line("device connected")
    for _ in 0..<200 {
      let other = try connect()
      // Waits until the host has been refused.
      var byte: UInt8 = 0
      while recv(other, &byte, 1, 0) < 0, errno == EINTR {}
      close(other)
    }
    accessory.send(SIGINT)
    let lines = try accessory.wait().outLines
    let refused = lines.count { $0.contains("another device is already connected") }
    let counted = lines.compactMap {
      $0.firstMatch(of: /and (\d+) more warnings about devices that connect in the last/)
    }
    .compactMap { Int($0.1) }
    #expect(refused < 100 && refused + counted.reduce(0, +) == 200)
  }

  /// Several accessories find the socket of a killed accessory at the same time.
  @Test(arguments: 0..<3) func ofSeveralAccessoriesAtOneStalePathOneIsPluggedIn(round: Int) throws {
    close(try #require(UnixSocket.make(bind, path)))
    let programs = try (0..<4).map { _ in try run("echo", "--on", "unix:\(path)") }
    let winners = programs.filter { (try? $0.line("plugged in at")) != nil }
    #expect(winners.count == 1)
    let send = try Program.run("send", "unix:\(path)", "--text", "hello", "--expect", "echo", "--timeout", "1m")
    #expect(send.ending == .exit(0), "\(send.err)")
    for winner in winners {
      #expect(try winner.interrupt().ending == .exit(0))
    }
    #expect(place.names == [])
  }

  @Test func aNameThatTurnsTheLineAroundIsShownHarmlessly() throws {
    let echo = try Repository.text("profiles/echo.json5")
    let name = "Glasses \u{202E}gnp.exe\u{200B}\u{2028}\u{E0041}"
    let odd = try #require(echo.firstMatch(of: /name: ['"]([^'"]*)['"]/)?.1)
    place.write(echo.replacing(odd, with: name, maxReplacements: 1), to: "odd.json5")
    let accessory = try run(place.file("odd.json5"), "--on", "unix:\(path)")
    try accessory.line("plugged in at")
    let text = try Program.run("send", "unix:\(path)", "--text", "hello", "--expect", "echo", "--transcript", "-")
    let json = try Program.run("send", "unix:\(path)", "--text", "hello", "--expect", "echo", "--json")
    let mine = try accessory.interrupt()
    let shown = [text.out, text.err, json.out, json.err, mine.out, mine.err].joined()
    for scalar in ["\u{202E}", "\u{200B}", "\u{2028}", "\u{E0041}"] as [Unicode.Scalar] {
      #expect(!shown.unicodeScalars.contains(scalar))
    }
    #expect(text.ending == .exit(0) && text.out.contains("Glasses \u{FFFD}gnp.exe\u{FFFD}\u{FFFD}\u{FFFD}"))
    let connect = try #require(try EventLines(json.out).events("connect").first)
    #expect(connect["accessory"]?["name"]?.text == name, "JSON says exactly what it is")
  }

  @Test func ctrlCEndsTheWaitForAFileThatIsRead() throws {
    let plist = place.file("Info.plist")
    mkfifo(plist, 0o600)
    let writer = open(plist, O_RDWR | O_NONBLOCK | O_CLOEXEC)
    defer { close(writer) }
    let blanks = [UInt8](repeating: 0x20, count: 4_096)
    while write(writer, blanks, blanks.count) > 0 {}
    let send = try Program(["send", "unix:\(path)", "--text", "x", "--info-plist", plist])
    // easim has read the first bytes, so the FIFO has room again. easim now waits for the remaining bytes, which never
    // arrive.
    var question = pollfd(fd: writer, events: Int16(POLLOUT), revents: 0)
    #expect(poll(&question, 1, Int32(Program.hangLimit)) == 1)
    let end = try send.interrupt()
    #expect(end.ending == .exit(1), "\(end.err)")
    #expect(end.err == "easim: --info-plist \(plist): stopped before it was read\n")
  }
}
