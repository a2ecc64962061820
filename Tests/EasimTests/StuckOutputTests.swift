import Glibc
import TestSupport
import Testing

/// Output that is not read, whether in a pipe, on a stopped terminal or in a FIFO, must not block the cables or Ctrl-C.
@Suite(.waits) struct StuckOutputTests {
  let place = TemporaryFolder()

  private var address: String { "unix:\(place.file("s"))" }

  private func run(_ words: String..., stdout: Int32? = nil, stderr: Int32? = nil) throws -> Program {
    try Program(words, stdout: stdout, stderr: stderr)
  }

  private func send(_ words: String...) throws -> Program.Remains {
    try Program.run(["send", address, "--10k", "--expect", "echo", "--timeout", "1m"] + words)
  }

  @Test(arguments: [[], ["--json"]]) func anUnreadStdoutHoldsUpNeitherTheWireNorCtrlC(words: [String]) throws {
    let pipe = try FullPipe(in: place)
    let run = try Program(["run", "echo", "--on", address] + words, stdout: pipe.writingEnd)
    #expect(try send().ending == .exit(0))
    let end = try run.interrupt()
    #expect(end.ending == .exit(0))
    #expect(end.err.contains("easim: unplugged; 1 session was served, 20000 bytes in all\n"))
    #expect(end.err.contains(" lines were not written, because stdout was not read\n"))
  }

  /// Every line is either shown completely or counted as dropped.
  @Test func linesBeyondTheBoundAreDroppedWholeAndCounted() throws {
    // With this name, each line about an accessory is 20 kB long.
    let stem = "com.example.\(String(repeating: "a", count: 190))"
    let names = (0..<100).map { "\"\(stem)\($0)\"" }.joined(separator: ",")
    let echo = try Repository.text("profiles/echo.json5")
    place.write(echo.replacing("\"com.example.echo\"", with: names), to: "wide.json5")
    let pipe = try FullPipe(in: place)
    let run = try run(
      "run", place.file("wide.json5"), "--count", "300", "--on", "unix:\(place.file("{index}.sock"))", "--json",
      stdout: pipe.writingEnd)
    let send = try Program.run(
      "send", "unix:\(place.file("300.sock"))", "--text", "x", "--protocol", "\(stem)0", "--timeout", "1m")
    #expect(send.ending == .exit(0), "\(send.err)")
    let lines = try EventLines(try pipe.read(to: "\"event\":\"session.close\"").joined(separator: "\n"))
    let attached = lines.events("attach").count
    let dropped = lines.events("dropped")
    #expect(dropped.count == 1)
    #expect(Double(attached) + (dropped.first?["lines"]?.number ?? 0) == 300)
    #expect(dropped.first?["text"]?.text?.hasSuffix(" lines were dropped here, because stdout was not read") == true)
    // The queue keeps the newest lines.
    #expect(lines.events("attach").last?["on"]?.text == "unix:\(place.file("300.sock"))")
    run.send(SIGTERM)
    _ = try pipe.read(to: "\"event\":\"detach\"")
    #expect(try run.wait().ending == .exit(0))
  }

  @Test func aStoppedTerminalHoldsUpNeitherTheWireNorCtrlC() throws {
    let terminal = try StoppedTerminal()
    let run = try run("run", "echo", "--on", address, stdout: terminal.terminal, stderr: terminal.terminal)
    #expect(try send().ending == .exit(0))
    #expect(try run.interrupt().ending == .exit(0))
  }

  @Test func aTerminalThatGoesOnShowsWhatHappenedMeanwhile() throws {
    let terminal = try StoppedTerminal()
    let run = try run("run", "echo", "--on", address, stdout: terminal.terminal, stderr: terminal.terminal)
    #expect(try send().ending == .exit(0))
    terminal.resume()
    try terminal.read(to: "session 1 ended")
    run.send(SIGINT)
    // The lines on stdout and stderr appear in the order in which they were written.
    try terminal.read(to: "unplugged: Ctrl-C", "1 session was served")
    #expect(try run.wait().ending == .exit(0))
  }

  // MARK: Lines that must not be dropped

  /// A command that only prints a result waits until the output is read, as `cat` does.
  @Test func aResultWaitsForItsReader() throws {
    let pipe = try FullPipe(in: place)
    let show = try run("scenario", "show", stdout: pipe.writingEnd)
    #expect(try pipe.readToTheEnd() == Program.run("scenario", "show").outLines)
    #expect(try show.wait().ending == .exit(0))
  }

