import AccessoryCables
import AccessoryCore
import AccessoryHost
import AccessorySessions
import AccessorySoak
import AccessoryWorlds

/// Runs a scenario whose accessories are at an address: `easim scenario run NAME --at ADDR` simulates the device and
/// the app.
final class ScenarioAtAddress {
  private let scenario: Scenario
  private let pattern: String
  private let addresses: [Address]
  private let console: Console
  private let runtime: CommandRuntime
  private let side: ScenarioDevice
  private let options: CableOptions
  private let timeout: Duration
  private var hasDialerForAll = false

  init(
    _ scenario: Scenario, client: ScenarioClient.Type, at pattern: String, _ shared: SharedOptions,
    _ console: Console
  ) throws {
    self.scenario = scenario
    self.pattern = pattern
    self.console = console
    addresses = try ScenarioAddresses.addresses(pattern, for: scenario, option: "--at")
    timeout = shared.timeout
    runtime = try CommandRuntime(console, seed: shared.seed)
    options = CableOptions(shared, on: runtime.loop, report: console.show)
    side = ScenarioDevice(scenario, client: client, on: runtime.loop, report: console.show)
  }

  func play() throws -> ExitCode {
    do {
      try side.start { [unowned self] device, place in try dialer(for: device, place) }
      try options.openFiles(console)
    } catch {
      side.tearDown()
      throw error
    }
    guard runtime.run(until: { side.hasBegun }, limit: timeout) else { return giveUp() }
    let ended = runtime.run(until: { side.isOver })
    let verdict = ScenarioVerdict(side.comparison, side.client)
    side.tearDown()
    runtime.settle(until: { side.device.cableCount == 0 && options.isQuiet })
    if !ended, let code = runtime.stopped(console, " before the scenario ended") { return code }
    return verdict.printResult(console, at: runtime.loop.now)
  }

  private func giveUp() -> ExitCode {
    side.tearDown()
    if let code = runtime.stopped(console, " before there was an accessory") { return code }
    console.err("easim: \(addresses[0].explanation(of: side.trouble, within: timeout))")
    return .unreachable
  }

  private func dialer(for device: Device, _ place: Int) throws -> Dialer? {
    let address = addresses[place]
    guard try media[address].knowsSerialNumbers else {
      return try media.makeDialer(
        to: address, for: device, on: runtime.loop, options: options.transport, wanted: .one
      ) { [unowned self] in wrap($0, accessory: place) }
    }
    // The dialer for the first accessory also finds all the others.
    if hasDialerForAll { return nil }
    hasDialerForAll = true
    let serials = scenario.accessories.map(\.profile.identity.serialNumber)
    return try media.makeDialer(
      to: address, for: device, on: runtime.loop, options: options.transport,
      wanted: .every { address.namesOneAccessory || serials.contains($0.identity) }
    ) { [unowned self] in wrap($0, accessory: nil) }
  }

  private func wrap(_ cable: Cable, accessory: Int?) -> Cable {
    options.wrap(
      side.wrap(cable, accessory: accessory), at: .device, place: addresses[accessory ?? 0].description,
      accessory: accessory.map { scenario.accessories[$0].profile.identity.name } ?? "")
  }
}

/// The addresses of a scenario's accessories. The accessories either share a local directory, or each have their own
/// address.
enum ScenarioAddresses {
  /// Returns an address for each accessory, made from the pattern by replacing `{index}` with the accessory's number.
  static func addresses(
    _ pattern: String, for scenario: Scenario, option: String
  ) throws -> [Address] {
    let count = scenario.accessories.count
    let addresses = try (1...count).map { try Address(typed: pattern.replacing("{index}", with: "\($0)")) }
    if try media[addresses[0]].knowsSerialNumbers { return addresses }
    try check(addresses[0], for: scenario, option: "\(option) \(pattern)")
    if count > 1, !pattern.contains("{index}") {
      throw UsageError(
        "\(option) \(pattern) is one address, but the scenario has \(count) accessories: put {index} into the address, "
          + "where the accessory's number replaces it")
    }
    return addresses
  }

  /// Rejects scenarios that unplug a USB cable without notifying the device, because a USB host always notices.
  static func check(
    _ address: Address, for scenario: Scenario, option: String
  ) throws {
    guard try media[address].noticesPulledCables else { return }
    for case .pull(_, unnoticed: true) in scenario.steps.map(\.action) {
      throw UsageError(
        "\(option) cannot play \(scenario.name): a cable is pulled without the device noticing, but on USB the device "
          + "always notices; use unix:PATH, tcp:HOST:PORT or local:")
    }
  }
}
