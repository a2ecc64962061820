import AccessoryCables
import AccessoryCore
import AccessoryFormats
import AccessoryLoad
import AccessoryProfiles
import AccessorySessions
import AccessorySimulator
import Certificates
import IAP2
import LinuxIO

/// The control protocol's server, which owns its clients and the simulated worlds with their accessories and apps.
///
/// The server itself does no I/O for its clients. ``StreamConnection``, ``ControlPort`` and others connect the server to
/// stdin and stdout, sockets and HTTP. All of the server's work is done on its loop.
///
/// ```swift
/// let server = ControlServer(ControlServer.Settings(), on: loop)
/// let client = server.makeClient()
/// client.call("server.info", .object([])) { print($0) }
/// ```
public final class ControlServer {
  static let mostWorlds = 1_000
  /// The maximum number of objects of each kind (accessories, apps, hosts or open sessions) in a world.
  static let mostObjects = 10_000

  /// The settings of a server.
  public struct Settings {
    package var version = ""
    package var allowsExec = false
    package var transport = TransportOptions()
    /// The media through which accessories and devices can be reached.
    package var media = MediumTable.standard
    package var profiles = ProfileLibrary()
    /// Creates the coprocessor for an accessory that is plugged in at a port. Accessories on the world's device do not
    /// use this closure.
    package var coprocessor: (Profile) -> any AccessoryAuthenticator = { _ in SimulatedCoprocessor(seed: 1) }
    package var reportsMessages = false
    package var report: (TimelineEvent) -> Void = { _ in }
    /// The time at which the loop's clock showed zero, in nanoseconds since 1970. Captures use it.
    package var epoch: Int64 = 0
    /// Formats an event as a comment in a capture.
    package var eventText: (TimelineEvent) -> String = { $0.json }
    /// Where to keep captures and reports after the server has exited, or nil to keep none.
    package var kept: KeptFolder?
    package var seed: UInt64 = 1

    /// Creates the default settings.
    public init() {}
  }

  let settings: Settings
  let loop: any EventLoop
  private(set) var clients: [ControlClient] = []
  var worlds = ControlTable<ControlWorld>(kind: "world", prefix: "w", most: mostWorlds)
  var accessories = ControlTable<ControlledAccessory>(kind: "accessory", prefix: "a")
  var apps = ControlTable<ControlledApp>(kind: "app", prefix: "p")
  var sessions = ControlTable<ControlledSession>(kind: "session", prefix: "s")
  var hosts = ControlTable<ControlledHost>(kind: "host", prefix: "h")
  var proxies = ControlTable<ControlledProxy>(kind: "proxy", prefix: "x")
  var faults = ControlTable<ControlledFault>(kind: "fault", prefix: "f")

  var bytePorts: [String: BytePort] = [:]
  var portAddresses: [String] = []

  var jobs = ControlTable<ControlledJob>(kind: "job", prefix: "j")
  var captures = ControlTable<ControlledCapture>(kind: "capture", prefix: "c", most: ControlledCapture.mostCaptures)
  var bursts = BurstTallies()

  /// Creates a server with the world `main`, which runs in real time.
  public init(_ settings: Settings, on loop: any EventLoop) {
    self.settings = settings
    self.loop = loop
    var main = WorldChoices()
    main.seed = settings.seed
    main.reportsMessages = settings.reportsMessages
    worlds.put(ControlWorld("main", main, in: self), named: "main")
  }

  /// Creates a client. Everything that the client launches ends when ``ControlClient/close(_:)`` is
  /// called.
  ///
  /// - Parameter isTransient: whether everything that the client launches outlives it, as for a single HTTP request.
  public func makeClient(isTransient: Bool = false) -> ControlClient {
    let client = ControlClient(self, isTransient: isTransient)
    clients.append(client)
    return client
  }

  /// Adds an accessory to the world `main`, and plugs it in at the given port. Clients can control the accessory.
  ///
  /// - Returns: the accessory's ID.
  /// - Throws: an error if the accessory cannot be plugged in at the port.
  package func run(
    _ profile: Profile, at port: any Port, handshakeTimeouts: HandshakeTimeouts,
    link: @escaping (inout LinkSettings) -> Void
  ) throws -> String {
    let id = try accessories.issue()
    let accessory = ControlledAccessory(
      id, profile, at: port, in: try world("main"), handshakeTimeouts: handshakeTimeouts, link: link)
    accessories.put(accessory, named: id)
    try accessory.perform(.accessory(.plugIn, of: accessory.id))
    return id
  }

