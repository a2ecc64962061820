import AccessoryCables
import AccessoryCore
import AccessoryFormats
import AccessoryHost

/// An address to which a world's device connects.
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
    Key("lines", .integer(0...Int.max), "number of accessories at this address that are connected or connecting") {
      $0.dialer?.openLines ?? 0
    }
    Key(optional: "trouble", .text, "why the last attempt found no accessory") { $0.dialer?.trouble?.description }
  }
}
