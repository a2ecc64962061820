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
        .time, "the world '\(world.id)' has virtual time, but addresses need real time",
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

  var state: HostState {
    HostState(
      host: id, world: world.id, address: address.description, lines: dialer.openLines,
      trouble: dialer.trouble?.description)
  }
}

/// Plugs the cables of one address into a device, and keeps track of them until they end.
private final class HostCables: CableOwner {
  private let device: Device
  private var cables: [Int: PluggedCable] = [:]
  private var count = 0

  init(of device: Device) { self.device = device }

  func take(_ cable: Cable, of accessory: FoundAccessory, ended: @escaping (CableOutcome) -> Void) {
    count += 1
    let number = count
    var isOver = false
    let plugged = device.plugIn(cable, of: accessory) { [weak self] outcome in
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

struct HostState: Equatable, Sendable {
  var host = ""
  var world = ""
  var address = ""
  var lines = 0
  var trouble: String?

  static let format = Record("host state", "an address to which a device connects", HostState()) {
    Field("host", \.host, .text, "the host's id", isRequired: true)
    Field("world", \.world, .text, "the id of the host's world", isRequired: true)
    Field("address", \.address, .text, "the address to which the device connects", isRequired: true)
    Field(
      "lines", \.lines, .integer(0...Int.max), "number of accessories at this address that are connected or connecting",
      isRequired: true)
    Field("trouble", \.trouble, .optional(.text), "why the last attempt found no accessory")
  }
}
