import AccessoryWorlds
import Glibc
import TestSupport
import Testing

@testable import easim

/// Tests what the keys of `easim run` do, and how they work on a terminal.
@Suite(.waits) struct RunKeysTests {
  @Test func theLineListsTheKeysAndTheFaults() {
    var keys = RunKeys(faults: ["latency", "loss"])
    #expect(keys.line(width: 100) == "u unplug   p plug   f flicker   r restart   1 latency on   2 loss on   q quit")
    #expect(keys.press(.character("2")) == .toggle(1))
    #expect(keys.line(width: 100).contains("2 loss off"))
    #expect(keys.press(.character("2")) == .toggle(1))
    #expect(keys.line(width: 20) == "u unplug   p plug  …")
  }

  @Test(arguments: [
    (Key.character("u"), RunKeys.Action?.some(.perform(.unplug()))), (.character("p"), .perform(.plugIn)),
    (.character("f"), .perform(.flicker)), (.character("r"), .perform(.restart)),
    (.character("q"), .quit), (.character("1"), .toggle(0)), (.character("2"), nil), (.character("0"), nil),
    (.character("٣"), nil), (.character("x"), nil), (.escape, nil), (.enter, nil),
  ])
  func aKeyDoesWhatTheLineSays(key: Key, action: RunKeys.Action?) {
    var keys = RunKeys(faults: ["latency"])
    #expect(keys.press(key) == action)
    var none = RunKeys(faults: [])
    #expect(none.press(.character("1")) == nil)
  }

  @Test func eachActionWithAKeyIsOnTheLine() {
    let kinds = WorldAction.kinds().filter { $0.key != nil }
    #expect(kinds.count >= 3)
    var keys = RunKeys(faults: [])
    for case let (key?, kind) in kinds.map({ ($0.key, $0) }) {
      #expect(keys.line(width: 1_000).contains("\(key) "), "\(kind.name)")
      guard case .perform(let action)? = keys.press(.character(key)) else {
        Issue.record("the key \(key) does nothing")
        continue
      }
      #expect(kind.action("") == .accessory(action, of: ""))
    }
  }

  @Test func onlyNineFaultsHaveKeys() {
    var keys = RunKeys(faults: (1...12).map { "f\($0)" })
    #expect(keys.press(.character("9")) == .toggle(8))
    #expect(!keys.line(width: 1_000).contains("f10"))
  }

  private func run(
    _ terminal: StoppedTerminal, at socket: String, _ words: String...
  ) throws -> Program {
    terminal.resume()
    return try Program(
      ["run", "echo", "--on", "unix:\(socket)"] + words, environment: ["TERM": "xterm"],
      stdin: terminal.path, stdout: terminal.terminal, stderr: terminal.terminal)
  }

  @Test func keysUnplugPlugFlickerAndQuitOnATerminal() throws {
    let place = TemporaryFolder()
    let terminal = try StoppedTerminal()
    let before = terminal.modes
    let socket = place.file("echo.sock")
    let program = try run(terminal, at: socket, "--fault", "latency,delay=1ms")
    try terminal.read(to: "unix:", "u unplug   p plug   f flicker   r restart   1 latency on   q quit")
    #expect(terminal.modes & tcflag_t(ICANON | ECHO) == 0)
    #expect(terminal.modes & tcflag_t(ISIG) != 0)
    try terminal.type("u")
    try terminal.read(to: "unplugged by hand", "u unplug")
    try terminal.type("p")
    try terminal.read(to: "plugged in at", "u unplug")
    let echoed = try Program.run("send", "unix:\(socket)", "--text", "hello", "--expect", "echo")
    #expect(echoed.ending == .exit(0), "\(echoed.err)")
    try terminal.type("1")
    try terminal.read(to: "1 latency off")
    try terminal.type("f")
    try terminal.read(to: "the flicker", "plugged in at")
    try terminal.type("q")
    try terminal.read(to: "easim: unplugged; 1 session was served")
    #expect(try program.wait().ending == .exit(0))
    #expect(terminal.modes == before)
  }

  @Test func withoutATerminalAtStdinThereAreNoKeys() throws {
    let place = TemporaryFolder()
    let terminal = try StoppedTerminal()
    terminal.resume()
    let program = try Program(
      ["run", "echo", "--on", "unix:\(place.file("echo.sock"))"],
      environment: ["TERM": "xterm"], stdout: terminal.terminal, stderr: terminal.terminal)
    try terminal.read(to: "unix:")
    #expect(terminal.modes & tcflag_t(ICANON) != 0)
    program.send(SIGINT)
    try terminal.read(to: "easim: unplugged")
    #expect(try program.wait().ending == .exit(0))
  }

  @Test func aSignalGivesTheTerminalBack() throws {
    let place = TemporaryFolder()
    let terminal = try StoppedTerminal()
    let before = terminal.modes
    let program = try run(terminal, at: place.file("echo.sock"), "--control", place.file("control.sock"))
    try terminal.read(to: "u unplug")
    try terminal.type("u")
    try terminal.read(to: "unplugged")
    program.send(SIGINT)
    try terminal.read(to: "easim: unplugged")
    #expect(try program.wait().ending == .exit(0))
    #expect(terminal.modes == before)
  }
}
