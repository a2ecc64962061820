import AccessoryControl
import AccessoryCore
import Glibc

extension CommandSpec {
  /// `easim serve`.
  static let serve = CommandSpec(
    name: "serve", summary: "let programs in any language control accessories and apps",
    details: """
      Serve the control protocol: JSON-RPC 2.0, one object per line. Programs add accessories, plug them in, unplug them in
      the middle of a burst, launch apps, and read and write sessions at both ends. docs/control.md has every method.

      With --stdio, requests come on standard input, and answers and events go to standard output. The server ends with its
      input.
      """,
    examples: ["easim serve --stdio"],
    run: runServe)
}

private struct ServeOptions: CommandOptions {
  var isStandard = false
  var shared = SharedOptions()

  static let options: [Option<Self>] = [
    Option("--stdio", \.isStandard, "serve one client on standard input and output"),
    .allowExec, .allowRemote, .anyUser, .seed,
  ]
}

private func runServe(_ options: ServeOptions, _ console: Console) throws -> ExitCode {
  guard options.isStandard else { throw UsageError("--stdio is missing") }
  let stage = try Stage(console, seed: options.shared.seed)
  let server = ControlServer(ControlServer.Settings(options.shared), on: stage.loop)
  let door = try DescriptorDoor(
    input: STDIN_FILENO, output: STDOUT_FILENO, closes: false, for: server.makeClient(), on: stage.loop)
  _ = stage.run(until: { door.isOver })
  door.close("easim is exiting")
  server.stop()
  stage.settle(until: { server.isQuiet })
  return .done
}

extension ControlServer.Settings {
  init(_ shared: SharedOptions) {
    self.init()
    version = Version.current
    allowsExec = shared.allowsExec
    transport.allowsRemote = shared.allowsRemote
    transport.allowsOtherUsers = shared.takesAnyUser
    self.media = easim.media
    profiles = Profiles.library
    coprocessor = { Profiles.coprocessor(for: $0) }
    seed = shared.seed ?? .random(in: 1...UInt64(Int.max))
  }
}