  /// Performs an action on every accessory in the world `main` for which the action is possible. For example, only an
  /// accessory that is plugged in can be unplugged.
  ///
  /// - Throws: an error if one of the accessories cannot be plugged in.
  package func performOnAll(_ action: AccessoryAction) throws {
    for accessory in try world("main").accessories where action.needsPlug != !accessory.isPlugged {
      try accessory.perform(.accessory(action, of: accessory.id))
    }
  }

  func clientEnded(_ client: ControlClient, _ reason: String) {
    clients.removeAll { $0 === client }
    for app in apps.all where app.client === client { app.end("the app was killed: \(reason)") }
    for accessory in accessories.all where accessory.taker?.client === client { accessory.release() }
    for world in worlds.all { world.cancelWaits(of: client) }
    settle()
  }

  /// Sends a notification to some of the clients. The notification is encoded only once, and only if it is sent.
  func notify(_ method: String, _ params: @autoclosure () -> String, _ isTold: (ControlClient) -> Bool) {
    let told = clients.filter(isTold)
    guard !told.isEmpty else { return }
    let line = RPCDocument.notification(method, params())
    for client in told { client.notify(line) }
  }

  /// Does all work that is already due, without advancing virtual time.
  func settle() { for world in worlds.all { world.settle() } }

  /// Runs work on a later turn of the loop, when no call is in progress.
  func later(_ work: @escaping () -> Void) { loop.schedule(after: .zero, work) }

  func world(_ id: String) throws(RPCError) -> ControlWorld { try worlds.find(id) }

  /// Returns the world that a request changes, or nil if the request changes no world. The returned world contains the
  /// object named in the request's parameters.
  func world(changedBy params: JSON5Value, _ effect: ControlMethod.Effect) -> ControlWorld? {
    guard effect != .reads else { return nil }
    func find<Object>(_ key: String, in table: ControlTable<Object>) -> Object? {
      guard case .text(let id)? = params[key]?.content else { return nil }
      return try? table.find(id)
    }
    let world =
      find("world", in: worlds) ?? find("accessory", in: accessories)?.world ?? find("app", in: apps)?.world
      ?? find("session", in: sessions)?.world ?? find("fault", in: faults)?.accessory.world
      ?? find("host", in: hosts)?.world ?? find("proxy", in: proxies)?.world ?? find("capture", in: captures)?.world
      ?? find("job", in: jobs)?.world
      ?? (try? world("main"))
    return effect == .passesTime && world?.virtual == nil ? nil : world
  }

  /// Ends all worlds and unplugs everything. The loop must then run a little longer, so that both ends of each cable
  /// notice that it was unplugged.
  public func stop() {
    for client in clients { client.close("the server is exiting") }
    for capture in captures.all { capture.stop() }
    for world in worlds.all { world.end() }
  }

  package var isQuiet: Bool { worlds.all.allSatisfy { $0.world.device.cableCount == 0 } }
}

/// The objects of one kind, by ID. IDs are never reused.
struct ControlTable<Object: AnyObject> {
  let kind: String
  let prefix: String
  let most: Int
  private var objects: [String: Object] = [:]
  private var order: [String] = []
  private(set) var issued = 0

  init(kind: String, prefix: String, most: Int = ControlServer.mostObjects) {
    (self.kind, self.prefix, self.most) = (kind, prefix, most)
  }

  var all: [Object] { order.compactMap { objects[$0] } }
  var count: Int { objects.count }

  mutating func issue() throws(RPCError) -> String {
    if objects.count >= most {
      throw RPCError(.limit, "there are already \(most) objects of the kind '\(kind)'", advice: "remove some first")
    }
    issued += 1
    return "\(prefix)\(issued)"
  }

  mutating func put(_ object: Object, named id: String) {
    if objects.updateValue(object, forKey: id) == nil { order.append(id) }
  }

