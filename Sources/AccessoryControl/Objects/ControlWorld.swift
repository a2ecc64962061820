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
  /// How many notices are kept for clients that connect later.
  static let mostNotices = 4_096
  /// How many turns the virtual loop runs before other clients are served.
  private static let turnsAtOnce = 2_000

  let id: String
  let choices: WorldChoices
  unowned let server: ControlServer
  let world: World
  /// The loop for virtual time, or nil if the world runs in real time.
  let virtual: VirtualLoop?
  let ports: PortMaker?
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
    let forwarder = EventForwarder()
    let loop: any EventLoop = virtual ?? server.loop
    world = World(choices.world { forwarder.world?.handle($0) }, on: loop)
    ports =
      virtual == nil
      ? (server.loop as? any PollingLoop).map { loop in
        PortMaker(
          server.settings.media,
          PortContext(on: loop, options: server.settings.transport) { text in
            forwarder.world?.handle(TimelineEvent(time: loop.now, side: .cable, kind: .warning(text)))
          })
      } : nil
    forwarder.world = self
    packets.changed = { [weak self] in self?.recheck() }
  }

  /// Forwards events to the world. Events that occur while the world is being created are dropped.
  private final class EventForwarder {
    weak var world: ControlWorld?
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
    add(.event(event), about: accessory, for: nil)
  }

  /// Adds a notice. `owner` receives the notice even without a subscription.
  func add(
    _ content: ControlNotice.Content, about accessory: ControlledAccessory? = nil, for owner: ControlClient?
  ) {
    lastNumber += 1
    let notice = ControlNotice(number: lastNumber, world: id, content: content, accessory: accessory?.id)
    history.append(notice)
    if history.count > Self.mostNotices { _ = history.popFirst() }
    let news = ControlNews(notice)
    for client in server.clients {
      var isTold = client === owner || client.isObserver
      switch content {
      case .event, .change: isTold = client.subscription?.includes(notice) ?? false
      case .app, .session: break
      }
      if isTold { client.notify(news) }
    }
    finish { $0.accepts?(notice) ?? false ? .reached(notice) : nil }
  }

  var forgottenCount: Int { lastNumber - history.count }

  /// Returns the accessory that an event is about. The accessory is found by the event's cable or by its serial number.
  private func accessory(of event: TimelineEvent) -> ControlledAccessory? {
    if let number = event.worldNumber, let id = numbers[number] { return try? server.accessories.find(id) }
    guard let serial = event.subject?.serial else { return nil }
    return accessories.last { $0.profile.identity.serialNumber == serial }
  }

  func add(change request: String, _ params: JSON5Value, _ result: JSON5Value, of shape: RecordShape) {
    add(.change(ChangeNews(request, params, result, of: shape, at: loop.now)), for: nil)
  }

  // MARK: Waiting

  /// Waits for a notice or a condition. Calls `done` once, no later than at the deadline.
  func wait(_ wait: ControlWait) {
    if let failure { return wait.end(.failed(failure)) }
    if wait.isDone?() ?? false { return wait.end(.reached(nil)) }
    wait.world = self
    waits.append(wait)
    if virtual != nil {
      let client = ObjectIdentifier(wait.client)
      attention.removeAll { $0 == client }
      server.later { [weak self] in self?.drive() }
    } else {
      let left = wait.deadline - loop.now
      wait.timer = loop.schedule(after: max(left, .zero)) { [weak self, weak wait] in
        self?.finish { $0 === wait ? .limit : nil }
      }
    }
  }

  /// Checks all waits after something has changed.
  func recheck() { finish { $0.isDone?() ?? false ? .reached(nil) : nil } }

  func cancel(_ wait: ControlWait) { finish { $0 === wait ? .cancelled : nil } }

  func cancelWaits(of client: ControlClient) { finish { $0.client === client ? .cancelled : nil } }

  /// Ends a client's waits because of an event in a session that the client has taken over.
  func drawAttention(of client: ControlClient) { attention.append(ObjectIdentifier(client)) }

  private func finish(_ how: (ControlWait) -> ControlWait.End?) {
    guard !waits.isEmpty else { return }
    var done: [(ControlWait, ControlWait.End)] = []
    waits.removeAll { wait in
      guard let end = how(wait) else { return false }
      done.append((wait, end))
      return true
    }
    for (wait, end) in done { wait.end(end) }
  }

  func settle() {
    guard let virtual, failure == nil, !isDriving else { return }
    isDriving = true
    defer { isDriving = false }
    do {
      while let next = virtual.nextDeadline, next <= virtual.now { try virtual.step() }
    } catch { fail(error) }
  }

  /// Advances virtual time while any client is waiting.
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
            finish { asked.contains(ObjectIdentifier($0.client)) ? .attention : nil }
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
    finish { _ in .failed(failure) }
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
    if session.app != nil { server.later { [weak self] in self?.forgetKilledApps() } }
  }

  /// Keeps a killed app until its open sessions end, as some systems do.
  func keep(killed app: ControlledApp) { killedApps.append(app) }

  private func forgetKilledApps() {
    killedApps.removeAll { $0.forgetIfDone() }
  }

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
    finish { _ in .failed(RPCError(.gone, "the world '\(id)' is gone")) }
    hasEnded = true
  }
}

final class ControlWait {
  enum End {
    /// The notice arrived, or the condition became true.
    case reached(ControlNotice?)
    case limit
    /// There is a new event in a session that the client has taken over.
    case attention
    /// The client has ended or has cancelled the request.
    case cancelled
    case failed(RPCError)
  }

  let client: ControlClient
  let deadline: Instant
  let accepts: ((ControlNotice) -> Bool)?
  let isDone: (() -> Bool)?
  var timer: LoopTimer?
  weak var world: ControlWorld?
  private var done: ((End) -> Void)?

  init(
    _ call: ControlCall, until deadline: Instant, accepts: ((ControlNotice) -> Bool)? = nil,
    isDone: (() -> Bool)? = nil, done: @escaping (End) -> Void
  ) {
    (client, self.deadline, self.accepts, self.isDone, self.done) = (call.client, deadline, accepts, isDone, done)
    call.wait = self
  }

  func end(_ how: End) {
    timer?.cancel()
    let done = done
    self.done = nil
    done?(how)
  }
}
