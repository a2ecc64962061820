import AccessoryCables
import AccessoryCore
import AccessoryFormats
import AccessoryHost

final class ControlledHost {
  let id: String
  let world: ControlWorld
  let address: Address
  let taps = CableTaps()
  private let cables: HostCables
  private let dialer: Dialer

  init(_ id: String, _ address: Address, in world: ControlWorld) throws(RPCError) {
    guard world.virtual == nil, let loop = world.server.loop as? any PollingLoop else {
      throw RPCError(
        .time, "the world '\(world.id)' runs in virtual time, but addresses need real time",
        advice: "use a world created with time: real")
    }
    (self.id, self.world, self.address) = (id, world, address)
    cables = HostCables(of: world.world.device)
    do {
      dialer = try world.server.settings.media.makeDialer(
        to: address, for: cables, on: loop, options: world.server.settings.transport
      ) { [taps] in taps.tap($0, at: .device, on: loop) }
      try dialer.start()
    } catch { throw RPCError(.address, "\(error)") }
    world.record(taps, of: id, address.description)
  }

  func remove() {
    dialer.stop()
    cables.unplug("the address was removed")
    world.server.hosts.remove(id)
  }
}

/// Plugs the cables at an address into a device, and tracks the cables until they are unplugged.
private final class HostCables: CableOwner {
  private let device: Device
  private var cables: [Int: PluggedCable] = [:]
  private var count = 0

  init(of device: Device) { self.device = device }

  func take(_ cable: Cable, of accessory: FoundAccessory, ended: @escaping (CableOutcome) -> Void) {
    count += 1
    let number = count
    var isOver = false
    let plugged = device.plugIn(cable, at: accessory.address.description, key: accessory.identity) {
      [weak self] outcome in
      isOver = true
      self?.cables[number] = nil
      ended(outcome)
    }
    if !isOver { cables[number] = plugged }
  }

  func handle(_ report: DialerReport) { device.handle(report) }

  func unplug(_ reason: String) {
    for (_, cable) in cables.sorted(by: { $0.key < $1.key }) { cable.unplug(reason) }
  }
}

extension ControlledHost {
  static let answer = Answer<ControlledHost>("host state", "an address to which a device connects") {
    Key("host", .text, "the host's id") { $0.id }
    Key("world", .text, "the id of the host's world") { $0.world.id }
    Key("address", .text, "the address to which the device connects") { $0.address.description }
    Key("lines", .integer(0...Int.max), "number of accessories at this address that are connected or connecting") {
      $0.dialer.openLines
    }
    Key(optional: "trouble", .text, "why the last attempt found no accessory") { $0.dialer.trouble?.description }
  }
}
