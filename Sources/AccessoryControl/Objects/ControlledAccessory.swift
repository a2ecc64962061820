import AccessoryCables
import AccessoryCaptures
import AccessoryFaults
import AccessoryFormats
import AccessoryProfiles
import AccessoryReplay
import AccessorySessions
import AccessorySimulator
import AccessoryWorlds
import IAP2

final class ControlledAccessory {
  let id: String
  let world: ControlWorld
  /// The port at which the accessory is plugged in, or nil if the accessory is plugged in to the world's own device.
  let port: (any Port)?
  private(set) var profile: Profile
  private(set) var faults: [ControlledFault] = []
  /// The behaviors that replace the profile's behaviors, by protocol. The key nil stands for all other protocols.
  private var behaviors: [String?: Behavior] = [:]
  /// The recording that the accessory plays back in its sessions, or nil if there is no recording.
  private let recorded: RecordedBehavior?
  /// The client that has taken over sessions, and the protocols of those sessions. The list of protocols is nil if the
  /// client has taken over all sessions.
  private(set) var taker: (client: ControlClient?, protocols: [String]?)?
  let taps = CableTaps()
  var tally = AccessoryTally()
  private(set) lazy var received = ReceivedBytes(on: world.loop)
  private var simulated: SimulatedAccessory?
  /// Whether the profile has changed since ``simulated`` was created.
  private var isStale = false

  private let handshakeTimeouts: HandshakeTimeouts
  private let link: (inout LinkSettings) -> Void

  init(
    _ id: String, _ profile: Profile, recording: Recording? = nil, at port: (any Port)?, in world: ControlWorld,
    handshakeTimeouts: HandshakeTimeouts = HandshakeTimeouts(), link: @escaping (inout LinkSettings) -> Void = { _ in }
  ) {
    recorded = recording.map { RecordedBehavior($0) }
    (self.id, self.profile, self.port, self.world) = (id, profile, port, world)
    (self.handshakeTimeouts, self.link) = (handshakeTimeouts, link)
    simulated = make()
    world.record(taps, of: id, profile.identity.name)
  }

  private func make() -> SimulatedAccessory {
    let behavior: (Behavior) -> any AccessoryBehavior = { [weak self, received] described in
      WatchedBehavior(received) { self?.behavior(for: $0, described) ?? BuiltInBehaviors.behavior(described) }
    }
    let made =
      if let port {
        world.world.add(
          profile, at: port, authenticator: world.server.settings.coprocessor(profile),
          handshakeTimeouts: handshakeTimeouts, link: link, behavior: behavior)
      } else {
        world.world.add(profile, behavior: behavior)
      }
    world.world.tap(made, by: taps)
    if let number = world.world.number(of: made) { world.numbers[number] = id }
    return made
  }

  // MARK: Plugging in

  var isPlugged: Bool { simulated?.isAttached ?? false }
  var isWhole: Bool { simulated?.isWhole ?? false }

  func perform(_ action: WorldAction) throws(RPCError) {
    if let needsPlug = action.needsPlug, needsPlug != isPlugged {
      let (state, first) = needsPlug ? ("not", "plug") : ("already", "unplug")
      throw RPCError(
        .state, "the accessory '\(id)' is \(state) plugged in", advice: "call accessory.\(first) first")
    }
    if case .accessory(.plugIn, _) = action { try renew() }
    do { try actions.perform(action) } catch {
      throw RPCError(.address, "the accessory '\(id)' cannot be plugged in: \(error)")
    }
  }

  private lazy var actions = ActionPlayer(in: world.world) { [unowned self] _ in
    simulated
  } pull: { [unowned self] _, unnoticed in
    guard let simulated else { return }
    if port == nil {
      world.world.pull(simulated, unnoticed: unnoticed)
    } else {
      simulated.unplug("the cable was pulled")
    }
  }

  private func renew() throws(RPCError) {
    guard isStale, let old = simulated else { return }
    // The old accessory may be about to come back.
    old.unplug()
    world.world.remove(old)
    keep(old)
    simulated = make()
    try applyFaults()
    isStale = false
  }

  func remove() {
    for fault in faults { world.server.faults.remove(fault.id) }
    if let simulated {
      // An accessory that is not plugged in may be about to come back.
      simulated.unplug("the accessory was removed")
      world.world.remove(simulated)
      keep(simulated)
    }
    simulated = nil
    world.server.accessories.remove(id)
  }

  /// Keeps a replaced accessory alive until its cable and programs have ended.
  private func keep(_ former: SimulatedAccessory) {
    world.loop.schedule(after: .seconds(5)) { withExtendedLifetime(former) {} }
  }

  // MARK: Quirks and behaviors

  /// Changes the profile. Returns true if the change takes effect immediately, or false if it takes effect the next
  /// time the accessory is plugged in.
  func change(_ change: (inout Profile) -> Void) -> Bool {
    change(&profile)
    isStale = true
    return !isPlugged
  }

  func set(_ behavior: Behavior?, for protocolName: String?) throws(RPCError) {
    if let protocolName { try require(protocolName) }
    behaviors[protocolName] = behavior
  }

  func take(_ protocols: [String]?, by client: ControlClient) throws(RPCError) {
    for name in protocols ?? [] { try require(name) }
    if let taker, taker.client !== client, taker.client != nil {
      throw RPCError(
        .state, "another client has taken over the sessions of '\(id)'", advice: "it must call accessory.release first")
    }
    // The client keeps the protocols that it has already taken over. A nil list stands for all protocols.
    var all = protocols
    if let taker { all = taker.protocols.flatMap { had in protocols.map { had + $0 } } }
    taker = (client.isTransient ? nil : client, all)
  }

