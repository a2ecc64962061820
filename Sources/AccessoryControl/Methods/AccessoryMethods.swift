import AccessoryCables
import AccessoryCaptures
import AccessoryCore
import AccessoryFaults
import AccessoryFormats
import AccessoryProfiles
import AccessoryReplay
import AccessorySimulator
import Certificates

extension ControlMethods {
  /// The methods for accessories. In the documentation, the methods for an accessory's sessions come last.
  static let accessories: [ControlMethod] =
    adding + accessoryActions.prefix { $0.name != "accessory.closeSessions" } + others
    + accessoryActions.drop { $0.name != "accessory.closeSessions" }

  private static let adding = [
    ControlMethod(
      "accessory.add", "Create one or more simulated accessories, not yet plugged in.", .all(AddingAccessory.format),
      .list("accessories", "the ids, in order"),
      errors: [.unknown, .gone, .limit, .time, .address, .notAllowed],
      example: "{\"profile\":\"lawk-view\",\"quirks\":[\"flicker\"]}"
    ) { call, params in try add(params, call) }
  ]

  private static let others: [ControlMethod] = [
    ControlMethod(
      "accessory.remove", "Unplug an accessory and remove it.", .id(of: "accessory"),
      .nothing, errors: [.unknown, .gone], example: "{\"accessory\":\"a2\"}"
    ) { call, id in
      try call.server.accessories.find(id).remove()
    },
    ControlMethod(
      "accessory.list", "List accessories and their state.", .world,
      .list("accessories", ControlledAccessory.answer, "the accessories, in order of creation"),
      effect: .reads, errors: [.unknown, .gone]
    ) { call, world in try world.map { try call.server.world($0).accessories } ?? call.server.accessories.all },
    ControlMethod(
      "accessory.quirk",
      "Add or remove an accessory's quirks. If the accessory is plugged in, the change takes effect the next time it "
        + "is plugged in.",
      .init(
        "changing quirks", .id(of: "accessory"),
        Argument(
          "add", .list(of: Quirk.format.format), "quirks to add; each replaces a quirk of the same kind", from: []),
        Argument("remove", .list(of: .text), "names of quirks to remove", from: [])),
      changedQuirks, errors: [.unknown, .gone],
      example: "{\"accessory\":\"a1\",\"add\":[\"no-status\"],\"remove\":[\"flicker\"]}"
    ) { call, accessory, added, removed in
      let accessory = try call.server.accessories.find(accessory)
      let known = Quirk.format.names
      for name in removed where !known.contains(name) {
        throw RPCError(.params, "remove: unknown quirk '\(Excerpt.of(name))'\(Suggestion.hint(for: name, in: known))")
      }
      let isNow = accessory.change { profile in
        profile.quirks.removeAll { removed.contains($0.name) }
        for quirk in added { profile.apply(quirk) }
      }
      return (isNow, accessory.profile.quirks)
    },
    ControlMethod(
      "accessory.behavior", "Set an accessory's behavior for new sessions.",
      .init(
        "changing behavior", .id(of: "accessory"),
        Argument(optional: "behavior", Behavior.format.format, "the behavior (default: the profile's)"),
        Argument(optional: "protocol", .text, "only for sessions on this protocol (default: all)")),
      .nothing, errors: [.unknown, .gone, .notAllowed],
      example: "{\"accessory\":\"a1\",\"behavior\":\"source,rate=500,text=tick\"}"
    ) { call, accessory, behavior, protocolName in
      let accessory = try call.server.accessories.find(accessory)
      if case .exec? = behavior { try admitPrograms(call) }
      try accessory.set(behavior, for: protocolName)
    },
    ControlMethod(
      "accessory.take",
      "Let this client take over an accessory's new sessions: the client then reads and writes in place of the "
        + "accessory. A `session` notification with the event `opened` announces each session.",
      .init(
        "taking", .id(of: "accessory"),
        Argument(
          optional: "protocols", .list(of: .text), "the protocols whose sessions the client takes over (default: all)")),
      .nothing, errors: [.unknown, .gone, .state],
      example: "{\"accessory\":\"a1\",\"protocols\":[\"com.lawaken.iap2\"]}"
    ) { call, accessory, protocols in
      try call.server.accessories.find(accessory).take(protocols, by: call.client)
    },
    received,
    ControlMethod(
      "accessory.counters",
      "Get what the server has counted about an accessory since the accessory was added, as `/metrics` does.",
      .id(of: "accessory"), AccessoryTally.answer, effect: .reads, errors: [.unknown, .gone],
      example: "{\"accessory\":\"a1\"}",
      exampleResult:
        "{\"attachments\":3,\"sessions\":2,\"errors\":0,\"bytesRead\":20000,\"bytesWritten\":20000}"
    ) { call, id in
      try call.server.accessories.find(id).tally
    },
    ControlMethod(
      "accessory.release",
      "Undo `accessory.take`: close the sessions that were taken over, and let the accessory's behavior handle new "
        + "ones.",
      .id(of: "accessory"), .nothing, errors: [.unknown, .gone], example: "{\"accessory\":\"a1\"}"
    ) { call, id in
      try call.server.accessories.find(id).release()
    },
  ]

