public import AccessoryProfiles
public import AccessorySessions
public import AccessorySimulator
import AccessoryWorlds
import ExternalAccessory
public import IAP2
import Testing

/// An accessory of a ``SimulatedWorld``.
///
/// ```swift
/// let meter = try world.add("echo")
/// meter.plugIn()
/// await world.settle()
/// ```
///
/// The accessory handles its sessions according to its profile, unless ``behave(_:)`` or ``takeSessions()`` is called.
public final class WorldAccessory: CustomReflectable, @unchecked Sendable {
  /// The accessory's profile.
  public let profile: Profile
  private unowned let world: SimulatedWorld
  // Use this property only on the event loop.
  private(set) var simulated: SimulatedAccessory?
  private var behavior: (any AccessoryBehavior)?
  private var taken: [WorldSession] = []
  private var received: ReceivedBytes?

  init(_ profile: Profile, in world: SimulatedWorld) {
    self.profile = profile
    self.world = world
    world.perform { inner in
      let received = ReceivedBytes(on: inner.loop)
      self.received = received
      simulated = inner.add(
        profile,
        behavior: { [unowned self] named in
          WatchedBehavior(received) { _ in self.behavior ?? BuiltInBehaviors.behavior(named) }
        })
    }
  }

  private func perform<Value>(_ body: (SimulatedAccessory, World) -> Value) -> Value {
    world.perform { inner in
      guard let simulated else { preconditionFailure("the accessory has no simulation, which init creates") }
      return body(simulated, inner)
    }
  }

  private func perform(_ action: WorldAction) {
    perform { simulated, inner in
      do { try ActionPlayer(in: inner) { _ in simulated }.perform(action) } catch {
        preconditionFailure("plugging in an in-memory cable failed: \(error)")
      }
    }
  }

  private var name: String { profile.name }

  /// Performs any action of an accessory, such as one that has no method of its own here.
  public func perform(_ action: AccessoryAction) { perform(.accessory(action, of: name)) }

  // MARK: Plugging in

  /// Plugs the accessory in.
  public func plugIn() { perform(.plugIn) }

  /// Unplugs the accessory. Bytes in transit are still delivered.
  public func unplug() { perform(.unplug()) }

  /// Pulls the accessory's cable. Bytes in transit are lost. If `unnoticed` is true, the device shows the accessory as
  /// connected until a packet that the device sends is not acknowledged.
  public func pull(unnoticed: Bool = false) { perform(.pull(name, unnoticed: unnoticed)) }

  /// Whether the accessory is plugged in.
  public var isPluggedIn: Bool { perform { simulated, _ in simulated.isAttached } }

  /// Makes the device reset the link, so the accessory disconnects and connects again without being unplugged.
  public func resetLink() { perform(.resetLink(name)) }

  // MARK: Sessions

  /// Closes the accessory's sessions. The accessory stays connected.
  public func closeSessions() { perform(.closeSessions) }

  /// Drops the accessory's sessions without closing them. The sessions stay open in the app, but receive no more
  /// replies.
  public func forgetSessions() { perform(.forgetSessions) }

  /// Sets the behavior for sessions that are opened from now on.
  public func behave(_ behavior: any AccessoryBehavior) { perform { _, _ in self.behavior = behavior } }

  /// Lets the test handle all sessions that are opened from now on. See ``sessions``.
  public func takeSessions() {
    behave(TakenSessions(world: world) { [unowned self] session in taken.append(session) })
  }

  /// The accessory's end of each session that has been opened since ``takeSessions()`` was called, in order.
  public var sessions: [WorldSession] { perform { _, _ in taken } }

  // MARK: Received bytes

  /// Searches for bytes in everything that the accessory has received, regardless of the accessory's behavior.
  ///
  /// - Parameters:
  ///   - wanted: at least one byte.
  ///   - times: the number of times that the bytes must have been received, or nil for at least once.
  ///   - protocolName: the protocol whose sessions are searched, or nil for all sessions.
  public func received(_ wanted: [UInt8], times: Int? = nil, on protocolName: String? = nil) -> ReceivedSearch {
    precondition(!wanted.isEmpty, "give at least one byte: an empty sequence is always received")
    return perform { [self] _, inner in
      (received ?? ReceivedBytes(on: inner.loop)).search(for: wanted, times: times, on: protocolName)
    }
  }

