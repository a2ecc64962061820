import AccessoryCore
import AccessoryFaults
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

  static let proxies: [ControlMethod] = [
    ControlMethod(
      "proxy.add",
      "Relay bytes unchanged between a device and an accessory at two addresses, as `easim proxy` does. The world's "
        + "packets, captures and traces include the relayed bytes.",
      .init(
        "adding a proxy",
        Argument(text: "device", "where the device connects: any address that `easim run --on` accepts"),
        Argument(text: "accessory", "where the accessory is: any address that hosts connect to"),
        Argument(
          "faults", .list(of: .text), "faults on the cable, or names of link presets, in the notation of --fault",
          from: []),
        Argument(
          "world", .text, "the id of the world whose packets and captures include the relayed bytes", from: "main")),
      .new("proxy"), errors: [.unknown, .gone, .limit, .time, .address],
      example: "{\"device\":\"unix:/tmp/proxy.sock\",\"accessory\":\"unix:/tmp/glasses.sock\"}",
      exampleResult: "{\"proxy\":\"x1\"}"
    ) { call, device, accessory, faults, world in
      let world = try call.server.world(world)
      let id = try call.server.proxies.issue()
      let proxy = try ControlledProxy(
        id, accessory: address(accessory, "accessory"), device: address(device, "device"), parsed(faults), in: world)
      call.server.proxies.put(proxy, named: id)
      return id
    },
    ControlMethod(
      "proxy.list", "List the proxies and how many bytes they have relayed.", .world,
      .list("proxies", ControlledProxy.answer, "the proxies, in the order in which they were added"),
      effect: .reads, errors: [.unknown, .gone]
    ) { call, params in
      let world = try params.map { try call.server.world($0) }
      return call.server.proxies.all.filter { world == nil || $0.world === world }
    },
    ControlMethod(
      "proxy.fault",
      "Replace all faults of a proxy, on the current connection and later ones. `in` means bytes that the accessory "
        + "sends, `out` bytes that the device sends.",
      .init(
        "faults of a proxy", .id(of: "proxy"),
        Argument(
          "faults", .list(of: .text),
          "the complete list of faults, in the notation of --fault; it replaces the earlier list", from: [],
          isRequired: true)),
      ControlledProxy.answer, errors: [.unknown, .gone],
      example: "{\"proxy\":\"x1\",\"faults\":[\"loss,chance=2%,direction=in\"]}",
      exampleResult:
        "{\"proxy\":\"x1\",\"world\":\"main\",\"device\":\"unix:/tmp/proxy.sock\",\"accessory\":\"unix:/tmp/glasses.sock\","
        + "\"hasAccessory\":false,\"hasDevice\":false,\"attachments\":0,\"fromAccessory\":0,\"fromDevice\":0,"
        + "\"faults\":[\"loss,chance=2%,direction=in\"]}"
    ) { call, proxy, faults in
      let proxy = try call.server.proxies.find(proxy)
      proxy.change(to: try parsed(faults))
      return proxy
    },
    ControlMethod(
      "proxy.remove", "Disconnect the device and the accessory, and remove the proxy.",
      .id(of: "proxy"), .nothing, errors: [.unknown, .gone],
      example: "{\"proxy\":\"x1\"}", exampleResult: "{}"
    ) { call, id in
      try call.server.proxies.find(id).remove()
    },
  ]

  private static func address(_ text: String, _ key: String) throws(RPCError) -> Address {
    do { return try Address(parsing: text) } catch { throw RPCError(.params, "\(key): \(error)") }
  }

  private static func parsed(_ texts: [String]) throws -> [Fault] {
    try texts.flatMap { text throws(SourceProblems) in try LinkPreset.faults(text) }
  }
}
