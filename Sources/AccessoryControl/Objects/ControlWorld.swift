import AccessoryCables
import AccessoryCore
import AccessoryFormats
import AccessoryHost
import AccessoryPages
import AccessoryProfiles
import AccessorySessions
import AccessoryWorlds
import LinuxIO

/// A world hosted by a server, with an Apple device, apps and accessories.
///
/// A world in real time runs on its own. In virtual time, a request does only the work that is already due. In virtual
/// time, time passes only while a client is waiting: in `time.advance`, in `time.runUntil`, or in a read or write with
/// a time limit.
final class ControlWorld {
  static let mostNotices = 4_096
  /// How many turns the virtual loop runs before other clients are served.
  private static let turnsAtOnce = 2_000

  let id: String
  let choices: WorldChoices
  unowned let server: ControlServer
  let world: World
  /// The loop for virtual time, or nil if the world runs in real time.
  let virtual: VirtualLoop?
  private var portMaker: PortMaker?
  /// The accessories' IDs, keyed by the numbers that identify accessories in the world's events.
  var numbers: [Int: String] = [:]
  let packets = PacketLog()
  private var history = Queue<ControlNotice>()
  private(set) var lastNumber = 0
  private var waits: [ControlWait] = []
  /// Clients with new events in sessions that they have taken over. A client's wait ends when the client has new
  /// events, so that it can react before more time passes.
  private var attention: [ObjectIdentifier] = []
  private var isDriving = false
  private var hasEnded = false
  /// Sessions that have ended but whose bytes can still be read.
  private var endedSessions = Queue<String>()
  private var killedApps: [ControlledApp] = []
  private(set) var failure: RPCError?

  var loop: any EventLoop { virtual ?? server.loop }

  init(_ id: String, _ choices: WorldChoices, in server: ControlServer) {
    (self.id, self.choices, self.server) = (id, choices, server)
    virtual = choices.time == .virtual ? VirtualLoop(seed: choices.seed) : nil
    // Events that occur while the world is being created are dropped.
    weak var this: ControlWorld?
    let loop: any EventLoop = virtual ?? server.loop
    world = World(choices.world { this?.handle($0) }, on: loop)
    this = self
    packets.changed = { [weak self] in self?.recheck() }
  }

  // MARK: Notices

  func notices(after number: Int, atMost count: Int) -> [ControlNotice] {
    let first = lastNumber - history.count
    let start = min(max(0, number - first), history.count)
    return (start..<start + min(count, history.count - start)).map { history[$0] }
  }

  func handle(_ event: TimelineEvent) {
    let accessory = accessory(of: event)
    accessory?.tally.count(event)
    server.settings.report(event)
    for capture in captures { capture.note(event) }
    add(.event(event), event.kind.name, at: event.time, about: accessory)
  }

  /// Adds a notice. `owner` receives notices about apps and sessions even without a subscription.
  func add(
    _ content: ControlNotice.Content, _ name: String, _ details: JSONObject = [:], at time: Instant? = nil,
    about accessory: ControlledAccessory? = nil, for owner: ControlClient? = nil
  ) {
    lastNumber += 1
    let notice = ControlNotice(
      number: lastNumber, world: id, content: content, name: name, time: time ?? loop.now, accessory: accessory?.id,
      details: details)
    history.append(notice)
    if history.count > Self.mostNotices { _ = history.popFirst() }
    server.notify(notice.method, notice.json) { client in
      switch content {
      case .event, .change: client.subscription?.includes(notice) ?? false
      case .app, .session: client === owner || client.isObserver
      }
    }
    finish(notice) { $0.accepts?(notice) ?? false ? .notice : nil }
  }

  var forgottenCount: Int { lastNumber - history.count }

  /// Returns the accessory that an event is about. The accessory is found by the event's cable or by its serial number.
  private func accessory(of event: TimelineEvent) -> ControlledAccessory? {
    if let number = event.worldNumber, let id = numbers[number] { return try? server.accessories.find(id) }
    guard let serial = event.subject?.serial else { return nil }
    return accessories.last { $0.profile.identity.serialNumber == serial }
  }

  func add(change request: String, _ params: JSON5Value, _ result: JSON5Value, of shape: RecordShape) {
    // Longer parameters and results are omitted, because each world keeps thousands of notices.
    func short(_ tree: JSON5Value) -> JSON5Value? { JSON5Writer.line(tree).utf8.count > 1_000 ? nil : tree }
    // If the result describes the state of an object, the notice contains only the IDs in the result. If a result has
    // only one key, the value is the ID of a new object.
    var told: [JSON5Member] = []
    if case .object(let members) = result.content {
      let ids = ["world", "accessory", "app", "session", "fault", "host", "proxy", "capture", "job"]
      told = shape.fields.count == 1 ? members : members.filter { ids.contains($0.key) }
    }
    add(
      .change, request,
      ["request": request, "params": short(params), "result": told.isEmpty ? nil : short(.object(told))])
  }