  /// Searches for UTF-8 text in everything that the accessory has received.
  public func received(_ wanted: String, times: Int? = nil, on protocolName: String? = nil) -> ReceivedSearch {
    received(Array(wanted.utf8), times: times, on: protocolName)
  }

  /// Fails the test at the line of the call if the accessory has not received a text. If `times` is given, the
  /// accessory must have received the text exactly that many times. The failure message shows the most similar bytes
  /// that the accessory has received, and the first byte that differs.
  ///
  /// ```swift
  /// meter.expectReceived("VERSION?", times: 2)
  /// ```
  ///
  /// - Returns: true if the text was received.
  @discardableResult
  public func expectReceived(
    _ wanted: String, times: Int? = nil, on protocolName: String? = nil, fileID: String = #fileID,
    filePath: String = #filePath, line: Int = #line, column: Int = #column
  ) -> Bool {
    let search = received(wanted, times: times, on: protocolName)
    let place = SourceLocation(fileID: fileID, filePath: filePath, line: line, column: column)
    if !search.isMet { world.fail("\(profile.name): \(search)", place) }
    return search.isMet
  }

  /// A mirror without children, for the same reason as the mirror of ``SimulatedWorld``.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

private struct TakenSessions: AccessoryBehavior {
  let world: SimulatedWorld
  let take: (WorldSession) -> Void

  func makeHandler(for session: Session, in context: BehaviorContext) -> any SessionHandler {
    let taken = WorldSession(session, in: world)
    take(taken)
    return taken
  }
}

/// The bytes of one session, as seen by the accessory; see ``WorldAccessory/takeSessions()``.
///
/// ```swift
/// let session = try #require(meter.sessions.first)
/// session.send([0x01, 0x02])
/// await world.settle()
/// #expect(session.received == [0x06])
/// ```
public final class WorldSession: SessionHandler, CustomReflectable, @unchecked Sendable {
  private let entrance: any LoopEntrance
  private let session: Session
  // Use this property only on the event loop.
  private var bytes: [UInt8] = []
  private var outgoing: [UInt8] = []
  private var isStalledNow = false

  init(_ session: Session, in world: SimulatedWorld) {
    self.session = session
    entrance = world.realm.entrance
  }

  /// The session's protocol.
  public var protocolName: String { session.protocolName }
  /// Whether the session is open.
  public var isOpen: Bool { entrance.sync { session.isOpen } }
  /// All bytes that the accessory has read in this session.
  public var received: [UInt8] { entrance.sync { bytes } }

  /// Sends bytes to the app. Bytes that do not fit yet are sent as soon as there is room.
  public func send(_ bytes: [UInt8]) {
    entrance.sync {
      outgoing += bytes
      push()
    }
  }

  /// The number of bytes that have not been sent yet, because there is no room for them.
  public var unsent: Int { entrance.sync { outgoing.count } }

  /// Whether the accessory has stopped reading. When the accessory stops reading, the app soon has no room to write.
  public var isStalled: Bool {
    get { entrance.sync { isStalledNow } }
    set {
      entrance.sync {
        isStalledNow = newValue
        if !newValue { pull() }
      }
    }
  }

  /// Ends the session.
  public func close() { entrance.sync { session.close() } }

  // MARK: Calls on the loop

  /// Reads the bytes that have arrived.
  public func sessionIsReadable(_ session: Session) { pull() }

  /// Sends bytes that did not fit earlier.
  public func sessionIsWritable(_ session: Session) { push() }

  /// Reads the last bytes of a session that has ended.
  public func session(_ session: Session, endedWith end: SessionEnd) { pull() }

  private func pull() {
    guard !isStalledNow else { return }
    session.read { span in
      span.withUnsafeBytes { bytes += $0 }
      return span.byteCount
    }
  }

  private func push() {
    while !outgoing.isEmpty {
      let taken = session.write(outgoing.span.bytes)
      if taken == 0 { return }
      outgoing.removeFirst(taken)
    }
  }

  /// A mirror without children, for the same reason as the mirror of ``SimulatedWorld``.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
