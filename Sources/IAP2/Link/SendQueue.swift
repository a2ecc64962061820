/// Holds the packets that this end has numbered and the other end has not acknowledged, including packets waiting for
/// the window to open.
///
/// ```
///   acknowledged │ in flight: sent, not acknowledged │ waiting: numbered, not sent
///                 ^ first                             ^ first + inFlight
/// ```
///
/// Invariants: sequence numbers are consecutive. The packets in flight never exceed the window. A packet is built once,
/// and only its acknowledgement number changes each time it is sent. Memory is reused, so a link with steady traffic
/// allocates nothing.
struct SendQueue {
  /// The session that a packet's bytes belong to. Writes to a session are refused while too many of its bytes are
  /// queued.
  typealias Owner = Int32

  private struct Packet {
    var place: Int
    var count: Int
    var sequence: UInt8
    var session: UInt8
    var owner: Owner
    var sentAt = Instant(nanoseconds: 0)
    /// The number of times that the packet's timeout has expired. Only timeouts count towards giving up on the link.
    var timeouts: UInt8 = 0
    var needsResend = false
    /// Whether the packet was retransmitted because of an extended acknowledgement. Extended acknowledgements arrive in
    /// bursts, so they cause at most one retransmission of a packet per timeout.
    var wasHastened = false
  }

  /// The owner of control messages and other packets that do not count towards any session's limit.
  static let linkItself: Owner = -1

  /// Up to eight bytes that precede a packet's bytes, packed into a big-endian integer to avoid allocating an array.
  struct Prefix {
    fileprivate let bytes: UInt64
    fileprivate let count: Int

    /// Creates a prefix from the lowest `count` bytes of `number`.
    init(_ number: UInt64, count: Int) {
      bytes = number << UInt64(64 - 8 * count)
      self.count = count
    }

    static let none = Prefix(0, count: 0)
  }

  private var packets: [Packet] = []
  private var tape = PacketTape()
  private var first = 0
  private(set) var inFlight = 0
  private var resends = 0
  /// Whether a packet in flight was retransmitted, in which case the oldest packet is not necessarily the next to time
  /// out.
  private var isShuffled = false
  /// The number of bytes in message and file packets that are queued or in flight.
  private(set) var messageBytes = 0
  /// An entry with 0 bytes can be reused for another owner.
  private var balances: [(owner: Owner, bytes: Int)] = []
  /// The last sequence number used for a new packet. Header-only packets repeat this number.
  private(set) var lastSent: UInt8 = 0
  private var lastNumbered: UInt8 = 0

  var waiting: Int { packets.count - first - inFlight }

  /// Empties the queue and continues numbering after `sequence`, the SYN's number.
  mutating func restart(after sequence: UInt8) {
    packets.clear()
    tape.clear()
    first = 0
    inFlight = 0
    resends = 0
    isShuffled = false
    balances.clear()
    messageBytes = 0
    lastSent = sequence
    lastNumbered = sequence
  }

  /// Returns how many of the owner's bytes are waiting or in flight.
  func balance(of owner: Owner) -> Int {
    balanceIndex(of: owner).map { balances[$0].bytes } ?? 0
  }

  private func balanceIndex(of owner: Owner) -> Int? {
    guard let first = balances.first else { return nil }
    // Sessions have consecutive numbers, and usually first write in that order.
    let guess = Int(owner - first.owner)
    if balances.indices.contains(guess), balances[guess].owner == owner { return guess }
    return balances.firstIndex { $0.owner == owner }
  }

  /// The total size of the packets in flight and the oldest packet's sequence number, or nil if no packet is in flight.
  var inFlightBytes: (bytes: Int, oldest: UInt8)? {
    guard inFlight > 0 else { return nil }
    return (packets[first..<first + inFlight].reduce(0) { $0 + $1.count }, packets[first].sequence)
  }

  // MARK: Building

  /// Queues a packet for `session`, with `prefix` and as much of `bytes` as `maximumPayload` allows. Returns how many
  /// bytes were queued. If the owner's newest packet is unsent and has room, the bytes are added to that packet.
  mutating func append(
    session: UInt8, owner: Owner, prefix: Prefix, bytes: RawSpan, maximumPayload: Int
  ) -> Int {
    if owner != SendQueue.linkItself, waiting > 0 {
      let last = packets.count - 1
      let room = maximumPayload + PacketHeader.overhead - packets[last].count
      if packets[last].owner == owner, room > 0 {
        let taken = min(bytes.byteCount, room)
        extendNewest(with: bytes.extracting(first: taken))
        credit(owner, taken)
        return taken
      }
    }
    let taken = min(bytes.byteCount, maximumPayload - prefix.count)
    let count = PacketHeader.overhead + prefix.count + taken
    lastNumbered &+= 1
    let place = reserve(count)
    build(place..<place + count, prefix: prefix, payload: bytes.extracting(first: taken))
    if packets.capacity == 0 { packets.reserveCapacity(4) }
    packets.append(Packet(place: place, count: count, sequence: lastNumbered, session: session, owner: owner))
    if owner == SendQueue.linkItself { messageBytes += count } else { credit(owner, taken) }
    return taken
  }

