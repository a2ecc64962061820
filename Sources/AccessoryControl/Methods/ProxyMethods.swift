import AccessoryCore
import AccessoryFaults
import AccessoryFormats

extension ControlMethods {
  /// The methods for proxies between a real device and a real accessory.
  static let proxies: [ControlMethod] = [
    ControlMethod(
      "proxy.add",
      "Relay bytes unchanged between a device and an accessory at two addresses, as `easim proxy` does. The world's "
        + "packets, captures and traces include the relayed bytes.",
      .all(AddingProxy.format), .new("proxy"), errors: [.unknown, .gone, .limit, .time, .address],
      example: "{\"device\":\"unix:/tmp/proxy.sock\",\"accessory\":\"unix:/tmp/glasses.sock\"}",
      exampleResult: "{\"proxy\":\"x1\"}"
    ) { call, params in
      let world = try call.server.world(params.world)
      let id = try call.server.proxies.issue()
      let proxy = try ControlledProxy(
        id, accessory: address(params.accessory, "accessory"), device: address(params.device, "device"),
        faults(params.faults), in: world)
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
      .all(ProxyFaults.format), ControlledProxy.answer, errors: [.unknown, .gone],
      example: "{\"proxy\":\"x1\",\"faults\":[\"loss,chance=2%,direction=in\"]}",
      exampleResult:
        "{\"proxy\":\"x1\",\"world\":\"main\",\"device\":\"unix:/tmp/proxy.sock\",\"accessory\":\"unix:/tmp/glasses.sock\","
        + "\"hasAccessory\":false,\"hasDevice\":false,\"attachments\":0,\"fromAccessory\":0,\"fromDevice\":0,"
        + "\"faults\":[\"loss,chance=2%,direction=in\"]}"
    ) { call, params in
      let proxy = try call.server.proxies.find(params.proxy)
      proxy.change(to: try faults(params.faults))
      return proxy
    },
    ControlMethod(
      "proxy.remove", "Disconnect the device and the accessory, and remove the proxy.",
      .id(of: "proxy"), errors: [.unknown, .gone],
      example: "{\"proxy\":\"x1\"}", exampleResult: "{}"
    ) { call, id in
      try call.server.proxies.find(id).remove()
    },
  ]

  private static func address(_ text: String, _ key: String) throws(RPCError) -> Address {
    do { return try Address(parsing: text) } catch { throw RPCError(.params, "\(key): \(error)") }
  }

  private static func faults(_ texts: [String]) throws -> [Fault] {
    try texts.flatMap { text throws(SourceProblems) in try LinkPreset.faults(text) }
  }
}

private struct AddingProxy: Equatable, Sendable {
  var world = "main"
  var device = ""
  var accessory = ""
  var faults: [String] = []

  static let format = Record("adding a proxy", "", AddingProxy()) {
    Field(
      "device", \.device, .text, "where the device connects: any address that `easim run --on` accepts",
      isRequired: true)
    Field(
      "accessory", \.accessory, .text, "where the accessory is: any address that hosts connect to", isRequired: true)
    Field(
      "faults", \.faults, .list(of: .text), "faults on the cable, or names of link presets, in the notation of --fault")
    Field("world", \.world, .text, "the id of the world whose packets and captures include the relayed bytes")
  }
}

private struct ProxyFaults: Equatable, Sendable {
  var proxy = ""
  var faults: [String] = []

  static let format = Record("faults of a proxy", "", ProxyFaults()) {
    Field("proxy", \.proxy, .text, "the id of the proxy", isRequired: true)
    Field(
      "faults", \.faults, .list(of: .text),
      "the complete list of faults, in the notation of --fault; it replaces the earlier list", isRequired: true)
  }
}
