import AccessoryCables
import AccessoryCore

/// An address whose accessories the device of a world connects to.
final class ControlledHost {
  let id: String
  let world: ControlWorld
  let address: Address
  private let dialer: Dialer

  init(_ id: String, _ address: Address, in world: ControlWorld) throws(RPCError) {
    guard world.virtual == nil, let loop = world.server.loop as? any PollingLoop else {
      throw RPCError(
        .time, "the world '\(world.id)' has virtual time, and addresses need real time",
        advice: "use a world that was made with time: real")
    }
    (self.id, self.world, self.address) = (id, world, address)
    do {
      dialer = try world.server.settings.media.makeDialer(
        to: address, for: world.world.device, on: loop, options: world.server.settings.transport)
      try dialer.start()
    } catch { throw RPCError(.address, "\(error)") }
  }

  func remove() {
    dialer.stop()
    world.server.hosts.remove(id)
  }

  var state: HostState {
    HostState(
      host: id, world: world.id, address: address.description, lines: dialer.openLines,
      trouble: dialer.trouble?.description)
  }
}

/// An address as `host.list` shows it.
struct HostState: Equatable, Sendable {
  var host = ""
  var world = ""
  var address = ""
  var lines = 0
  var trouble: String?

  static let format = Record("host state", "an address that a device connects to", HostState()) {
    Field("host", \.host, .text, "its id", isRequired: true)
    Field("world", \.world, .text, "the id of its world", isRequired: true)
    Field("address", \.address, .text, "the address", isRequired: true)
    Field(
      "lines", \.lines, .integer(0...Int.max), "accessories there that are connected, or being connected to",
      isRequired: true)
    Field("trouble", \.trouble, .optional(.text), "why the last attempt brought no accessory")
  }
}
