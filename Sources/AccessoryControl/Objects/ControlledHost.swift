import AccessoryCables
import AccessoryCore
import AccessoryFaults
import AccessoryFormats
import AccessoryHost
import AccessoryProfiles
import LinuxIO

final class ControlledHost: CableOwner {
  let id: String
  let world: ControlWorld
  let address: Address
  let taps = CableTaps()
  private var dialer: Dialer?
  private var cables: [Int: PluggedCable] = [:]
  private var count = 0

  init(_ id: String, _ address: Address, in world: ControlWorld) throws(RPCError) {
    (self.id, self.world, self.address) = (id, world, address)
    let loop = try world.realLoop()
    do {
      let dialer = try world.server.settings.media.makeDialer(
        to: address, for: self, on: loop, options: world.server.settings.transport
      ) { [taps] in taps.tap($0, at: .device, on: loop) }
      self.dialer = dialer
      try dialer.start()
    } catch {
      dialer = nil
      throw RPCError(.address, "\(error)")
    }
    world.record(taps, of: id, address.description)
  }

  func remove() {
    dialer?.stop()
    // Breaks a retain cycle: the dialer retains the owner of its cables.
    dialer = nil
    for (_, cable) in cables.sorted(by: { $0.key < $1.key }) { cable.unplug("the address was removed") }
    world.server.hosts.remove(id)
  }

  // MARK: CableOwner

  func take(_ cable: Cable, of accessory: FoundAccessory, ended: @escaping (CableOutcome) -> Void) {
    count += 1
    let number = count
    var isOver = false
    let plugged = world.world.device.plugIn(
      cable, at: accessory.address.description, key: accessory.identity
    ) { [weak self] outcome in
      isOver = true
      self?.cables[number] = nil
      ended(outcome)
    }
    if !isOver { cables[number] = plugged }
  }

  func handle(_ report: DialerReport) { world.world.device.handle(report) }

  static let answer = Answer<ControlledHost>("host state", "an address to which a device connects") {
    Key("host", .text, "the host's id") { $0.id }
    Key("world", .text, "the id of the host's world") { $0.world.id }
    Key("address", .text, "the address to which the device connects") { $0.address.description }
    Key("lines", .natural, "number of accessories at this address that are connected or connecting") {
      $0.dialer?.openLines ?? 0
    }
    Key(optional: "trouble", .text, "why the last attempt found no accessory") { $0.dialer?.trouble?.description }
  }
}

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
    let loop = try world.realLoop()
    let ports = world.ports(on: loop)
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

  /// Replaces the faults on the current cable and on all later cables.
  func change(to faults: [Fault]) {
    self.faults = faults
    faulty?.change(to: faults, random: SeededRandom(seed: world.loop.random.next()))
  }

  func remove() {
    proxy.stop()
    world.server.proxies.remove(id)
    // Keeps the proxy alive until its channels have ended.
    world.loop.schedule(after: .seconds(5)) { [proxy] in withExtendedLifetime(proxy) {} }
  }

  static let answer = Answer<ControlledProxy>("proxy state", "a proxy between a device and an accessory") {
    Key("proxy", .text, "its id") { $0.id }
    Key("world", .text, "the id of the proxy's world") { $0.world.id }
    Key("device", .text, "where the device connects") { $0.device.description }
    Key("accessory", .text, "where the accessory is") { $0.accessory.description }
    Key("hasAccessory", .boolean, "whether the proxy is connected to the accessory") { $0.proxy.hasAccessory }
    Key("hasDevice", .boolean, "whether a device is connected to the accessory") { $0.proxy.hasDevice }
    Key("attachments", .natural, "how many times a device has connected to the accessory") {
      $0.proxy.counts.attachments
    }
    Key("fromAccessory", .natural, "number of bytes that the accessory sent") { $0.proxy.counts.fromAccessory }
    Key("fromDevice", .natural, "number of bytes that the device sent") { $0.proxy.counts.fromDevice }
    Key("faults", .list(of: .text), "the faults, in the notation of --fault") { $0.faults.map(\.description) }
    Key(optional: "trouble", .text, "why an accessory or a device cannot connect") {
      $0.proxy.failure ?? $0.proxy.trouble?.description
    }
  }
}