  /// Writes the payload and its checksum; the header is written when the packet is sent.
  private mutating func build(_ range: Range<Int>, prefix: Prefix, payload: RawSpan) {
    tape.withMutable(range) { packet in
      var start = PacketHeader.size
      var sum: UInt8 = 0
      var left = prefix.bytes
      for _ in 0..<prefix.count {
        let byte = UInt8(truncatingIfNeeded: left >> 56)
        packet[start] = byte
        sum &+= byte
        left <<= 8
        start += 1
      }
      sum &+= Checksum.copy(payload, to: .init(rebasing: packet[start...]))
      packet[packet.count - 1] = 0 &- sum
    }
  }

  private mutating func extendNewest(with payload: RawSpan) {
    let (last, more) = (packets.count - 1, payload.byteCount)
    if !tape.extendNewest(by: more) {
      if let place = tape.moveNewest(at: packets[last].place, count: packets[last].count, extendedBy: more) {
        packets[last].place = place
      } else {
        grow(by: more)
        let isThere = tape.extendNewest(by: more)
        precondition(isThere, "an enlarged tape must have room after its newest packet")
      }
    }
    let start = packets[last].count - 1
    packets[last].count += more
    tape.withMutable(packets[last].place..<packets[last].place + packets[last].count) { packet in
      let checksum = packet[start]
      packet[packet.count - 1] = checksum &- Checksum.copy(payload, to: .init(rebasing: packet[start...]))
    }
  }

  private mutating func reserve(_ count: Int) -> Int {
    if let place = tape.reserve(count) { return place }
    grow(by: count)
    guard let place = tape.reserve(count) else { preconditionFailure("an enlarged tape must have room") }
    return place
  }

  private mutating func grow(by count: Int) {
    tape.grow(by: count)
    var place = 0
    for index in packets.indices.dropFirst(first) {
      packets[index].place = place
      place += packets[index].count
    }
  }

  private mutating func credit(_ owner: Owner, _ bytes: Int) {
    if let index = balanceIndex(of: owner) {
      balances[index].bytes += bytes
    } else if let index = balances.firstIndex(where: { $0.bytes == 0 }) {
      balances[index] = (owner, bytes)
    } else {
      balances.append((owner, bytes))
    }
  }

  private mutating func debit(_ owner: Owner, _ bytes: Int) {
    if let index = balanceIndex(of: owner) { balances[index].bytes -= bytes }
  }

  private mutating func dropFirst(_ count: Int) {
    for index in first..<first + count {
      let packet = packets[index]
      if packet.owner == SendQueue.linkItself {
        messageBytes -= packet.count
      } else {
        debit(packet.owner, packet.count - PacketHeader.overhead - 2)
      }
      if packets[index].needsResend { resends -= 1 }
    }
    first += count
    inFlight -= count
    if first == packets.count {
      packets.clear()
      tape.clear()
      first = 0
      return
    }
    tape.forget(before: packets[first].place)
    if first >= 64, first * 2 > packets.count {
      packets.removeFirst(first)
      first = 0
    }
  }

  mutating func borrow(from spares: SpareBuffers) { tape.spares = spares }

  /// Frees the queue's memory if the queue is empty.
  mutating func releaseMemory() {
    guard packets.isEmpty else { return }
    packets = []
    tape.releaseMemory()
  }

  // MARK: Sending

  struct Run {
    var bytes: Range<Int>
    /// The packets that continue at the front of the tape, if the run wraps around.
    var rest = 0..<0
    var packets: Int
    /// Whether the sequence numbers in this run wrap from 255 to 0.
    var wraps: Bool
  }

  /// Returns true if a window of `window` packets allows a packet to be sent now.
  func canTransmit(window: Int) -> Bool {
    resends > 0 || (inFlight < window && waiting > 0)
  }

