import AccessoryFaults
import AccessoryFormats

extension ControlMethods {
  /// The methods for faults on an accessory's cable. Faults can change while the accessory is plugged in.
  static let faults: [ControlMethod] = [
    ControlMethod(
      "fault.add",
      "Add a fault to an accessory's current and future cables. On the current cable, the fault's times are measured "
        + "from now; on future cables, from when the cable is plugged in. The fault acts at the accessory's end: `in` "
        + "means bytes that the accessory receives.",
      .init(
        "adding a fault", .id(of: "accessory"),
        Argument(text: "fault", "the fault or link preset, in the notation of --fault")),
      .list("faults", "the ids of the new faults; a link preset adds several"),
      errors: [.unknown, .gone, .limit], example: "{\"accessory\":\"a1\",\"fault\":\"latency,delay=50ms\"}"
    ) { call, accessory, fault in
      try call.server.accessories.find(accessory).add(LinkPreset.faults(fault))
    },
    ControlMethod(
      "fault.change",
      "Replace a fault with another. Bytes that the old fault is holding back are still delivered at the old rate; "
        + "the new fault affects only later bytes.",
      .init(
        "changing a fault", .id(of: "fault"),
        Argument("to", Fault.format.format, "the new fault", from: Fault(.loss(Fault.Loss())), isRequired: true)),
      ControlledFault.answer, errors: [.unknown, .gone],
      example: "{\"fault\":\"f1\",\"to\":\"latency,delay=5ms\"}"
    ) { call, id, replacement in
      let fault = try call.server.faults.find(id)
      fault.fault = replacement
      try fault.accessory.applyFaults()
      return fault
    },
    ControlMethod(
      "fault.list", "List the faults on an accessory's cable and their effects so far.", .id(of: "accessory"),
      .list(
        "faults", ControlledFault.answer,
        "the faults, in the order in which bytes pass through them"),
      effect: .reads, errors: [.unknown, .gone], example: "{\"accessory\":\"a1\"}"
    ) { call, id in
      try call.server.accessories.find(id).faults
    },
    ControlMethod(
      "fault.remove",
      "Remove a fault. Bytes that the fault is holding back are still delivered, at the fault's rate.",
      .id(of: "fault"), .nothing, errors: [.unknown, .gone], example: "{\"fault\":\"f1\"}"
    ) { call, id in
      let fault = try call.server.faults.find(id)
      try fault.accessory.remove(fault)
      call.server.faults.remove(fault.id)
    },
  ]
}
