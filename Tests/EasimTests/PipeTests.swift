import Glibc
import TestSupport
import Testing

@Suite(.waits) struct PipeTests {
  private let local = LocalPlace()
  private var place: TemporaryFolder { local.place }

  private func address(_ name: String) -> String { "unix:\(place.file(name))" }

  private func script() -> String {
    place.write(
      """
      { version: 1, extends: "echo", behavior: { type: "script", framing: { delimiter: "\\r\\n" },
        rules: [{ request: "VERSION?", response: "EASIM 1.2\\r\\n" }] } }
      """, to: "device.json5")
  }

  @Test func aQuestionOnStdinIsAnsweredOnStdout() throws {
    let run = try local.plugIn(script(), "--quirk", "flicker,empty=20ms,gap=20ms")
    let pipe = try local.bash("printf 'VERSION?\\r\\n' | easim pipe --linger 3s")
    #expect(pipe.ending == .exit(0), "\(pipe.err)")
    #expect(pipe.out == "EASIM 1.2\r\n" && pipe.err == "")
    try run.interrupt()
  }

  /// Two megabytes pass unchanged through every kind of descriptor.
  @Test(arguments: ["easim pipe %@ < in > out", "cat in | easim pipe %@ | cat > out"])
  func filesAndPipesAreCopiedByteForByte(line: String) throws {
    place.write((0..<2_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }, to: "in")
    let accessory = try Accessory("echo", on: .unix, in: place)
    let words = line.replacing("%@", with: "\(accessory.address) --linger 3s")
    let pipe = try local.bash("set -o pipefail; cd \(place.path) && \(words) && cmp in out")
    #expect(pipe.ending == .exit(0), "\(pipe.out)\(pipe.err)")
    #expect(try accessory.interrupt().err.contains("1 session was served, 4000000 bytes in all"))
  }

  @Test func theReaderOfAPipeMayLeave() throws {
    let accessory = try Accessory("echo", on: .unix, in: place)
    let pipe = try local.bash(
      "set -o pipefail; (easim pipe \(accessory.address) < /dev/zero; echo $? > \(place.file("code"))) | head -c 5 | wc -c"
    )
    #expect(pipe.out == "5\n" && pipe.err == "", "\(pipe.err)")
    #expect(place.bytes("code") == Array("0\n".utf8))
  }

  private static let mistakes: [(String, Int32, String)] = [
    ("easim pipe ADDR < / ", 2, "easim: reading failed: Is a directory\n"),
    ("echo x | easim pipe ADDR > /dev/full", 2, "easim: writing failed: No space left on device\n"),
    (
      "easim pipe ADDR --protocol com.example.ech < /dev/null", 2,
      "easim: the accessory does not offer com.example.ech; it offers com.example.echo, did you mean 'com.example.echo'?\n"
    ),
    (
      "easim pipe unix:/nonexistent/s --timeout 50ms < /dev/null", 3,
      "easim: no accessory at unix:/nonexistent/s within 50ms: No such file or directory\n"
    ),
    (
      "easim pipe ADDR --listen pty:x", 2,
      "easim: --listen pty:x: expected unix:PATH or tcp:HOST:PORT\n       run 'easim pipe --help' for help\n"
    ),
    ("easim pipe ADDR < /dev/null", 0, ""),
  ]

  @Test(arguments: mistakes) func mistakesHaveTheirExitCodes(line: String, code: Int32, err: String) throws {
    let accessory = try Accessory("echo", on: .unix, in: place)
    let pipe = try local.bash(line.replacing("ADDR", with: "\(accessory.address)") + (code == 0 ? " --linger 1ms" : ""))
    #expect(pipe.ending == .exit(code))
    #expect(pipe.err == err)
  }

  private func start(_ words: String...) throws -> (pipe: Program, input: Int32) {
    mkfifo(place.file("fifo"), 0o600)
    // The FIFO is opened for reading and writing, because a program that opens it for reading would wait for a writer.
    let input = open(place.file("fifo"), O_RDWR | O_CLOEXEC)
    return (try Program(["pipe"] + words, stdin: place.file("fifo")), input)
  }

  @Test func anAccessoryThatIsUnpluggedEndsWithFive() throws {
    let accessory = try Accessory("echo", on: .unix, in: place)
    let (pipe, input) = try start(accessory.address)
    defer { close(input) }
    _ = write(input, "hello\n", 6)
    try pipe.line("hello")
    try accessory.interrupt()
    let end = try pipe.wait()
    #expect(end.ending == .exit(5))
    #expect(end.err.contains("easim: the accessory disconnected"))
  }