  /// Takes the next packets to send: at least one, and then more until their total size reaches `limit` bytes.
  /// Retransmissions come first, one at a time. All returned packets count as sent.
  mutating func takeRun(atMost limit: Int, window: Int, acknowledgement: UInt8, now: Instant) -> Run {
    if resends > 0 {
      var index = first
      while !packets[index].needsResend { index += 1 }
      packets[index].needsResend = false
      resends -= 1
      isShuffled = true
      prepare(index, acknowledgement, now)
      return Run(bytes: packets[index].place..<packets[index].place + packets[index].count, packets: 1, wraps: false)
    }
    let start = first + inFlight
    var run = Run(bytes: packets[start].place..<packets[start].place, packets: 0, wraps: false)
    repeat {
      let index = first + inFlight
      prepare(index, acknowledgement, now)
      let (place, end) = (packets[index].place, packets[index].place + packets[index].count)
      if place == run.bytes.upperBound {
        run.bytes = run.bytes.lowerBound..<end
      } else {
        run.rest = (run.rest.isEmpty ? place : run.rest.lowerBound)..<end
      }
      run.packets += 1
      lastSent = packets[index].sequence
      if lastSent == 0 { run.wraps = true }
      inFlight += 1
    } while run.bytes.count + run.rest.count < limit && inFlight < window && waiting > 0
    return run
  }

  private mutating func prepare(_ index: Int, _ acknowledgement: UInt8, _ now: Instant) {
    packets[index].sentAt = now
    let packet = packets[index]
    let header = PacketHeader(
      control: .ack, sequence: packet.sequence, acknowledgement: acknowledgement, session: packet.session,
      payloadCount: packet.count - PacketHeader.overhead)
    tape.withMutable(packet.place..<packet.place + PacketHeader.size) { header.write(to: $0) }
  }

  /// Passes a run's packets to a closure, as one or two spans of bytes that stay in place until the next packet is
  /// built. The second span is empty unless the run wraps around.
  func show(_ run: Run, to body: (RawSpan, RawSpan) -> Void) {
    tape.with(run.bytes) { bytes in tape.with(run.rest) { body(bytes, $0) } }
  }

  // MARK: Acknowledgements

  /// Handles an acknowledgement number. Returns the number of newly acknowledged packets, which is 0 if the number is
  /// stale or refers to a packet that was never sent.
  @discardableResult
  mutating func acknowledge(upTo sequence: UInt8) -> Int {
    guard inFlight > 0 else { return 0 }
    let count = Int(sequence &- packets[first].sequence) + 1
    guard count <= inFlight else { return 0 }
    dropFirst(count)
    if inFlight == 0 { isShuffled = false }
    return count
  }

  /// Handles either form of extended acknowledgement by retransmitting every packet in flight up to the highest number
  /// in the list.
  mutating func hasten(_ sequences: RawSpan) -> Int {
    guard inFlight > 0 else { return 0 }
    var highest = -1
    for offset in 0..<sequences.byteCount {
      let sequence = sequences.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
      let distance = Int(sequence &- packets[first].sequence)
      if distance < inFlight { highest = max(highest, distance) }
    }
    guard highest >= 0 else { return 0 }
    var count = 0
    for index in first...(first + highest) where !packets[index].wasHastened && !packets[index].needsResend {
      packets[index].wasHastened = true
      packets[index].needsResend = true
      count += 1
    }
    resends += count
    return count
  }

  // MARK: Time

  /// Returns the time of the next retransmission, or nil if nothing is in flight or a retransmission is already queued.
  func deadline(timeout: Milliseconds, _ scope: LinkSettings.Retransmission) -> Instant? {
    guard inFlight > 0, resends == 0 else { return nil }
    var earliest = packets[first].sentAt
    if isShuffled, scope == .everyExpired {
      for index in first..<first + inFlight { earliest = min(earliest, packets[index].sentAt) }
    }
    return earliest + timeout
  }

  enum Expiry: Equatable {
    case nothing
    case resend(Int)
    case giveUp(sequence: UInt8)
  }

  mutating func expire(
    now: Instant, timeout: Milliseconds, limit: UInt8, _ scope: LinkSettings.Retransmission
  ) -> Expiry {
    guard let deadline = deadline(timeout: timeout, scope), deadline <= now else { return .nothing }
    let last = scope == .oldestOnly ? first : first + inFlight - 1
    var count = 0
    for index in first...last where packets[index].sentAt + timeout <= now {
      if packets[index].timeouts >= limit { return .giveUp(sequence: packets[index].sequence) }
      packets[index].timeouts += 1
      packets[index].needsResend = true
      packets[index].wasHastened = false
      count += 1
    }
    resends += count
    return .resend(count)
  }
}