  private static let changedQuirks = Answer<(isNow: Bool, all: [Quirk])>("applied") {
    Key(
      "now", .boolean,
      "whether the change takes effect now; if not, it takes effect the next time the accessory is plugged in"
    ) { $0.isNow }
    Key("quirks", .list(of: Quirk.format.format), "all of the accessory's quirks after the change") { $0.all }
  }

  private static func admitPrograms(_ call: ControlCall) throws(RPCError) {
    guard !call.server.settings.allowsExec else { return }
    throw RPCError(
      .notAllowed, "this server does not allow accessories to run programs", advice: "start it with --allow-exec")
  }

  private static func add(_ params: AddingAccessory, _ call: ControlCall) throws -> [String] {
    let world = try call.server.world(params.world)
    let recording = try params.read(call)
    var profiles: [Profile]
    switch (recording, params.profile) {
    case (let recording?, nil):
      guard params.count == 1 else { throw RPCError(.params, "count: a recording contains only one accessory") }
      do { profiles = [try Profile(recording)] } catch { throw RPCError(.params, "recording: \(error)") }
    case (nil, let profile?):
      let library = call.profiles
      let template =
        if case .text(let name) = profile.content {
          try library.template(name)
        } else {
          try library.template(tree: profile, name: "inline")
        }
      profiles = template.instances(params.count)
    default: throw RPCError(.params, "accessory.add needs either 'profile', 'recording' or 'recordingData'")
    }
    for index in profiles.indices {
      for quirk in params.quirks { profiles[index].apply(quirk) }
      if let behavior = params.behavior {
        profiles[index].behavior = behavior
        for place in profiles[index].protocols.indices { profiles[index].protocols[place].behavior = nil }
      }
      if let serial = params.serial, params.count == 1 { profiles[index].identity.serialNumber = serial }
      if !profiles[index].programs.isEmpty { try admitPrograms(call) }
    }
    if params.serial != nil, params.count > 1 {
      throw RPCError(.params, "serial: \(params.count) accessories cannot share one serial number")
    }
    let faults = try params.faults.flatMap { text throws(SourceProblems) in try LinkPreset.faults(text) }
    let ports = try profiles.enumerated().map { index, profile in
      try params.on.map { try port($0, profile, index + 1, of: profiles.count, in: world) }
    }
    var made: [String] = []
    for (profile, port) in zip(profiles, ports) {
      let id = try call.server.accessories.issue()
      let accessory = ControlledAccessory(id, profile, recording: recording, at: port, in: world)
      call.server.accessories.put(accessory, named: id)
      try accessory.add(faults)
      made.append(id)
    }
    return made
  }

  private static func port(
    _ pattern: String, _ profile: Profile, _ number: Int, of count: Int, in world: ControlWorld
  ) throws(RPCError) -> any Port {
    let loop = try world.realLoop(advice: "omit 'on', or use a world created with time: real")
    guard count == 1 || pattern.contains("{index}") || !pattern.hasPrefix("unix:") else {
      throw RPCError(.params, "on: put {index} into the address: it is replaced by the accessory's number")
    }
    do {
      let address = try Address(parsing: pattern.replacing("{index}", with: "\(number)"))
      return try world.ports(on: loop).makePort(at: address, for: profile, number: number)
    } catch { throw RPCError(.address, "on: \(error)") }
  }

  static let received = ControlMethod(
    "accessory.received",
    "Get the bytes that an accessory has received in its sessions, regardless of its behavior. With `data` or `text`, "
      + "search these bytes instead. The server keeps the last \(ReceivedBytes.most >> 20) MiB.",
    .init(
      "searching", .id(of: "accessory"), Argument(optional: "data", .text, "the bytes to search for, in base64"),
      Argument(optional: "text", .text, "the text to search for; use this instead of `data`"),
      Argument(
        optional: "times", .natural,
        "how many times the accessory should have received the bytes (default: at least once)"),
      Argument(optional: "protocol", .text, "only sessions on this protocol (default: all)")),
    found, effect: .reads, errors: [.unknown, .gone],
    example: "{\"accessory\":\"a1\",\"text\":\"hello\",\"times\":1}"
  ) { call, accessory, data, text, times, protocolName in
    let received = try call.server.accessories.find(accessory).received
    guard data != nil || text != nil else {
      guard times == nil else {
        throw RPCError(.params, "times: needs 'data' or 'text' to search for")
      }
      return (received.streams.filter { protocolName == nil || $0.protocolName == protocolName }, nil)
    }
    let wanted = try bytes(data: data, text: text)
    guard !wanted.isEmpty else {
      throw RPCError(.params, "the bytes to search for are empty", advice: "pass at least one byte")
    }
    return (nil, received.search(for: wanted, times: times, on: protocolName))
  }