  // MARK: Waiting

  /// Waits for a notice or a condition. Calls `done` once, no later than at the deadline, with the notice if one was
  /// accepted. If the world stops, `done` is not called, and the call is answered with an error.
  func wait(
    _ call: ControlCall, until deadline: Instant, accepts: ((ControlNotice) -> Bool)? = nil,
    isDone: (() -> Bool)? = nil, done: @escaping (ControlWait.End, ControlNotice?) -> Void
  ) {
    let wait = ControlWait(call, until: deadline, accepts: accepts, isDone: isDone, done: done)
    if let failure { return wait.fail(failure) }
    if wait.isDone?() ?? false { return wait.end(.notice) }
    waits.append(wait)
    if virtual != nil {
      let client = ObjectIdentifier(call.client)
      attention.removeAll { $0 == client }
      server.later { [weak self] in self?.drive() }
    } else {
      let left = wait.deadline - loop.now
      wait.timer = loop.schedule(after: max(left, .zero)) { [weak self, weak wait] in
        self?.finish { $0 === wait ? .limit : nil }
      }
    }
  }

  func recheck() { finish { $0.isDone?() ?? false ? .notice : nil } }

  /// Cancels a client's waits, or only the wait of one request. Returns true if there was one.
  @discardableResult
  func cancelWaits(of client: ControlClient, request id: RPCID? = nil) -> Bool {
    finish { $0.call.client === client && (id == nil || $0.call.id == id) ? .cancelled : nil }
  }

  /// Ends a client's waits because of an event in a session that the client has taken over.
  func drawAttention(of client: ControlClient) { attention.append(ObjectIdentifier(client)) }

  /// Ends the waits for which `how` returns a reason. Returns true if there were any.
  @discardableResult
  private func finish(_ notice: ControlNotice? = nil, _ how: (ControlWait) -> ControlWait.End?) -> Bool {
    guard !waits.isEmpty else { return false }
    var done: [(ControlWait, ControlWait.End)] = []
    waits.removeAll { wait in
      guard let end = how(wait) else { return false }
      done.append((wait, end))
      return true
    }
    for (wait, end) in done { wait.end(end, notice) }
    return !done.isEmpty
  }

  private func failWaits(_ error: RPCError) {
    let failed = waits
    waits = []
    for wait in failed { wait.fail(error) }
  }

  func settle() {
    guard let virtual, failure == nil, !isDriving else { return }
    isDriving = true
    defer { isDriving = false }
    do {
      while let next = virtual.nextDeadline, next <= virtual.now { try virtual.step() }
    } catch { fail(error) }
  }

  private func drive() {
    guard let virtual, failure == nil, !isDriving, !hasEnded else { return }
    isDriving = true
    defer { isDriving = false }
    do {
      var turns = 0
      while let limit = waits.map(\.deadline).min() {
        if let next = virtual.nextDeadline, next <= limit {
          try virtual.step()
          if !attention.isEmpty {
            let asked = attention
            attention = []
            finish { asked.contains(ObjectIdentifier($0.call.client)) ? .attention : nil }
          }
        } else {
          try virtual.run(until: { false }, limit: max(.zero, limit - virtual.now))
          finish { $0.deadline <= limit ? .limit : nil }
        }
        turns += 1
        if turns >= Self.turnsAtOnce {
          return server.later { [weak self] in self?.drive() }
        }
      }
    } catch { fail(error) }
  }

  private func fail(_ error: VirtualLoop.Livelock) {
    let failure = RPCError(.server, "the world '\(id)' stopped: \(error)", advice: "remove it, and create another")
    self.failure = failure
    failWaits(failure)
  }

  // MARK: Real time

  func realLoop(
    for what: String = "addresses need", advice: String = "use a world created with time: real"
  ) throws(RPCError) -> any PollingLoop {
    if virtual == nil, let loop = server.loop as? any PollingLoop { return loop }
    throw RPCError(.time, "the world '\(id)' runs in virtual time, but \(what) real time", advice: advice)
  }

  /// Returns the maker of the ports at which accessories of this world are plugged in.
  func ports(on loop: any PollingLoop) -> PortMaker {
    if let portMaker { return portMaker }
    let context = PortContext(on: loop, options: server.settings.transport) { [weak self] text in
      self?.handle(TimelineEvent(time: loop.now, side: .cable, kind: .warning(text)))
    }
    let made = PortMaker(server.settings.media, context)
    portMaker = made
    return made
  }

  // MARK: Objects

  var accessories: [ControlledAccessory] { server.accessories.all.filter { $0.world === self } }
  var apps: [ControlledApp] { server.apps.all.filter { $0.world === self } }
  var hosts: [ControlledHost] { server.hosts.all.filter { $0.world === self } }
  var proxies: [ControlledProxy] { server.proxies.all.filter { $0.world === self } }
  var captures: [ControlledCapture] { server.captures.all.filter { $0.world === self } }

