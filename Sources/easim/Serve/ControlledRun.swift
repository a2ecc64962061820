import AccessoryCables
import AccessoryControl
import AccessoryCore
import AccessoryProfiles
import AccessorySessions
import IAP2

/// The accessories of `easim run --control`, which other programs can control during the run.
struct ControlledRun {
  private let profiles: [Profile]
  private let runtime: CommandRuntime
  private let shared: SharedOptions
  private let console: Console
  private let server: ControlServer
  private let socket: ControlPort

  init(
    _ profiles: [Profile], path: String, _ runtime: CommandRuntime, _ shared: SharedOptions, _ console: Console
  ) throws {
    (self.profiles, self.runtime, self.shared, self.console) = (profiles, runtime, shared, console)
    var settings = ControlServer.Settings(shared, on: runtime.loop)
    settings.tellsMessages = true
    settings.report = console.show
    server = ControlServer(settings, on: runtime.loop)
    socket = try ControlPort(server, path: path, settings.transport, on: runtime.loop) { console.err("easim: \($0)") }
  }

  func run(
    at places: RunPorts, handshakeTimeout: Duration, limit: Duration?, interByteTimeout: Milliseconds?
  ) throws -> ExitCode {
    let door = CaptureDoor.of(server, on: runtime.loop, console)
    defer {
      door?.close()
      socket.close()
    }
    let ports = try places.ports(for: profiles)
    let lineRate = shared.faults.lineRate
    for (profile, port) in zip(profiles, ports) {
      _ = try server.run(
        profile, at: port, handshakeTimeouts: HandshakeTimeouts(each: handshakeTimeout),
        link: {
          $0.lineRate = lineRate
          $0.interByteTimeout = interByteTimeout
        })
    }
    let terminal = try RunTerminal(
      places.options, shared, console, on: runtime.loop, perform: server.performOnAll)
    _ = runtime.run(until: { terminal?.isOver == true }, limit: limit)
    terminal?.close()
    server.stop()
    runtime.settle(until: { server.isQuiet })
    console.err("easim: unplugged")
    return .done
  }
}
