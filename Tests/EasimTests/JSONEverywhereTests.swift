import TestSupport
import Testing

@Suite(.waits) struct JSONEverywhereTests {
  /// At least one command line for every command with `--json` and for each of its verbs. ADDR stands for the address
  /// of an echo accessory.
  static let lines = [
    "demo --virtual", "run echo --on unix:PLACE/other.sock --for 100ms",
    "watch ADDR --for 500ms", "info ADDR",
    "check --list", "check ADDR --only 101",
    "attach ADDR --times 1", "send ADDR --text hello --expect echo",
    "send ADDR --text a --expect text:b",
    "burst ADDR --count 3 --report PLACE/b.json --capture PLACE/b.pcapng", "report show PLACE/b.json",
    "report merge PLACE/b.json PLACE/b.json", "report compare PLACE/b.json PLACE/b.json", "console ADDR",
    "decode PLACE/b.pcapng", "decode --check PLACE/b.pcapng", "decode --stats PLACE/b.pcapng",
    "replay PLACE/b.pcapng --at ADDR", "profile list", "profile show echo", "profile check echo",
    "profile check PLACE/b.json",
    "profile new lamp", "profile new lamp --behavior script", "profile import PLACE/b.pcapng",
    "quirk list", "fault list",
    "scenario list", "scenario show", "scenario show flicker --file", "scenario run flicker",
    "scenario run flicker --client naive", "soak --seeds 5", "doctor",
    "proxy --accessory ADDR --device unix:PLACE/proxy.sock --for 100ms", "redact PLACE/b.pcapng",
  ]
  /// Commands that print nothing if there is no Bluetooth or the local directory is empty. `LocalTests` lists
  /// accessories.
  static let silent = ["pair", "unpair bt:00:AA:01:00:00:42", "list local:PLACE#"]
  /// `plug` needs root and a kernel with USB/IP. `pipe` prints its events on stderr.
  static let untried = ["plug", "pipe"]

  @Test func everyLineIsAnObject() throws {
    let place = TemporaryFolder()
    let accessory = try Accessory("echo", on: .unix, in: place)
    for line in Self.lines + Self.silent {
      let words = line.replacing("ADDR", with: accessory.address).replacing("PLACE", with: place.path)
        .split(separator: " ").map(String.init)
      let printed = try Program.run(
        words + ["--json"], environment: ["DBUS_SYSTEM_BUS_ADDRESS": "unix:path=\(place.file("bus"))"])
      #expect(printed.out.isEmpty == Self.silent.contains(line), "easim \(line): \(printed.err)")
      for text in printed.outLines {
        let object = try? StrictJSON(reading: text)
        #expect(object?.keys.isEmpty == false, "easim \(line) --json printed: \(text)")
      }
    }
  }

  /// Commands that fail also print a result.
  @Test(arguments: [
    "burst ADDR --count 3 --fail-if p99>1ns", "check ADDR --only 101 --shard 1/8", "decode --check PLACE/spoiled",
    "demo PLACE/odd.json5 --virtual", "doctor", "profile check PLACE/odd.json", "scenario run --all --shard 1/1000",
    "scenario run flicker --client naive", "send ADDR --text a --expect text:b", "soak --seeds 5 --forbid linkUp",
  ])
  func aResultThatIsNoSuccessHasNotPassed(line: String) throws {
    let place = TemporaryFolder()
    let accessory = try Accessory("echo", on: .unix, in: place)
    place.write("{extends: \"echo\", version: 1, quirks: [\"session,refuse\"]}", to: "odd.json5")
    place.write("{version: 1}", to: "odd.json")
    // The packet has a wrong payload checksum.
    place.write([0xFF, 0x5A, 0, 11, 0x40, 1, 0, 0, 0x5B, 1, 0], to: "spoiled")
    place.makeFolder("local", mode: 0o777)
    let words = line.replacing("ADDR", with: accessory.address).replacing("PLACE", with: place.path)
      .split(separator: " ").map(String.init)
    let end = try Program.run(words + ["--json"], environment: ["EASIM_LOCAL": place.file("local")])
    #expect(end.ending == .exit(1) || end.ending == .exit(2), "\(end.out)\(end.err)")
    // The doctor prints a line for each check.
    let results = try end.outLines.map { try StrictJSON(reading: $0) }.filter { $0["passed"] != nil }
    #expect(results.contains { $0["passed"] == .truth(false) }, "\(end.out)\(end.err)")
    #expect(line == "doctor" || results.last?["passed"] == .truth(false), "\(end.out)")
  }

  @Test func noCommandAndNoVerbIsLeftOut() throws {
    var tried: Set<String> = []
    for line in Self.lines + Self.silent + Self.untried {
      let words = line.split(separator: " ")
      tried.formUnion([String(words[0]), words.prefix(2).joined(separator: " ")])
    }
    for command in try HelpTests.commands() {
      let help = try Program.run(command, "--help").outLines
      guard help.contains(where: { $0.hasPrefix("  --json ") }) else { continue }
      #expect(tried.contains(command), "easim \(command) --json is not tried")
      // "usage: easim profile list|show|check|new|import …"
      let verbs = help[0].split(separator: " ").dropFirst(3).first.map { $0.split(separator: "|") } ?? []
      for verb in verbs where verbs.count > 1 && verb.allSatisfy(\.isLowercase) {
        #expect(tried.contains("\(command) \(verb)"), "easim \(command) \(verb) --json is not tried")
      }
    }
  }
}
