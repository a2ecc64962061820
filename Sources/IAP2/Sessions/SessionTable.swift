/// Stores one link's External Accessory sessions, with each session's unread bytes.
///
/// Devices number sessions consecutively, so a session's index follows from its number, unless a session in the middle
/// has been removed. Reading swaps buffers, so that no bytes are copied and a session with steady traffic allocates
/// nothing.
///
/// Invariant: `unread` counts every byte from its arrival until the reader has finished with it, wherever the byte is
/// stored.
struct SessionTable {
  enum Phase {
    /// The device requested the session, and the accessory has not answered. Bytes that arrive for the session are kept
    /// until the accessory accepts it.
    case requested
    /// The session is open, but nothing has arrived from the other end; an EA03 with the status "close" then counts as
    /// a refusal.
    case open
    /// The session is open, and the other end has confirmed it or sent bytes.
    case heard
    /// The session has ended, but is kept until the rest of its inbox has been read.
    case ended
  }

  struct Entry {
    var id: UInt16
    var protocolID: UInt8
    var phase: Phase
    /// Whether the reader has been notified of bytes that it has not taken yet.
    var isNotified = false
    var inbox: [UInt8] = []
    /// The number of bytes that have arrived but have not been consumed, even if the reader has taken them.
    var unread = 0
    /// The time at which the session reached its limit of unread bytes.
    var fullSince: Instant?
    /// The time before which writes are refused, because some accessories need a delay after a session opens.
    var holdsWritesUntil: Instant?
    /// Whether a write was partial and its writer is waiting for room.
    var wantsRoom = false

    /// Appends bytes to the inbox. Returns true if the reader must be notified.
    fileprivate mutating func take(_ bytes: RawSpan) -> Bool {
      bytes.withUnsafeBytes { inbox.append(contentsOf: $0) }
      unread += bytes.byteCount
      if phase == .requested { return false }
      phase = .heard
      if isNotified { return false }
      isNotified = true
      return true
    }
  }

  private(set) var entries: [Entry] = []
  /// Where inboxes borrow their memory; nil if each keeps its own.
  var spares: SpareBuffers?
  /// Whether each entry's number is one more than the number of the entry before it.
  private var isConsecutive = true
  /// The number of writers waiting for room, kept so that no search is needed when none are waiting.
  private(set) var waitingWriters = 0
  /// The number of full sessions, kept so that no search is needed when none are full.
  private var fullCount = 0
  /// The number of ended sessions that are kept until their inboxes are read.
  private var ended = 0
  private static let uncollectedLimit = 256

  var openCount: Int { entries.count - ended }

  func index(of id: UInt16) -> Int? {
    if isConsecutive { return firstIndex(of: id).flatMap { entries[$0].phase == .ended ? nil : $0 } }
    for index in entries.indices where entries[index].id == id && entries[index].phase != .ended { return index }
    return nil
  }

  /// Returns the index of the first session with this number, whether or not it has ended.
  private func firstIndex(of id: UInt16) -> Int? {
    guard isConsecutive else { return entries.firstIndex { $0.id == id } }
    guard !entries.isEmpty else { return nil }
    let index = Int(id &- entries[0].id)
    return index < entries.count ? index : nil
  }

  private mutating func remove(at index: Int) -> Entry {
    if index > 0, index < entries.count - 1 { isConsecutive = false }
    let entry = entries.remove(at: index)
    if entries.isEmpty { isConsecutive = true }
    return entry
  }

  func isOpen(_ id: UInt16) -> Bool { index(of: id).map { entries[$0].phase != .requested } ?? false }

  func isRequested(_ id: UInt16) -> Bool { index(of: id).map { entries[$0].phase == .requested } ?? false }

  mutating func open(_ id: UInt16, protocolID: UInt8, _ phase: Phase = .open) {
    precondition(index(of: id) == nil, "a session number can be open only once")
    if let last = entries.last, id != last.id &+ 1 { isConsecutive = false }
    entries.append(Entry(id: id, protocolID: protocolID, phase: phase))
  }

  /// Accepts a requested session. Returns true if bytes are waiting for the session's reader.
  mutating func accept(_ id: UInt16) -> Bool {
    guard let index = index(of: id) else { return false }
    let hasBytes = !entries[index].inbox.isEmpty
    entries[index].phase = hasBytes ? .heard : .open
    entries[index].isNotified = hasBytes
    return hasBytes
  }

  /// Refuses a requested session. Returns how many bytes had arrived for the session.
  mutating func drop(_ id: UInt16) -> Int {
    guard let index = index(of: id) else { return 0 }
    setFull(nil, at: index)
    return remove(at: index).inbox.count
  }

