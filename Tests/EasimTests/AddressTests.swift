import Glibc
import TestSupport
import Testing

@Suite(.waits) struct AddressTests {
  let place = TemporaryFolder()

  /// Every command that connects to an address or listens on one. The tests append the address.
  static let commands = [
    "send --10k", "burst --count 1", "console", "info", "watch", "scenario run flicker --at", "run echo --on",
    "run --scenario flicker --on",
  ]

  private func words(_ command: String, _ address: String) -> [String] {
    command.split(separator: " ").map(String.init) + [address]
  }

  private func run(_ words: [String]) throws -> Program.Remains {
    try Program.run(words, environment: ["EASIM_LOCAL": place.file("local")])
  }

  @Test(arguments: commands) func remotePeersAreRefusedWithTheOptionThatTheCommandTakes(command: String) throws {
    let refused = try run(words(command, "tcp:192.0.2.1:99"))
    #expect(refused.ending == .exit(2), "\(refused.out)\(refused.err)")
    #expect(refused.err.contains("tcp:192.0.2.1:99 is not a loopback address"), "\(refused.err)")
    let option = try #require(refused.err.firstMatch(of: /allowed: use (--[a-z-]+)/)?.output.1, "\(refused.err)")
    let help = try Program.run(String(command.prefix { $0 != " " }), "--help")
    #expect(help.out.contains("  \(option) "), "\(command) advises \(option) and does not take it")
  }

  /// With `--allow-remote`, these commands keep waiting, because there is no accessory at the address.
  @Test(arguments: commands.filter { !$0.hasSuffix("--on") && !$0.hasPrefix("console") && $0 != "watch" })
  func withTheOptionTheCommandConnects(command: String) throws {
    let ended = try run(words(command, "tcp:127.0.0.1:1") + ["--allow-remote", "--timeout", "100ms"])
    #expect(ended.ending == .exit(3), "\(ended.out)\(ended.err)")
    #expect(ended.err.contains("no accessory at tcp:127.0.0.1:1 within 100ms: Connection refused"), "\(ended.err)")
  }

  /// On a serial line, neither end listens, because both ends open the terminal.
  @Test(arguments: ["run echo --on", "send --10k --timeout 50ms", "info --timeout 50ms"])
  func aSerialLineThatIsNotThereCannotBeOpened(command: String) throws {
    let path = place.file("ttyS9")
    let ended = try run(words(command, "serial:\(path)"))
    #expect(ended.ending == .exit(command.hasPrefix("run") ? 2 : 3), "\(ended.err)")
    #expect(ended.err.contains("No such file or directory"), "\(ended.err)")
    #expect(!ended.err.contains("listens"), "\(ended.err)")
  }

  /// A permanent problem ends the command immediately, regardless of its time limit.
  @Test(arguments: ["send --10k --timeout 10m", "info --timeout 10m"])
  func aFileThatIsNoTerminalIsNotWaitedFor(command: String) throws {
    let path = place.write("", to: "file")
    let ended = try run(words(command, "serial:\(path)"))
    #expect(ended.ending == .exit(3), "\(ended.err)")
    #expect(ended.err.contains("serial:\(path) cannot be used: \(path) is not a terminal"), "\(ended.err)")
  }

  @Test(arguments: commands.filter { !$0.contains("--on") } + ["list"])
  func whereSimulatedAccessoriesAppearNoCommandConnects(command: String) throws {
    let ended = try run(words(command, "gadget:"))
    #expect(ended.ending == .exit(2), "\(ended.err)")
    #expect(ended.err.contains("gadget: is where a simulated accessory appears"), "\(ended.err)")
  }

  @Test(arguments: commands.filter { $0 != "watch" }) func aWrongAddressTouchesNoTranscript(command: String) throws {
    place.write("precious", to: "transcript")
    let address = command.hasSuffix("--on") ? "usb:" : "gadget:"
    let ended = try run(words(command, address) + ["--transcript", place.file("transcript")])
    #expect(ended.ending == .exit(2), "\(ended.err)")
    #expect(place.bytes("transcript") == Array("precious".utf8))
  }
}
