/// The External Accessory sessions of one link, and the bytes that arrived for each and nobody has read.
///
/// A linear list: an accessory has a handful. Bytes are handed over by swapping buffers, so that reading copies nothing
/// and a session in a steady state allocates nothing.
///
/// Invariant: `unread` counts every byte from its arrival until the reader says that it is done with it, wherever it
/// lies meanwhile.
struct SessionTable {
  struct Entry {
    var id: UInt16
    var protocolID: UInt8
    /// Arrived and not yet handed over.
    var inbox: [UInt8] = []
    /// Arrived and not yet consumed, handed over or not.
    var unread = 0
    /// Since when as much is unread as may be.
    var fullSince: Instant?
    /// Whether the reader was told and has not looked since.
    var isAnnounced = false
    /// Whether its reader had been told when this delivery began, or had left as much unread as may be.
    var hadChance = false
    /// Whether a write was cut short and its writer waits for room.
    var wantsRoom = false
    /// Asked for by the device and not answered yet: what arrives is kept for the answer, and nobody is told.
    var isPending = false
    /// Over; stays until the rest of the inbox is handed over.
    var isEnded = false
    /// Whether anything came from the other end: an EA03 "close" before that is a refusal.
    var hasSpoken = false
  }

  private(set) var entries: [Entry] = []
  /// How many writers wait for room, so that asking costs nothing when none does.
  private(set) var waitingWriters = 0
  /// How many are full, so that asking costs nothing when none is.
  private var fullCount = 0
  /// How many are over and wait for their inbox to be collected.
  private var ended = 0
  private static let uncollectedLimit = 256

  /// How many are open or asked for.
  var openCount: Int { entries.count - ended }

  func index(of id: UInt16) -> Int? {
    for index in entries.indices where entries[index].id == id && !entries[index].isEnded { return index }
    return nil
  }

  func isOpen(_ id: UInt16) -> Bool { index(of: id).map { !entries[$0].isPending } ?? false }

  /// The session is asked for, and not answered yet.
  func isPending(_ id: UInt16) -> Bool { index(of: id).map { entries[$0].isPending } ?? false }

  mutating func open(_ id: UInt16, protocolID: UInt8, isPending: Bool = false) {
    precondition(index(of: id) == nil, "a session number is open once")
    entries.append(Entry(id: id, protocolID: protocolID, isPending: isPending))
  }

  /// A pending session is accepted; whether bytes wait for its reader.
  mutating func accept(_ id: UInt16) -> Bool {
    guard let index = index(of: id) else { return false }
    entries[index].isPending = false
    entries[index].isAnnounced = !entries[index].inbox.isEmpty
    return entries[index].isAnnounced
  }

  /// A pending session is not wanted; how many bytes had come for it.
  mutating func drop(_ id: UInt16) -> Int {
    guard let index = index(of: id) else { return 0 }
    setFull(nil, at: index)
    return entries.remove(at: index).inbox.count
  }

  /// Takes bytes for a session; whether its reader must be told.
  mutating func deliver(_ bytes: RawSpan, at index: Int) -> Bool {
    bytes.withUnsafeBytes { entries[index].inbox.append(contentsOf: $0) }
    entries[index].unread += bytes.byteCount
    entries[index].hasSpoken = true
    if entries[index].isAnnounced || entries[index].isPending { return false }
    entries[index].isAnnounced = true
    return true
  }

  /// Takes note whose readers could have read before the delivery that begins.
  mutating func noteChances(bound: Int) {
    for index in entries.indices {
      entries[index].hadChance = entries[index].isAnnounced || entries[index].unread >= bound
    }
  }

  /// The other end confirmed the session.
  mutating func noteAnswer(at index: Int) {
    entries[index].hasSpoken = true
  }

  /// Hands the inbox over for an empty buffer. An ended session is forgotten with it.
  mutating func exchange(_ id: UInt16, _ buffer: inout [UInt8]) {
    guard let index = entries.firstIndex(where: { $0.id == id }) else { return }
    swap(&entries[index].inbox, &buffer)
    entries[index].isAnnounced = false
    if entries[index].isEnded { forget(index) }
  }

  /// The reader is done with `count` bytes.
  mutating func consume(_ count: Int, of id: UInt16, bound: Int) {
    guard let index = index(of: id) else { return }
    // A late reader of another session that had this number may be done with more than came for this one.
    entries[index].unread = max(0, entries[index].unread - count)
    if entries[index].unread < bound { setFull(nil, at: index) }
  }

  /// A session has as much unread as it may; since when, if that is new.
  mutating func noteFull(at index: Int, now: Instant) {
    if entries[index].fullSince == nil { setFull(now, at: index) }
  }

  private mutating func setFull(_ since: Instant?, at index: Int) {
    fullCount += (since == nil ? 0 : 1) - (entries[index].fullSince == nil ? 0 : 1)
    entries[index].fullSince = since
  }

  /// Since when the session is full that has been so the longest.
  var fullSince: Instant? {
    if fullCount == 0 { return nil }
    return entries.compactMap(\.fullSince).min()
  }

  /// A session is over. It stays for its inbox, if it has one; of those that nobody collects the oldest go.
  mutating func end(_ id: UInt16) -> Bool {
    guard let index = index(of: id) else { return false }
    setWantsRoom(false, at: index)
    setFull(nil, at: index)
    if entries[index].inbox.isEmpty {
      entries.remove(at: index)
      return true
    }
    entries[index].isEnded = true
    ended += 1
    if ended > Self.uncollectedLimit, let oldest = entries.firstIndex(where: \.isEnded) { forget(oldest) }
    return true
  }

  private mutating func forget(_ index: Int) {
    if entries[index].isEnded { ended -= 1 }
    entries.remove(at: index)
  }

  mutating func setWantsRoom(_ wants: Bool, at index: Int) {
    if entries[index].wantsRoom != wants { waitingWriters += wants ? 1 : -1 }
    entries[index].wantsRoom = wants
  }
}
