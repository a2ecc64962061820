import AccessoryCables
import AccessoryCheck
import AccessoryCore
import AccessoryProfiles
import AccessorySessions
import AccessorySimulator
import Certificates
import IAP2
import LinuxIO
import Testing

/// A simulated accessory and a checker that connects to it over in-memory cables, all in virtual time.
final class CheckRig: AccessoryPlug {
  let place = "memory"
  let loop: VirtualLoop
  private let port: MemoryPort
  private let accessory: SimulatedAccessory
  var settings: CheckSettings
  var attachmentsLeft = Int.max

  init(
    _ profileName: String = "echo", quirks: [String] = [], sends mutant: Mutant? = nil,
    describe: (inout Profile) -> Void = { _ in }, link: @escaping (inout LinkSettings) -> Void = { _ in },
    echo: CheckSettings.Echo = .yes, keepsTransfersApart: Bool = false, seed: UInt64 = 7
  ) throws {
    loop = VirtualLoop(seed: seed)
    var profile = try ProfileLibrary().profile(profileName)
    for quirk in quirks { profile.apply(try Quirk(quirk)) }
    describe(&profile)
    port = MemoryPort(on: loop, mutant, keepsTransfersApart)
    accessory = SimulatedAccessory(
      profile, at: port,
      authenticator: SimulatedCoprocessor(
        seed: seed, generation: profile.authentication.generation == .current ? .current : .older), on: loop, link: link
    ) { _ in }
    settings = CheckSettings(verifier: AccessoryVerifier())
    settings.echo = echo
    try accessory.plugIn()
  }

  @discardableResult
  func run(_ cases: [CheckCase] = CheckCase.all) throws -> CheckReport {
    try Checker(self, CheckPump(loop), settings).run(cases)
  }

  func plugIn(_ pump: CheckPump, within limit: Duration) throws -> OpenedCable {
    let deadline = loop.now + limit
    while true {
      if attachmentsLeft > 0, let opened = port.connect() {
        attachmentsLeft -= 1
        return opened
      }
      guard loop.now < deadline else { throw AccessoryAbsent("no accessory in memory") }
      try loop.advance(by: .milliseconds(10))
    }
  }
}

final class MemoryPort: Port {
  let place = "memory"
  private let loop: VirtualLoop
  private let mutant: Mutant?
  private let keepsTransfersApart: Bool
  private var onEvent: ((PortEvent) -> Void)?

  init(on loop: VirtualLoop, _ mutant: Mutant?, _ keepsTransfersApart: Bool) {
    (self.loop, self.mutant, self.keepsTransfersApart) = (loop, mutant, keepsTransfersApart)
  }

  func open(_ onEvent: @escaping (PortEvent) -> Void) { self.onEvent = onEvent }
  func close() { onEvent = nil }

  func connect() -> OpenedCable? {
    guard let onEvent else { return nil }
    let pair = LoopbackChannel.makePair(on: loop, latency: .microseconds(200), keepsTransfersApart: keepsTransfersApart)
    let accessory: any Channel = mutant.map { MutantChannel(pair.left, $0) } ?? pair.left
    onEvent(.cable(Cable(main: accessory), from: "the checker"))
    return OpenedCable(Cable(main: pair.right))
  }
}

extension CheckReport {
  var numbers: [Int] { failures.map(\.rule.number) }
}