  private static let found = Answer<(streams: [ReceivedBytes.Stream]?, search: ReceivedSearch?)>(
    "received by an accessory"
  ) {
    Key(
      shape: FieldShape(
        key: "sessions",
        summary: "without a search: the bytes received, in the order in which the sessions were opened",
        shape: .list(.record(ReceivedBytes.Stream.answer.shape), count: 0...Int.max), isRequired: false)
    ) { $0.streams.map { .array($0.map(ReceivedBytes.Stream.answer.tree)) } }
    Key(
      optional: "count", .natural,
      "number of occurrences found; they do not overlap, and none spans two sessions"
    ) { $0.search?.count }
    Key(optional: "met", .boolean, "whether the bytes were received as many times as `times` requires") {
      $0.search?.isMet
    }
    Key(
      optional: "text", .text,
      "the result in words; if the bytes were never received, also the closest match and its first difference"
    ) { $0.search?.description }
  }

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

private struct AddingAccessory: Equatable, Sendable {
  var world = "main"
  var profile: JSON5Value?
  var recording: String?
  var recordingData: String?
  var count = 1
  var quirks: [Quirk] = []
  var behavior: Behavior?
  var faults: [String] = []
  var on: String?
  var serial: String?

  static let format = Record("adding", "", AddingAccessory()) {
    Field(
      "profile", \.profile, .optional(.profile), "the name or path of a profile, or the profile itself")
    Field(
      "recording", \.recording, .optional(.text),
      "instead of a profile: the path of a capture. The recorded accessory is played back, and its sessions answer "
        + "with the recorded bytes"
    )
    Field(
      "recordingData", \.recordingData, .optional(.text),
      "instead of a profile: the bytes of a capture in base64, up to about 3 MB")
    Field("world", \.world, .text, "the id of the world")
    Field(
      "count", \.count, .integer(1...1_000),
      "number of accessories to create; they are numbered from 1, as with `easim run --count`")
    Field("quirks", \.quirks, .list(of: Quirk.format.format), "quirks in addition to the profile's")
    Field(
      "behavior", \.behavior, .optional(Behavior.format.format),
      "how the accessory behaves in sessions, instead of the profile's behavior")
    Field(
      "faults", \.faults, .list(of: .text),
      "faults on the accessory's cables, or names of link presets, in the notation of --fault"
    )
    Field(
      "on", \.on, .optional(.text),
      "where to plug the accessory in, instead of at the world's device: any address that `easim run --on` accepts")
    Field("serial", \.serial, .optional(.text), "a serial number to use instead of the profile's")
  }

  /// Returns the recording in the capture that the request contains or names, or nil if there is no capture.
  func read(_ call: ControlCall) throws(RPCError) -> Recording? {
    switch (recording, recordingData) {
    case (nil, nil): return nil
    case (let path?, nil):
      do { return try Recording(capture: call.files.read(path, limit: 64 << 20)) } catch {
        throw RPCError(.params, "recording: \(path): \(error)")
      }
    case (nil, let data?):
      let bytes = try ControlMethods.bytes(data: data, text: nil)
      do { return try Recording(capture: bytes) } catch { throw RPCError(.params, "recordingData: \(error)") }
    case (_?, _?): throw RPCError(.params, "only one of the parameters recording and recordingData can be given")
    }
  }
}

extension ReceivedBytes.Stream {
  fileprivate static let answer = Answer<ReceivedBytes.Stream>(
    "received bytes", "what an accessory received in one session"
  ) {
    Key("protocol", .text, "the protocol of the session") { $0.protocolName }
    Key("t", .seconds, "when the session was opened, in seconds on the world's clock") { $0.began }
    Key("data", .text, "the bytes in base64") { Base64.text($0.bytes.copy(0..<$0.bytes.count)) }
    Key("dropped", .natural, "number of earlier bytes that the server has dropped") { $0.dropped }
  }
}

extension AccessoryTally {
  fileprivate static let answer = Answer<AccessoryTally>(
    "accessory counters", "what the server has counted about an accessory"
  ) {
    for (key, _, summary, value) in all { Key(key, .natural, summary, value) }
  }
}