  mutating func remove(_ id: String) {
    guard objects.removeValue(forKey: id) != nil else { return }
    if let index = order.firstIndex(of: id) { order.remove(at: index) }
  }

  func find(_ id: String) throws(RPCError) -> Object {
    if let object = objects[id] { return object }
    if id.hasPrefix(prefix), let number = Int(id.dropFirst(prefix.count)), 1...max(issued, 1) ~= number, issued > 0 {
      throw RPCError(.gone, "the \(kind) '\(id)' is gone")
    }
    let near = Suggestion.nearHint(for: id, in: order)
    throw RPCError(.unknown, "there is no \(kind) '\(Excerpt.of(id))'\(near)")
  }
}

/// What the server counts about an accessory.
struct AccessoryTally {
  var attachments = 0
  var sessions = 0
  var bytesIn = 0
  var bytesOut = 0
  var errors = 0

  mutating func count(_ event: TimelineEvent) {
    guard event.side == .accessory || event.side == .device else { return }
    switch event.kind {
    case .attach where event.side == .accessory: attachments += 1
    case .sessionClose(_, _, _, let read, let written) where event.side == .accessory:
      sessions += 1
      bytesIn += read
      bytesOut += written
    case .warning, .refused: errors += 1
    default: break
    }
  }

  /// Each count's key, the part of its name that is specific to it in `/metrics`, and its description.
  static let all: [(key: String, metric: String, summary: String, value: @Sendable (Self) -> Int)] = [
    ("attachments", "attachments", "number of times the accessory was plugged in", { $0.attachments }),
    ("sessions", "sessions", "number of the accessory's sessions that have ended", { $0.sessions }),
    ("errors", "errors", "number of warnings and refusals that concern the accessory", { $0.errors }),
    ("bytesRead", "received_bytes", "bytes that the accessory has read in sessions that have ended", { $0.bytesIn }),
    ("bytesWritten", "sent_bytes", "bytes that the accessory has written in sessions that have ended", { $0.bytesOut }),
  ]
}

extension ControlServer {
  /// The server's state in Prometheus's text format.
  package var metrics: String {
    var metrics = MetricsText()
    func family(
      _ name: String, _ type: String, _ help: String, _ samples: [(labels: [(String, String)], value: Int)]
    ) {
      metrics.family(name, type, help, samples.map { ($0.labels, "\($0.value)") })
    }
    let known = accessories.all
    func each(_ value: (ControlledAccessory) -> Int) -> [(labels: [(String, String)], value: Int)] {
      known.map { ([("accessory", $0.id), ("serial", $0.profile.identity.serialNumber)], value($0)) }
    }
    family("easim_clients", "gauge", "Number of connected clients.", [([], clients.count)])
    family("easim_apps", "gauge", "Number of running apps.", [([], apps.count)])
    family("easim_accessory_attached", "gauge", "Whether the accessory is plugged in.", each { $0.isPlugged ? 1 : 0 })
    for count in AccessoryTally.all {
      let help = count.summary.prefix(1).uppercased() + count.summary.dropFirst() + "."
      family("easim_accessory_\(count.metric)_total", "counter", help, each { count.value($0.tally) })
    }
    family(
      "easim_link_retransmissions_total", "counter", "Packets that the world's device has retransmitted.",
      worlds.all.map { ([("world", $0.id)], Int($0.world.device.linkCounters.retransmissions)) })
    family(
      "easim_events_total", "counter", "Notices of the world.",
      worlds.all.map { ([("world", $0.id)], $0.lastNumber) })
    let tallies = bursts.tallies.sorted { $0.key < $1.key }
    func total(_ name: String, _ help: String, _ value: (BurstTallies.Tally) -> Int) {
      family(name, "counter", help, tallies.map { ([("serial", $0.key)], value($0.value)) })
    }
    total("easim_bursts_total", "Bursts of finished load tests, by accessory.") { $0.bursts }
    total("easim_burst_bytes_total", "Bytes in the bursts of finished load tests.") { $0.bytes }
    total("easim_burst_errors_total", "Errors in finished load tests.") { $0.errors }
    metrics.histogram(
      "easim_burst_latency_seconds", "Time from the start of a burst to its completion.",
      tallies.map { ([("serial", $0.key)], $0.value.latency) })
    return metrics.text
  }
}
