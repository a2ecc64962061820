import AccessoryCables
import AccessoryCore
import AccessoryFaults
import AccessoryFormats
import AccessoryProfiles
import LinuxIO

/// A proxy between an accessory at one address and a device at another.
final class ControlledProxy {
  let id: String
  let world: ControlWorld
  let accessory: Address
  let device: Address
  let taps = CableTaps()
  private(set) var faults: [Fault] = []
  private let proxy: CableProxy
  private weak var faulty: FaultChannel?

  init(
    _ id: String, accessory: Address, device: Address, _ faults: [Fault], in world: ControlWorld
  ) throws(RPCError) {
    guard let ports = world.ports, let loop = world.server.loop as? any PollingLoop else {
      throw RPCError(
        .time, "the world '\(world.id)' has virtual time, but addresses need real time",
        advice: "use a world created with time: real")
    }
    let settings = world.server.settings
    (self.id, self.world, self.accessory, self.device, self.faults) = (id, world, accessory, device, faults)
    proxy = CableProxy(on: loop) { found in
      try ports.makePort(at: device, for: Profile(appearanceOf: found))
    } report: { [unowned world] in
      world.handle($0)
    }
    do {
      if case .none = try settings.media[device].capacity { throw TransportError.hostsOnly(device) }
      let dialer = try settings.media.makeDialer(
        to: accessory, for: proxy, on: loop, options: settings.transport, wanted: .one
      ) { [unowned self] cable in
        taps.tap(disturbed(cable, on: loop), at: .device, on: loop)
      }
      try proxy.start(dialer)
    } catch { throw RPCError(.address, "\(error)") }
    world.record(taps, of: id, accessory.description)
  }

  private func disturbed(_ cable: Cable, on loop: any EventLoop) -> Cable {
    cable.faulty(
      faults, mayChange: true, random: { SeededRandom(seed: loop.random.next()) }, on: loop,
      made: { [weak self] in self?.faulty = $0 },
      report: { [weak world] in
        world?.handle(.init(time: loop.now, side: .cable, kind: .fault($0.description)))
      }, struck: { [taps] in taps.struck($0, at: .device) })
  }

  /// Replaces the faults on the current cable and on later ones.
  func change(to faults: [Fault]) {
    self.faults = faults
    faulty?.change(to: faults, random: SeededRandom(seed: world.loop.random.next()))
  }

  func remove() {
    proxy.stop()
    world.server.proxies.remove(id)
    // The proxy is retained until its channels have ended.
    world.loop.schedule(after: .seconds(5)) { [proxy] in withExtendedLifetime(proxy) {} }
  }

  var state: ProxyState {
    let counts = proxy.counts
    return ProxyState(
      proxy: id, world: world.id, device: device.description, accessory: accessory.description,
      hasAccessory: proxy.hasAccessory, hasDevice: proxy.hasDevice, attachments: counts.attachments,
      fromAccessory: counts.fromAccessory, fromDevice: counts.fromDevice, faults: faults.map(\.description),
      trouble: proxy.failure ?? proxy.trouble?.description)
  }
}

struct ProxyState: Equatable, Sendable {
  var proxy = ""
  var world = ""
  var device = ""
  var accessory = ""
  var hasAccessory = false
  var hasDevice = false
  var attachments = 0
  var fromAccessory = 0
  var fromDevice = 0
  var faults: [String] = []
  var trouble: String?

  static let format = Record("proxy state", "a proxy between a device and an accessory", ProxyState()) {
    Field("proxy", \.proxy, .text, "its id", isRequired: true)
    Field("world", \.world, .text, "the id of its world", isRequired: true)
    Field("device", \.device, .text, "where the device connects", isRequired: true)
    Field("accessory", \.accessory, .text, "where the accessory is", isRequired: true)
    Field("hasAccessory", \.hasAccessory, .boolean, "whether there is a cable to the accessory", isRequired: true)
    Field("hasDevice", \.hasDevice, .boolean, "whether a device is connected to it", isRequired: true)
    Field(
      "attachments", \.attachments, .integer(0...Int.max), "how many times a device has connected to the accessory",
      isRequired: true)
    Field(
      "fromAccessory", \.fromAccessory, .integer(0...Int.max), "number of bytes that the accessory sent",
      isRequired: true)
    Field(
      "fromDevice", \.fromDevice, .integer(0...Int.max), "number of bytes that the device sent", isRequired: true)
    Field("faults", \.faults, .list(of: .text), "the faults, in the notation of --fault", isRequired: true)
    Field("trouble", \.trouble, .optional(.text), "why no accessory or no device can be connected")
  }
}
