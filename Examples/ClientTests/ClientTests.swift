import ExternalAccessory
import ExternalAccessorySimulation
import Foundation
import Testing

/// Tests clients like those found in the field, in worlds and against another process.
@Suite struct ClientTests {
  /// What each client has received at the end, from an accessory that echoes everything.
  static let replies = [
    "streams": "streams alone", "actor": "from an actor", "poll": "polled", "thread": "on a thread",
    "lines": "one,two,three", "queue": "100000", "ids": "still here", "any": "still here",
  ]
  private static let echo = "com.example.echo"

  @Test(arguments: Mode.all, replies.keys.sorted())
  func worksInAWorldWithAFlicker(mode: Mode, client name: String) async throws {
    try await withSimulatedWorld { world in
      let client = try #require(mode.start(name, Self.echo))
      try world.add("echo", quirks: ["flicker"]).plugIn()
      await world.expect { client.reply() == Self.replies[name] }
      client.stop()
      await world.settle()
      #expect(world.misuses == [])
    }
  }

  /// Another accessory disconnects, which must not end the session with this one.
  @Test(arguments: Mode.all, [("ids", true), ("any", false)])
  func onlyAClientThatComparesConnectionIDsKeepsItsSession(mode: Mode, client: (name: String, keeps: Bool)) async throws
  {
    try await withSimulatedWorld { world in
      let running = try #require(mode.start(client.name, Self.echo))
      let other = try world.add("multi")
      other.plugIn()
      let echo = try world.add("echo")
      echo.takeSessions()
      echo.plugIn()
      await world.expect { echo.sessions.first?.received.isEmpty == false }
      other.unplug()
      await world.settle()
      #expect(echo.sessions.first?.isOpen == client.keeps)
      running.stop()
    }
  }

  /// The program that Scripts/outside builds; if it is missing, tests against another process do not run.
  private static let easim = ProcessInfo.processInfo.environment["EASIM"]

  @Test(.enabled(if: easim != nil, "set EASIM to the path of easim"), arguments: Mode.all)
  func worksAgainstAnotherProcessWithAFlicker(mode: Mode) throws {
    let easim = try #require(Self.easim)
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("clients-\(mode.name)-\(getpid())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    for (name, reply) in Self.replies.sorted(by: { $0.key < $1.key }) {
      // Each client gets a new accessory, so that each of them sees the flicker.
      let accessory = try start(easim, ["run", "echo", "--quirk", "flicker"], folder)
      defer {
        accessory.terminate()
        accessory.waitUntilExit()
      }
      let client = try start(Self.program("Clients\(mode.name)"), [name, Self.echo, reply], folder)
      client.waitUntilExit()
      #expect(client.terminationStatus == 0, "\(mode.name) \(name)")
    }
  }

  private static func program(_ name: String) -> String {
    URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().appendingPathComponent(name).path
  }

  private func start(_ path: String, _ arguments: [String], _ local: URL) throws -> Process {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: path)
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging(["EASIM_LOCAL": local.path]) { $1 }
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    return process
  }
}
