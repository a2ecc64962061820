import AccessoryCables
import AccessoryCore
import AccessoryFormats
import AccessoryProfiles
import AccessorySessions
import AccessorySimulator
import Certificates
import IAP2
import LinuxIO

/// The control protocol's server: worlds with accessories and apps in them, and the clients that control them.
///
/// It does no I/O of its own beyond what worlds in real time need: doors connect it to stdin and stdout, to sockets and
/// to HTTP. Everything happens on its loop.
///
/// ```swift
/// let server = ControlServer(ControlServer.Settings(), on: loop)
/// let client = server.makeClient()
/// client.call("server.info", .object([])) { print($0) }
/// ```
public final class ControlServer {
  /// The most worlds at a time.
  static let mostWorlds = 1_000
  /// The most accessories, apps, hosts and open sessions of one world, each.
  static let mostObjects = 10_000

  /// What a server is made with.
  public struct Settings {
    /// The version of the program.
    public var version = ""
    /// Whether accessories may run programs.
    public var allowsExec = false
    /// How far sockets may reach.
    public var transport = TransportOptions()
    /// Every way from an address to a cable.
    public var media = MediumTable.standard
    /// Where profiles are found.
    public var profiles = ProfileLibrary()
    /// The coprocessor of an accessory that other hosts find.
    public var coprocessor: (Profile) -> any AccessoryAuthenticator = { _ in SimulatedCoprocessor(seed: 1) }
    /// Whether the world `main` has an event for each control message.
    public var tellsMessages = false
    /// Called with every event of every world.
    public var report: (TimelineEvent) -> Void = { _ in }
    /// The zero of the loop's clock in nanoseconds since 1970, for captures.
    public var epoch: Int64 = 0
    /// An event as a line of text, for the comments of captures.
    public var eventText: (TimelineEvent) -> String = { $0.json }
    /// Where captures and the reports of runs are kept beyond the end of the server; nil for nowhere.
    public var kept: (any KeptFiles)?
    /// The seed of worlds that are made without one.
    public var seed: UInt64 = 1

    /// The defaults.
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
  var faults = ControlTable<ControlledFault>(kind: "fault", prefix: "f")

  /// Those that wait for a connection, by their tickets.
  var bytePorts: [String: BytePort] = [:]
  /// Where clients can connect.
  var portAddresses: [String] = []

  var jobs = ControlTable<ControlledJob>(kind: "job", prefix: "j")
  var captures = ControlTable<ControlledCapture>(
    kind: "capture", prefix: "c", most: ControlledCapture.mostCaptures)
  /// What load tests have counted.
  var bursts = BurstTallies()

  /// A server with the world `main`, whose time is real.
  public init(_ settings: Settings, on loop: any EventLoop) {
    self.settings = settings
    self.loop = loop
    var main = WorldChoices()
    main.seed = settings.seed
    main.tellsMessages = settings.tellsMessages
    worlds.put(ControlWorld("main", main, in: self), named: "main")
  }

  /// A client whose door is open: what it launches ends with ``ControlClient/close(_:)``.
  ///
  /// - Parameter isTransient: whether what it launches lives on without it, as for a single request.
  public func makeClient(isTransient: Bool = false) -> ControlClient {
    let client = ControlClient(self, isTransient: isTransient)
    clients.append(client)
    return client
  }

  /// Plugs an accessory into the world `main`, at a port of the caller's, for clients to control.
  ///
  /// - Returns: its id.
  /// - Throws: an error when it cannot be plugged in there.
  public func run(
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

  /// Does something to every accessory of the world `main` that it fits: only what is plugged in is unplugged.
  ///
  /// - Throws: why one of them cannot be plugged in.
  public func performOnAll(_ action: AccessoryAction) throws {
    for accessory in worldMain where action.needsPlug != !accessory.isPlugged {
      try accessory.perform(.accessory(action, of: accessory.id))
    }
  }

  private var worldMain: [ControlledAccessory] { accessories.all.filter { $0.world.id == "main" } }

  func clientEnded(_ client: ControlClient, _ reason: String) {
    clients.removeAll { $0 === client }
    for app in apps.all where app.client === client { app.end("the app was killed: \(reason)") }
    for accessory in accessories.all where accessory.taker?.client === client { accessory.release() }
    for world in worlds.all { world.cancelWaits(of: client) }
    settle()
  }

  /// Does what can be done without letting virtual time pass.
  func settle() { for world in worlds.all { world.settle() } }

  /// Runs work in a later turn, when no other call is in progress.
  func later(_ work: @escaping () -> Void) { loop.schedule(after: .zero, work) }

  func world(_ id: String) throws(RPCError) -> ControlWorld { try worlds.find(id) }

  /// The world that a request with these parameters changes: that of the object it names. Nil when it changes none.
  func world(changedBy params: JSON5Value, _ effect: ControlMethod.Effect) -> ControlWorld? {
    guard effect != .reads else { return nil }
    func find<Object>(_ key: String, in table: ControlTable<Object>) -> Object? {
      guard case .text(let id)? = params[key]?.content else { return nil }
      return try? table.find(id)
    }
    let world =
      find("world", in: worlds) ?? find("accessory", in: accessories)?.world ?? find("app", in: apps)?.world
      ?? find("session", in: sessions)?.world ?? find("fault", in: faults)?.accessory.world
      ?? find("host", in: hosts)?.world ?? find("capture", in: captures)?.world ?? find("job", in: jobs)?.world
      ?? (try? world("main"))
    return effect == .passesTime && world?.virtual == nil ? nil : world
  }

  /// Ends all worlds: everything is unplugged. The loop must run a little for both ends to notice.
  public func stop() {
    for client in clients { client.close("the server is exiting") }
    for capture in captures.all { capture.stop() }
    for world in worlds.all { world.end() }
  }

  /// Whether everything is unplugged.
  public var isQuiet: Bool { worlds.all.allSatisfy { $0.world.device.cableCount == 0 } }
}

/// The objects of one kind by their ids, which are never used again.
struct ControlTable<Object: AnyObject> {
  let kind: String
  let prefix: String
  let most: Int
  private var objects: [String: Object] = [:]
  private var order: [String] = []
  private var issued = 0

  init(kind: String, prefix: String, most: Int = ControlServer.mostObjects) {
    (self.kind, self.prefix, self.most) = (kind, prefix, most)
  }

  /// All, in the order in which they were made.
  var all: [Object] { order.compactMap { objects[$0] } }
  var count: Int { objects.count }

  /// The number in the last id.
  var lastNumber: Int { issued }

  /// The id of the next one.
  mutating func issue(limited: Bool = true) throws(RPCError) -> String {
    if limited, objects.count >= most {
      throw RPCError(.limit, "there are \(most) objects of the kind '\(kind)' already", advice: "remove some first")
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
