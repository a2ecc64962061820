public import AccessorySessions
import ExternalAccessory
public import IAP2

/// The accessory's end of one session, as bytes: see ``WorldAccessory/takeSessions()``.
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

  /// The protocol it was opened for.
  public var protocolName: String { session.protocolName }
  /// Whether it is open.
  public var isOpen: Bool { entrance.sync { session.isOpen } }
  /// Everything that the accessory has read.
  public var received: [UInt8] { entrance.sync { bytes } }

  /// Sends bytes to the app; what does not fit now goes as soon as it does.
  public func send(_ bytes: [UInt8]) {
    entrance.sync {
      outgoing += bytes
      push()
    }
  }

  /// Bytes that were sent and not taken yet, for want of room at the other end.
  public var unsent: Int { entrance.sync { outgoing.count } }

  /// While it is set, the accessory reads nothing, and writing to it comes to a halt.
  public var isStalled: Bool {
    get { entrance.sync { isStalledNow } }
    set {
      entrance.sync {
        isStalledNow = newValue
        if !newValue { pull() }
      }
    }
  }

  /// Ends the session from the accessory's side.
  public func close() { entrance.sync { session.close() } }

  // MARK: On the loop

  /// Bytes came.
  public func sessionIsReadable(_ session: Session) { pull() }

  /// There is room again.
  public func sessionIsWritable(_ session: Session) { push() }

  /// It is over.
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

/// As with ``SimulatedWorld``.
extension WorldSession: CustomReflectable {
  /// Empty.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