  @Test func withReconnectTheNextSessionContinues() throws {
    let first = try Accessory("echo", on: .unix, in: place)
    let (pipe, writer) = try start(first.address, "--reconnect", "--linger", "100ms", "--timeout", "1m")
    _ = write(writer, "one\n", 4)
    try pipe.line("one")
    try first.interrupt()
    let second = try Accessory("echo", on: .unix, in: place)
    _ = write(writer, "two\n", 4)
    try pipe.line("two")
    close(writer)
    let end = try pipe.wait()
    #expect(end.ending == .exit(0) && end.out == "one\ntwo\n")
    #expect(end.err.contains("easim: the accessory disconnected"))
    try second.interrupt()
  }

  @Test func eachConnectionOfAListenerHasItsOwnSession() throws {
    let accessory = try Accessory("echo", on: .unix, in: place)
    let pipe = try Program("pipe", accessory.address, "--listen", address("p"))
    #expect(try pipe.line("unix:") == address("p"))
    let clients = try (0..<3).map { _ in try Client(place.file("p")) }
    for (number, client) in clients.enumerated() { client.send("client \(number)") }
    for (number, client) in clients.enumerated() {
      #expect(client.read("client \(number)".utf8.count) == "client \(number)")
    }
    for client in clients {
      client.endInput()
      #expect(client.read(1) == "")
    }
    #expect(try pipe.interrupt().ending == .exit(0))
    #expect(!place.has("p"))
    #expect(try accessory.interrupt().err.contains("3 sessions were served, 48 bytes in all"))
  }

  @Test func bothEndsAreOnePipe() throws {
    let pipe = try local.bash(
      """
      cd \(place.path); mkfifo hold
      easim pipe --as-accessory echo --on unix:a.sock < hold > heard & accessory=$!; exec 3> hold
      echo from the accessory >&3
      echo from the device | easim pipe unix:a.sock --linger 3s --timeout 1m; echo $?
      wait $accessory; echo $?; cat heard
      """)
    #expect(pipe.out == "from the accessory\n0\n0\nfrom the device\n", "\(pipe.err)")
  }

  @Test func sessionsOfAnAccessoryWaitForConnections() throws {
    let accessory = try Program("pipe", "--as-accessory", "echo", "--on", address("a"), "--listen", address("p"))
    try accessory.line("unix:")
    let host = try Program("send", address("a"), "--text", "hello", "--expect", "echo", "--timeout", "1m")
    try host.line("session 1 open")
    let client = try Client(place.file("p"))
    #expect(client.read(5) == "hello")
    client.send("hello")
    #expect(try host.wait().ending == .exit(0))
    #expect(client.read(1) == "")
    #expect(try accessory.interrupt().ending == .exit(0))
  }

  @Test func ctrlCBeforeAnyByteIsNoSuccess() throws {
    let accessory = try Accessory("echo", on: .unix, in: place, "--behavior", "sink")
    // The input never ends, but contains no data.
    let pipe = try Program(["pipe", accessory.address, "--verbose"], stdin: "/dev/ptmx")
    try accessory.program.line("session 1 open")
    let end = try pipe.interrupt()
    #expect(end.ending == .exit(1))
    #expect(end.err.contains("easim: stopped by Ctrl-C; "))
  }

  @Test func ctrlCEndsAPipeWhoseOutputIsNotRead() throws {
    let accessory = try Accessory("echo", on: .unix, in: place, "--behavior", "source,text=hello")
    let full = try FullPipe(in: place)
    let pipe = try Program(["pipe", accessory.address, "--verbose"], stdin: "/dev/zero", stdout: full.writingEnd)
    try accessory.program.line("session 1 open")
    let end = try pipe.interrupt()
    #expect(end.ending == .exit(1) || end.ending == .killed(by: SIGINT))
    #expect(end.err.contains("easim: stopped by Ctrl-C; "))
  }
}

private final class Client {
  private let socket: Int32

  init(_ path: String) throws {
    guard let socket = UnixSocket.make(connect, path) else {
      throw ProgramFailure(description: "\(path): \(String(cString: strerror(errno)))")
    }
    self.socket = socket
  }

  deinit { close(socket) }

  func send(_ text: String) { _ = Glibc.send(socket, text, text.utf8.count, Int32(MSG_NOSIGNAL)) }

  func endInput() { shutdown(socket, Int32(SHUT_WR)) }

  func read(_ count: Int) -> String {
    var bytes: [UInt8] = []
    while bytes.count < count {
      var block = [UInt8](repeating: 0, count: count - bytes.count)
      let got = recv(socket, &block, block.count, 0)
      if got < 0, errno == EINTR { continue }
      guard got > 0 else { break }
      bytes += block[..<got]
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