  /// Lets the profile's behavior handle new sessions, and closes the sessions that a client has taken over.
  func release() {
    taker = nil
    for session in world.server.sessions.all where session.accessory === self {
      session.client = nil
      session.session.close("the client released it")
    }
  }

  private func require(_ name: String) throws(RPCError) {
    let names = profile.protocols.map(\.name)
    guard !names.contains(name) else { return }
    throw RPCError(
      .params, "the accessory '\(id)' has no protocol '\(Excerpt.of(name))'\(Suggestion.hint(for: name, in: names))")
  }

  private func behavior(for session: Session, _ described: Behavior) -> any AccessoryBehavior {
    if let taker, taker.protocols?.contains(session.protocolName) ?? true {
      return TakenSessions(accessory: self, client: taker.client)
    }
    let chosen = behaviors[session.protocolName] ?? behaviors[nil]
    if chosen == nil, let recorded { return recorded }
    return BuiltInBehaviors.behavior(chosen ?? described)
  }

  // MARK: Faults

  @discardableResult
  func add(_ added: [Fault]) throws(RPCError) -> [String] {
    guard faults.count + added.count <= 100 else {
      throw RPCError(.limit, "an accessory has at most 100 faults", advice: "remove some first")
    }
    return try added.map { fault throws(RPCError) in
      let made = ControlledFault(try world.server.faults.issue(), fault, of: self)
      world.server.faults.put(made, named: made.id)
      faults.append(made)
      try applyFaults()
      return made.id
    }
  }

  func remove(_ fault: ControlledFault) throws(RPCError) {
    faults.removeAll { $0 === fault }
    try applyFaults()
  }

  func applyFaults() throws(RPCError) {
    try perform(.faults(faults.map { CableFault($0.fault, at: .accessory) }, of: id))
  }

  var faultCounts: [(fault: Fault, direction: Fault.Direction, count: FaultCount)] {
    simulated.map(world.world.faultCounts) ?? []
  }

  private var connectionID: Int? {
    guard isPlugged, port == nil else { return nil }
    return world.world.device.published.last { $0.serialNumber == profile.identity.serialNumber }?.connectionID
  }

  private var openSessions: [String] {
    world.server.sessions.all.filter { $0.accessory === self && $0.session.isOpen }.map(\.id)
  }

  static let answer = Answer<ControlledAccessory>("accessory state", "an accessory and its state") {
    Key("accessory", .text, "the accessory's id") { $0.id }
    Key("world", .text, "the id of the accessory's world") { $0.world.id }
    Key("profile", .text, "the name of the accessory's profile") { $0.profile.name }
    Key("name", .text, "the accessory's name") { $0.profile.identity.name }
    Key("serial", .text, "the accessory's serial number") { $0.profile.identity.serialNumber }
    Key("protocols", .list(of: .text), "the accessory's protocols") { $0.profile.protocols.map(\.name) }
    Key(
      optional: "on", .text,
      "the address where the accessory is plugged in; absent if it is plugged in to the world's own device"
    ) { $0.port?.place }
    Key(
      optional: "connectionID", .natural,
      "the accessory's connection ID; present while apps on the world's device can see the accessory"
    ) { $0.connectionID }
    Key("plugged", .boolean, "whether the accessory is plugged in") { $0.isPlugged }
    Key("whole", .boolean, "whether the accessory is plugged in and has its protocols; false until a flicker is over") {
      $0.isWhole
    }
    Key("quirks", .list(of: Quirk.format.format), "the accessory's quirks") { $0.profile.quirks }
    Key("behavior", Behavior.format.format, "how the accessory behaves in sessions") {
      $0.behaviors[nil] ?? $0.profile.behavior
    }
    Key("taken", .boolean, "whether a client has taken over the accessory's sessions") { $0.taker != nil }
    Key("faults", .list(of: .text), "the ids of the faults on the accessory's cable") { $0.faults.map(\.id) }
    Key("sessions", .list(of: .text), "the ids of the open sessions that a client has taken over") { $0.openSessions }
  }
}

final class ControlledFault {
  let id: String
  unowned let accessory: ControlledAccessory
  var fault: Fault

  init(_ id: String, _ fault: Fault, of accessory: ControlledAccessory) {
    (self.id, self.fault, self.accessory) = (id, fault, accessory)
  }

  private var counts: [FaultCount] { accessory.faultCounts.filter { $0.fault == fault }.map(\.count) }

  static let answer = Answer<ControlledFault>("fault state", "a fault and its effects so far") {
    Key("fault", .text, "the fault's id") { $0.id }
    Key("text", .text, "the fault, in the notation of --fault") { $0.fault.description }
    Key("hits", .natural, "number of times the fault took effect on the current cable") {
      $0.counts.reduce(0) { $0 + $1.hits }
    }
    Key("bytes", .natural, "number of bytes that the fault affected") { $0.counts.reduce(0) { $0 + $1.bytes } }
  }
}

private struct TakenSessions: AccessoryBehavior {
  let accessory: ControlledAccessory
  let client: ControlClient?

  func makeHandler(for session: Session, in context: BehaviorContext) -> any SessionHandler {
    let server = accessory.world.server
    do throws(RPCError) {
      let id = try server.sessions.issue()
      let taken = ControlledSession(id, session, in: accessory.world, accessory: accessory, app: nil, client: client)
      server.sessions.put(taken, named: id)
      taken.emit("opened")
      return taken
    } catch {
      context.warn("the session was not handed to the client: \(error.message)")
      context.loop.schedule(after: .zero) { session.close("too many sessions are open") }
      return SinkBehavior().makeHandler(for: session, in: context)
    }
  }
}