  /// Adds the cables of an accessory, host or proxy to the world's captures and to its packet list.
  func record(_ taps: CableTaps, of owner: String, _ name: String) {
    packets.watch(taps, of: owner)
    for capture in captures { capture.include(taps, name) }
  }

  /// Keeps an ended session readable until many more sessions have ended.
  func sessionEnded(_ session: ControlledSession) {
    endedSessions.append(session.id)
    if endedSessions.count > 1_000, let oldest = endedSessions.popFirst() { server.sessions.remove(oldest) }
    if session.app != nil { server.later { [weak self] in self?.killedApps.removeAll { $0.forgetIfDone() } } }
  }

  /// Keeps a killed app until its open sessions end, as some systems do.
  func keep(killed app: ControlledApp) { killedApps.append(app) }

  func end() {
    guard !hasEnded else { return }
    for job in server.jobs.all where job.world === self { job.stop() }
    for app in apps { app.end("the world was removed") }
    for app in killedApps { app.closeSessions("the world was removed") }
    killedApps = []
    for accessory in accessories { accessory.remove() }
    for host in hosts { host.remove() }
    for proxy in proxies { proxy.remove() }
    for capture in captures {
      capture.stop()
      server.captures.remove(capture.id)
    }
    for session in server.sessions.all where session.world === self { server.sessions.remove(session.id) }
    world.tearDown()
    settle()
    failWaits(RPCError(.gone, "the world '\(id)' is gone"))
    hasEnded = true
  }
}

final class ControlWait {
  enum End: String {
    /// The notice arrived, or the condition became true.
    case notice
    case limit
    /// There is a new event in a session that the client has taken over.
    case attention
    /// The client has ended or has cancelled the request.
    case cancelled
  }

  let call: ControlCall
  let deadline: Instant
  let accepts: ((ControlNotice) -> Bool)?
  let isDone: (() -> Bool)?
  private let done: (End, ControlNotice?) -> Void
  var timer: LoopTimer?

  init(
    _ call: ControlCall, until deadline: Instant, accepts: ((ControlNotice) -> Bool)?, isDone: (() -> Bool)?,
    done: @escaping (End, ControlNotice?) -> Void
  ) {
    (self.call, self.deadline, self.accepts, self.isDone, self.done) = (call, deadline, accepts, isDone, done)
  }

  func end(_ how: End, _ notice: ControlNotice? = nil) {
    timer?.cancel()
    done(how, notice)
  }

  /// Answers the call with an error, because the world has stopped.
  func fail(_ error: RPCError) {
    timer?.cancel()
    call.answer(.failure(error))
  }
}

/// An event in a world, as sent to clients: a timeline entry, an app's notification, a session's event, or a change
/// made by a request. The notices of each world are numbered starting at 1.
struct ControlNotice {
  enum Content {
    case event(TimelineEvent)
    case app(String, PublishedAccessory?)
    case session(String)
    case change
  }

  let number: Int
  let world: String
  let content: Content
  /// The name of the event, or of the request that changed something.
  let name: String
  let time: Instant
  let accessory: String?
  /// The keys of a notice that is not a timeline entry.
  let details: JSONObject

  var method: String {
    switch content {
    case .event: "event"
    case .app: "app"
    case .session: "session"
    case .change: "change"
    }
  }

  var json: String {
    var object: JSONObject = ["world": world, "number": number, "accessory": accessory]
    if case .event(let event) = content {
      object.add("event", event.object { $0 == .transcript ? "capture.start" : nil })
    } else {
      object.add("t", time)
      object.add(details)
    }
    return object.text
  }

  /// The notice with its method, for use in results.
  var tree: JSON5Value {
    let params = (try? JSON5.read(json, file: "notice")) ?? .null
    return .object([.init("method", .text(method)), .init("params", params)])
  }
}

extension PublishedAccessory {
  static let answer = Answer<PublishedAccessory>("connected accessory", "an accessory as an app sees it") {
    Key("connectionID", .natural, "the connection ID; a new one for each connection") { $0.connectionID }
    Key("name", .text, "the accessory's name") { $0.name }
    Key("manufacturer", .text, "the accessory's manufacturer") { $0.manufacturer }
    Key("modelNumber", .text, "the accessory's model number") { $0.modelNumber }
    Key("serialNumber", .text, "the accessory's serial number") { $0.serialNumber }
    Key("firmwareRevision", .text, "the accessory's firmware version") { $0.firmwareRevision }
    Key("hardwareRevision", .text, "the accessory's hardware version") { $0.hardwareRevision }
    Key(
      "protocols", .list(of: .text),
      "the protocols that the accessory currently offers; empty in the first half of a flicker"
    ) { $0.protocols }
  }
}
