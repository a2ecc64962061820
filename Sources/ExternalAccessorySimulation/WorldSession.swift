public import AccessorySessions
import ExternalAccessory
public import IAP2

/// One session from the accessory's side, as bytes: see ``WorldAccessory/takeSessions()``.
///
/// ```swift
/// let session = try #require(meter.sessions.first)
/// session.send([0x01, 0x02])
/// await world.settle()
/// #expect(session.received == [0x06])
/// ```
public final class WorldSession: SessionHandler, @unchecked Sendable {
  private let entrance: any LoopEntrance
  private let session: Session
  // On the loop.
  private var bytes: [UInt8] = []
  private var outgoing: [UInt8] = []
  private var isStalledNow = false

  init(_ session: Session, in world: SimulatedWorld) {
    self.session = session
    entrance = world.realm.entrance
  }

  /// The protocol.
  public var protocolName: String { session.protocolName }
  /// Whether it is open.
  public var isOpen: Bool { entrance.sync { session.isOpen } }
  /// All bytes that the accessory has read.
  public var received: [UInt8] { entrance.sync { bytes } }

  /// Sends bytes to the app. What does not fit now is sent as soon as there is room.
  public func send(_ bytes: [UInt8]) {
    entrance.sync {
      outgoing += bytes
      push()
    }
  }

  /// The number of bytes that still wait for room.
  public var unsent: Int { entrance.sync { outgoing.count } }

  /// While it is true the accessory reads nothing, so that the app's writes soon find no room.
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

  // MARK: On the loop

  /// Bytes arrived.
  public func sessionIsReadable(_ session: Session) { pull() }

  /// There is room again.
  public func sessionIsWritable(_ session: Session) { push() }

  /// The session ended.
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
}

/// See ``SimulatedWorld``'s mirror.
extension WorldSession: CustomReflectable {
  /// Empty.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
