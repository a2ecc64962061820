/// Tracks the received sequence numbers, the acknowledgements that are due, and the packets that arrived out of order.
///
/// Invariants: every packet is delivered once and in order. `lastInOrder` advances by one. Packets outside the
/// announced window are not kept, so the packets that wait for a missing one fit into one window.
struct ReceiveWindow {
  enum Verdict: Equatable {
    /// The packet is the next in order.
    case next
    /// The packet was already delivered, so the other end missed the acknowledgement.
    case duplicate
    /// The packet is not the next one, but is inside the window.
    case ahead
    /// The packet is outside the window that this end announced.
    case outside
  }

  private struct Stored {
    var sequence: UInt8
    var session: UInt8
    var payload: [UInt8]
  }

  private(set) var lastInOrder: UInt8 = 0
  /// The number of delivered packets that have not been acknowledged, including those whose acknowledgement is
  /// withheld.
  private(set) var owed = 0
  private(set) var deadline: Instant?
  /// The acknowledgement number that this end repeats while a session is full.
  private var heldAt: UInt8?
  private var stored: [Stored] = []

  var acknowledgement: UInt8 { heldAt ?? lastInOrder }

  var isHolding: Bool { heldAt != nil }

  var keepsPackets: Bool { !stored.isEmpty }

  /// Resets the window after the other end has sent a SYN with the number `sequence`.
  mutating func restart(after sequence: UInt8) {
    lastInOrder = sequence
    owed = 0
    deadline = nil
    heldAt = nil
    stored.clear()
  }

  /// Classifies `sequence`, given a window of `window` packets.
  func judge(_ sequence: UInt8, window: UInt8) -> Verdict {
    let distance = sequence &- lastInOrder
    switch distance {
    case 1: return .next
    case 0, 128...: return .duplicate
    case ...window: return .ahead
    default: return .outside
    }
  }

  mutating func advance(now: Instant, timeout: Milliseconds, _ timer: LinkSettings.AcknowledgementTimer) {
    lastInOrder &+= 1
    owed += 1
    if heldAt == nil, deadline == nil || timer == .fromEach { deadline = now + timeout }
  }

  /// Counts the next packet as delivered on a link without acknowledgements.
  mutating func advanceSilently(to sequence: UInt8) {
    lastInOrder = sequence
  }

  /// Stores a packet that arrived out of order. Returns true if the packet was new.
  mutating func store(_ sequence: UInt8, session: UInt8, payload: RawSpan) -> Bool {
    if stored.contains(where: { $0.sequence == sequence }) { return false }
    stored.append(Stored(sequence: sequence, session: session, payload: payload.withUnsafeBytes { [UInt8]($0) }))
    return true
  }

  /// The session of the next packet in order, if that packet is stored.
  var successor: UInt8? {
    if stored.isEmpty { return nil }
    let next = lastInOrder &+ 1
    return stored.first { $0.sequence == next }?.session
  }

  /// Removes the packet that ``successor`` refers to, and returns its payload.
  mutating func takeSuccessor() -> [UInt8]? {
    let next = lastInOrder &+ 1
    guard let index = stored.firstIndex(where: { $0.sequence == next }) else { return nil }
    return stored.remove(at: index).payload
  }

  /// Returns the sequence numbers to list in an extended acknowledgement of this kind.
  func extendedAcknowledgement(_ meaning: LinkSettings.ExtendedAcknowledgement) -> [UInt8] {
    let base = lastInOrder
    let ahead = stored.map(\.sequence).sorted { $0 &- base < $1 &- base }
    guard meaning == .missing, let highest = ahead.last else { return ahead }
    return (1..<(highest &- base)).map { base &+ $0 }.filter { !ahead.contains($0) }
  }

  /// Records that an acknowledgement was sent, alone or with data.
  mutating func settle() {
    guard heldAt == nil else { return }
    owed = 0
    deadline = nil
  }

  /// Clears the deadline, because an acknowledgement is about to be sent.
  mutating func forgetDeadline() {
    deadline = nil
  }

  /// Returns true if an acknowledgement may cover this delivered packet.
  func covers(_ sequence: UInt8) -> Bool {
    heldAt.map { $0 &- sequence < 128 } ?? true
  }

  /// Withholds acknowledgements of all packets after the current number. Returns true if the current number still has
  /// to be acknowledged.
  mutating func hold() -> Bool {
    guard heldAt == nil else { return false }
    heldAt = lastInOrder
    deadline = nil
    defer { owed = 0 }
    return owed > 0
  }

  /// Resumes acknowledgements. Returns true if an acknowledgement must be sent immediately.
  mutating func release() -> Bool {
    guard heldAt != nil else { return false }
    heldAt = nil
    return owed > 0
  }
}
