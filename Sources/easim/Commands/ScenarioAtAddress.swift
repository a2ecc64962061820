import AccessoryCore
import AccessoryHost
import AccessoryTransports
import AccessoryWorlds
import Certificates

/// A scenario whose accessories are at an address: `easim scenario run NAME --at ADDR` plays the device and the app.
final class ScenarioAtAddress {
  private let scenario: Scenario
  private let pattern: String
  private let addresses: [Address]
  private let arguments: ParsedArguments
  private let console: Console
  private let transcript: TranscriptFile?
  private let stage: Stage
  private let side: ScenarioDevice
  private let faults: FaultWrapper
  private let timeout: Duration
  private var hasBenchDialer = false

  init(
    _ scenario: Scenario, client: ScenarioClient.Type, at pattern: String, _ arguments: ParsedArguments,
    _ console: Console, _ transcript: TranscriptFile?
  ) throws {
    self.scenario = scenario
    self.pattern = pattern
    self.arguments = arguments
    self.console = console
    self.transcript = transcript
    addresses = try ScenarioPlaces.addresses(pattern, for: scenario, option: "--at", arguments)
    timeout = try arguments.duration("--timeout") ?? .seconds(10)
    stage = try Stage(seed: try arguments.number("--seed", in: 0...Int.max).map { UInt64($0) })
    faults = FaultWrapper(faults: try arguments.faults(), loop: stage.loop, report: console.show)
    side = ScenarioDevice(
      scenario, client: client, authenticator: AccessoryVerifier(), on: stage.loop, report: console.show)
  }

  func play() throws -> ExitCode {
    try side.start { [unowned self] device, place in try dialer(for: device, place) }
    guard stage.run(until: { side.hasBegun }, limit: timeout) else { return giveUp() }
    let ended = stage.run(until: { side.isOver })
    let verdict = ScenarioVerdict(side.comparison, side.client)
    side.tearDown()
    stage.settle(until: { side.device.cableCount == 0 })
    guard ended else {
      console.err("easim: stopped by \(stage.signalName) before the scenario was over")
      return .checkFailed
    }
    return verdict.tell(console, at: stage.loop.now)
  }

  private func giveUp() -> ExitCode {
    side.tearDown()
    if stage.signal != nil {
      console.err("easim: stopped by \(stage.signalName) before there was an accessory")
      return .checkFailed
    }
    console.err("easim: no accessory at \(pattern) within \(timeout)" + (side.trouble.map { ": \($0)" } ?? ""))
    return .unreachable
  }

  private func dialer(for device: Device, _ place: Int) throws -> (any Dialing)? {
    guard case .bench(let path, let serial) = addresses[place] else {
      var options = TransportOptions()
      options.allowsRemote = arguments.has("--allow-remote")
      if case .usb(let selector) = addresses[place] {
        return USBDialer(selector, for: device, on: stage.loop, takesOne: true) { [unowned self] cable in
          wrap(cable, accessory: place)
        }
      }
      return Dialer(addresses[place], for: device, on: stage.loop, options: options) { [unowned self] cable in
        wrap(cable, accessory: place)
      }
    }
    // One finds every accessory on the bench, and each of their appearances.
    if hasBenchDialer { return nil }
    hasBenchDialer = true
    let serials = serial.map { [$0] } ?? scenario.accessories.map(\.profile.identity.serialNumber)
    return BenchDialer(
      BenchDirectory(path), for: device, on: stage.loop, wrap: { [unowned self] in wrap($0, accessory: nil) },
      isWanted: { serials.contains($0.serial) })
  }

  private func wrap(_ cable: Cable, accessory: Int?) -> Cable {
    let wrapped = faults.wrap(side.wrap(cable, accessory: accessory))
    return transcript.map { wrapped.transcribed(at: .device, on: stage.loop, write: $0.write) } ?? wrapped
  }
}

/// Where the accessories of a scenario are: all on one bench, or each at an address of its own.
enum ScenarioPlaces {
  /// The address of each accessory, from a pattern in which `{index}` is its number.
  static func addresses(
    _ pattern: String, for scenario: Scenario, option: String, _ arguments: ParsedArguments
  ) throws -> [Address] {
    let count = scenario.accessories.count
    let addresses = try (1...count).map { try arguments.address(pattern.replacing("{index}", with: "\($0)")) }
    if case .bench = addresses[0] { return addresses }
    try check(addresses[0], for: scenario, option: "\(option) \(pattern)", arguments)
    if count > 1, !pattern.contains("{index}") {
      throw UsageError(
        "\(option) \(pattern) is one place, and the scenario has \(count) accessories: put {index} where their number "
          + "shall stand", arguments.command)
    }
    return addresses
  }

  /// A cable of USB cannot be pulled unnoticed: its host sees the device go.
  static func check(
    _ address: Address, for scenario: Scenario, option: String, _ arguments: ParsedArguments
  ) throws {
    switch address {
    case .usb, .usbip, .gadget: break
    default: return
    }
    for case .cablePulledUnnoticed in scenario.steps.map(\.action) {
      throw UsageError(
        "\(option): in \(scenario.name) a cable is pulled and the device does not notice, and on USB it always does; "
          + "unix:PATH, tcp:HOST:PORT and bench: can play it", arguments.command)
    }
  }
}