  /// Adds bytes to a session's inbox. Returns true if the session's reader must be notified.
  mutating func deliver(_ bytes: RawSpan, at index: Int) -> Bool {
    spares?.lend(to: &entries[index].inbox, room: bytes.byteCount)
    return entries[index].take(bytes)
  }

  mutating func noteAnswer(at index: Int) {
    entries[index].phase = .heard
  }

  /// Swaps the inbox with an empty buffer, and removes the session if it has ended.
  mutating func takeInbox(_ id: UInt16, _ buffer: inout [UInt8]) {
    guard let index = firstIndex(of: id) else { return }
    swap(&entries[index].inbox, &buffer)
    entries[index].isNotified = false
    if entries[index].phase == .ended { forget(index) }
  }

  mutating func consume(_ count: Int, of id: UInt16, bound: Int) {
    guard let index = index(of: id) else { return }
    // A late reader of an earlier session with the same number may report more bytes than this session received.
    entries[index].unread = max(0, entries[index].unread - count)
    if fullCount > 0, entries[index].unread < bound { setFull(nil, at: index) }
  }

  mutating func noteFull(at index: Int, now: Instant) {
    if entries[index].fullSince == nil { setFull(now, at: index) }
  }

  private mutating func setFull(_ since: Instant?, at index: Int) {
    fullCount += (since == nil ? 0 : 1) - (entries[index].fullSince == nil ? 0 : 1)
    entries[index].fullSince = since
  }

  /// The earliest time at which a delayed session accepts writes, or nil if no session delays writes.
  private(set) var heldUntil: Instant?

  mutating func holdWrites(at index: Int, until time: Instant?) {
    entries[index].holdsWritesUntil = time
    heldUntil = entries.compactMap(\.holdsWritesUntil).min()
  }

  var fullSince: Instant? {
    if fullCount == 0 { return nil }
    return entries.compactMap(\.fullSince).min()
  }

  /// Ends a session. An ended session is kept while its inbox has unread bytes; if inboxes are never read, the oldest
  /// sessions are dropped.
  mutating func end(_ id: UInt16) -> Bool {
    guard let index = index(of: id) else { return false }
    setWantsRoom(false, at: index)
    setFull(nil, at: index)
    if heldUntil != nil { holdWrites(at: index, until: nil) }
    if entries[index].inbox.isEmpty {
      _ = remove(at: index)
      return true
    }
    entries[index].phase = .ended
    ended += 1
    if ended > Self.uncollectedLimit, let oldest = entries.firstIndex(where: { $0.phase == .ended }) { forget(oldest) }
    return true
  }

  private mutating func forget(_ index: Int) {
    if entries[index].phase == .ended { ended -= 1 }
    _ = remove(at: index)
  }

  mutating func setWantsRoom(_ wants: Bool, at index: Int) {
    if entries[index].wantsRoom != wants { waitingWriters += wants ? 1 : -1 }
    entries[index].wantsRoom = wants
  }
}

/// The reason an External Accessory session ended.
public enum SessionEnd: Error, Equatable, Sendable, CustomStringConvertible {
  /// The device closed the session with EA01, or the app closed it.
  case closedByDevice
  /// The accessory closed the session with EA03, status 1.
  case closedByAccessory
  /// The accessory refused the session before any bytes arrived.
  case refused
  case linkDown(LinkEnd)
  case channelEnded(String)
  /// The session's bytes were not read, and waiting longer would have ended the link.
  case notRead(bytes: Int)

  /// A sentence fragment such as "the accessory closed it".
  public var description: String {
    switch self {
    case .closedByDevice: "the device closed it"
    case .closedByAccessory: "the accessory closed it"
    case .refused: "the accessory refused it"
    case .linkDown(let end): "the link went down: \(end)"
    case .channelEnded(let how): how
    case .notRead(let bytes): "\(bytes) received bytes were never read"
    }
  }
}

// Three messages open and close sessions: the device sends EA00 and EA01, and the accessory sends EA03.

extension ControlMessage {
  static func startSession(_ id: UInt16, protocolID: UInt8) -> ControlMessage {
    ControlMessage(.startExternalAccessorySession) {
      $0.u8(0, protocolID)
      $0.u16(1, id)
    }
  }

  static func stopSession(_ id: UInt16) -> ControlMessage {
    ControlMessage(.stopExternalAccessorySession) { $0.u16(0, id) }
  }

  static func sessionStatus(_ id: UInt16, close: Bool) -> ControlMessage {
    ControlMessage(.externalAccessorySessionStatus) {
      $0.u16(0, id)
      $0.u8(1, close ? 1 : 0)
    }
  }
}
