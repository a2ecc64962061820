import AccessoryCore
import AccessoryProfiles
import AccessorySessions
import AccessoryTransports
import AccessoryWorlds
import Glibc

extension CommandSpec {
  /// `easim demo`.
  static let demo = CommandSpec(
    name: "demo", summary: "run a demonstration: an accessory, the flicker, a session, 10,000 bytes echoed",
    arguments: "[PROFILE]", argumentCount: 0...1,
    details: """
      Run an accessory and an Apple device in one process. PROFILE (default: lawk-view) is plugged in and flickers as real
      accessories do: connect with no protocols, disconnect, connect with its protocols. An app that waits for its protocol
      opens a session, sends a string and 10,000 bytes, and verifies both echoes. Then the accessory is unplugged.
      """,
    options: [
      .json,
      OptionSpec(name: "--virtual", summary: "run in virtual time: finishes at once, and is repeatable"),
      OptionSpec(name: "--quirk", value: "Q", summary: "use another flicker, such as flicker,cycles=3,empty=50ms"),
      .seed, .transcript,
    ],
    examples: ["easim demo", "easim demo --virtual --seed 7 --transcript -"], run: runDemo)
}

private func runDemo(_ arguments: ParsedArguments, _ console: Console) throws -> ExitCode {
  console.isJSON = arguments.has("--json")
  var profile = try Profiles.library.profile(arguments.words.first ?? "lawk-view")
  if let text = arguments.value("--quirk") { profile.apply(try Quirk(text)) }
  let seed = try arguments.number("--seed", in: 0...Int.max).map { UInt64($0) }
  let transcript = try TranscriptFile.asked(for: arguments, console)
  var settings = World.Settings()
  settings.authentication = .real
  settings.report = console.show
  settings.keepsTranscript = transcript != nil
  settings.reportLine = { transcript?.write($0) }
  settings.transcriptGate = transcript?.gate
  if let flicker = Flicker(profile.quirk(QuirkDefinition.flicker.name)), flicker.maker == .device {
    settings.deviceFlicker = flicker
  }
  if arguments.has("--virtual") {
    settings.authentication = .stub
    let loop = VirtualLoop(seed: seed ?? 1)
    let demonstration = try Demonstration(profile, settings: settings, on: loop)
    demonstration.start()
    _ = try loop.runUntilQuiet()
    return demonstration.passed == true ? .done : .checkFailed
  }
  let stage = try Stage(console, seed: seed)
  let demonstration = try Demonstration(profile, settings: settings, on: stage.loop)
  demonstration.start()
  if stage.run(until: { demonstration.passed != nil }, limit: .seconds(60)) {
    return demonstration.passed == true ? .done : .checkFailed
  }
  guard stage.signal == nil else {
    console.err("easim: stopped by \(stage.signalName) before the demonstration ended")
    return .checkFailed
  }
  console.err("easim: the demonstration did not end within a minute")
  return .timedOut
}
