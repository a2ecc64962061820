import AccessoryCore
import AccessoryFormats

extension ControlMethods {
  static let hosts: [ControlMethod] = [
    ControlMethod(
      "host.add",
      "Make a world's device connect to the accessories at an address: local, a socket, USB or Bluetooth. If an "
        + "accessory flickers or comes back, the device reconnects to it.",
      .init("adding a host", Argument(text: "address", "the address, as in easim commands"), .world), .new("host"),
      errors: [.unknown, .gone, .limit, .time, .address],
      example: "{\"address\":\"unix:/tmp/glasses.sock\"}", exampleResult: "{\"host\":\"h1\"}"
    ) { call, text, world in
      let world = try call.server.world(world)
      let address: Address
      do { address = try Address(parsing: text) } catch { throw RPCError(.params, "address: \(error)") }
      let id = try call.server.hosts.issue()
      call.server.hosts.put(try ControlledHost(id, address, in: world), named: id)
      return id
    },
    ControlMethod(
      "host.list", "List the addresses that devices connect to.", .world,
      .list("hosts", ControlledHost.answer, "the hosts, in the order in which they were added"),
      effect: .reads, errors: [.unknown, .gone]
    ) { call, params in
      let world = try params.map { try call.server.world($0) }
      return call.server.hosts.all.filter { world == nil || $0.world === world }
    },
    ControlMethod(
      "host.remove", "Stop connecting to an address, and unplug the accessories that are connected there.",
      .id(of: "host"), .nothing, errors: [.unknown, .gone], example: "{\"host\":\"h1\"}", exampleResult: "{}"
    ) { call, id in
      try call.server.hosts.find(id).remove()
    },
  ]
}
