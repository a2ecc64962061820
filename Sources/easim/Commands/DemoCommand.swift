import AccessoryCore
import AccessoryProfiles
import AccessorySessions
import AccessorySoak
import AccessoryWorlds
import Glibc
import LinuxIO

extension CommandSpec {
  static let demo = CommandSpec(
    name: "demo", summary: "run a demonstration: an accessory, the flicker, a session, 10,000 bytes echoed",
    details: """
      Run a simulated accessory and an Apple device in one process. PROFILE (default: lawk-view) flickers as real accessories
      do: it connects with no protocols, disconnects, and connects again with its protocols. An app that waits for its
      protocol opens a session, sends a string and 10,000 bytes, and verifies both echoes. Then the accessory is unplugged.

      With --page, the demonstration repeats until Ctrl-C, and the printed address shows it in a browser.
      """,
    examples: ["easim demo", "easim demo --virtual --seed 7 --transcript -"], run: runDemo)
}

private struct DemoOptions: CommandOptions {
  var profile = "lawk-view"
  var isVirtual = false
  var showsPage = false
  var quirk: Quirk?
  var shared = SharedOptions()

  static let operands: [Operand<Self>] = [Operand(optional: "PROFILE", \.profile, .text)]
  static let options: [Option<Self>] = [
    .json,
    Option("--virtual", \.isVirtual, "run in virtual time: immediate and repeatable"),
    Option("--page", \.showsPage, "repeat the demonstration, and print the address of a live page"),
    Option("--quirk", \.quirk, as: "Q", "use another flicker, such as flicker,cycles=3,empty=50ms") {
      $0 = try Quirk.format.read(option: $1)
    },
    .allowExec, .seed, .transcript, .transcriptBytes, .capture, .trace, .traceLimit,
  ]
  static let rules: [OptionRule] = [
    .exclusive(["--page", "--virtual"]), .exclusive(["--page", "--transcript"]), .exclusive(["--page", "--capture"]),
    .exclusive(["--page", "--json"]), .exclusive(["--page", "--trace"]),
  ]
}

private func runDemo(_ options: DemoOptions, _ console: Console) throws -> ExitCode {
  var profile = try Profiles.library.profile(options.profile)
  if let quirk = options.quirk { profile.apply(quirk) }
  let seed = options.shared.seed
  if options.showsPage {
    return try CommandRuntime(console, seed: seed).serveDemo(options.profile, profile, options.shared, console)
  }
  var settings = try World.Settings(options.shared, isVirtual: options.isVirtual, console)
  settings.authentication = options.isVirtual ? .stub : .real
  if let flicker = profile.quirks.flicker, flicker.maker == .device { settings.deviceFlicker = flicker }
  if options.isVirtual {
    let loop = VirtualLoop(seed: seed ?? 1)
    let demonstration = try Demonstration(profile, settings: settings, on: loop)
    demonstration.start()
    _ = try loop.runUntilQuiet()
    return demonstration.passed == true ? .done : .checkFailed
  }
  var profiles = [profile]
  try Programs.admit(&profiles, options.shared, console)
  profile = profiles[0]
  let runtime = try CommandRuntime(console, seed: seed)
  let demonstration = try Demonstration(profile, settings: settings, on: runtime.loop)
  demonstration.start()
  if runtime.run(until: { demonstration.passed != nil }, limit: .seconds(60)) {
    return demonstration.passed == true ? .done : .checkFailed
  }
  if let code = runtime.stopped(console, " before the demonstration ended") { return code }
  return console.end(.timedOut, "the demonstration did not end within a minute")
}