  /// Starts an accessory whose transcript is not read, and a host whose transfer is blocked until the host gives up.
  /// The accessory accepts only small packets, so that the transcript has more lines than the queue can hold.
  private func heldAccessory(_ fifo: UnreadFIFO, _ words: String...) throws -> Program {
    place.write(
      try Repository.text("profiles/echo.json5").replacing(
        "behavior:", with: "link: { maximumPacketLength: 128 },\n  behavior:"), to: "small.json5")
    let accessory = try run("run", place.file("small.json5"), "--on", address, "--transcript", fifo.path)
    place.write([UInt8](repeating: 7, count: 2_000_000), to: "payload")
    // With a sanitizer, it takes longer until the transcript holds up the accessory.
    let patience = Sanitizer.used == nil ? "3s" : "30s"
    let held = try Program.run(["send", address, "--file", place.file("payload"), "--timeout", patience] + words)
    #expect(held.ending == .exit(4), "\(held.out)\(held.err)")
    return accessory
  }

  @Test func anUnreadTranscriptHoldsUpTheWireAndLosesNothing() throws {
    let fifo = UnreadFIFO(in: place)
    let accessory = try heldAccessory(fifo, "--expect", "echo")
    // The first host is gone, and a second host is waiting. The accessory notices both once its output is read.
    let send = try Program("send", address, "--10k", "--expect", "echo", "--timeout", "1m")
    try fifo.read { $0.lines(with: " A sees that ").count == 2 }
    #expect(try send.wait().ending == .exit(0))
    let end = try accessory.interrupt()
    #expect(end.ending == .exit(0), "\(end.err)")
    let over = try #require(end.outLines.first { $0.contains("session 1 ended") })
    let read = try #require(over.firstMatch(of: /\((\d+) bytes read,/).flatMap { Int($0.1) })
    let written = fifo.text.lines(with: " D DATA ").compactMap { line in
      line.firstMatch(of: /accessory-session=1 (\d+) bytes/).flatMap { Int($0.1) }
    }
    #expect(read > 100_000)
    #expect(written.reduce(0, +) >= read, "packets that arrived are missing in the transcript")
  }

  @Test func aTranscriptThatIsNeverReadIsToldToBeIncomplete() throws {
    let fifo = UnreadFIFO(in: place)
    let accessory = try heldAccessory(fifo)
    let end = try accessory.interrupt()
    #expect(end.ending == .exit(2))
    #expect(
      end.err.hasSuffix(
        "easim: --transcript \(fifo.path): it was not read; the rest was not written\n"))
  }

  @Test func anUnreadTranscriptOnStderrHoldsUpNoSignal() throws {
    let pipe = try FullPipe(in: place)
    let run = try run("run", "echo", "--on", address, "--transcript", "-", stderr: pipe.writingEnd)
    #expect(try send().ending == .exit(0))
    #expect(try run.interrupt().ending == .exit(2))
  }

  // MARK: Opening

  @Test func aFIFOThatNobodyOpensIsGivenUp() throws {
    mkfifo(place.file("fifo.json"), 0o600)
    let bursts = try ["transcript", "report"].map {
      (name: "--\($0) \(place.file("fifo.json"))", burst: try run("burst", address, "--\($0)", place.file("fifo.json")))
    }
    for (name, burst) in bursts {
      let end = try burst.wait()
      #expect(end.ending == .exit(2))
      #expect(end.err.hasPrefix("easim: \(name): no program opened it for reading within 10 s\n"), "\(end.err)")
    }
  }

  @Test func ctrlCEndsTheWaitForAFIFO() throws {
    mkfifo(place.file("fifo"), 0o600)
    let first = try run("run", "echo", "--on", address, "--transcript", place.file("fifo"))
    first.send(SIGTERM)
    let end = try first.wait()
    // The signal may arrive before the program has started to handle signals.
    #expect([.exit(1), .killed(by: SIGTERM)].contains(end.ending), "\(end.err)")
  }

  // MARK: More than one signal

  /// At exit, easim waits until its transcript is read, unless it receives further signals.
  @Test func theThirdSignalEndsTheProcessWhateverItWaitsFor() throws {
    let fifo = UnreadFIFO(in: place)
    let accessory = try heldAccessory(fifo)
    for signal in [SIGINT, SIGTERM, SIGHUP] { accessory.send(signal) }
    let end = try accessory.wait()
    #expect([SIGINT, SIGTERM, SIGHUP].contains { end.ending == .killed(by: $0) })
  }
}

extension String {
  fileprivate func lines(with text: String) -> [Substring] {
    split(separator: "\n").filter { $0.contains(text) }
  }
}
