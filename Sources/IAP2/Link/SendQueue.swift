/// The packets one end has numbered and the other has not acknowledged, and those waiting for the window to open.
///
/// ```
///   acknowledged │ in flight: sent, not acknowledged │ waiting: numbered, not sent
///                 ^ first                             ^ first + inFlight
/// ```
///
/// Invariants: sequence numbers are consecutive; never more than the window in flight; a packet's bytes are built once
/// and sent as often as needed with a fresh acknowledgement number; buffers are reused, so a link in a steady state
/// allocates nothing.
struct SendQueue {
  /// Whose bytes a packet carries, so that a write can be held back when one session has too much waiting.
  typealias Owner = Int32

  private struct Packet {
    var bytes: [UInt8] = []
    var sequence: UInt8 = 0
    var session: UInt8 = 0
    var owner: Owner = SendQueue.linkItself
    var sentAt = WireTime(nanoseconds: 0)
    /// How often its timeout passed; only that counts towards giving up.
    var timeouts: UInt8 = 0
    var needsResend = false
    /// Sent again because of an extended acknowledgement, once per timeout at most: such lists come in bursts.
    var wasHastened = false
  }

  /// The owner of control messages and other packets nobody waits for.
  static let linkItself: Owner = -1

  private var packets: [Packet] = []
  private var first = 0
  private(set) var inFlight = 0
  private var resends = 0
  /// Whether something in flight was sent again, so that the oldest need not be the one due first.
  private var isShuffled = false
  private var spare: [[UInt8]] = []
  private var balances: [(owner: Owner, bytes: Int)] = []
  /// The number of the last packet sent for the first time; header-only packets repeat it.
  private(set) var lastSent: UInt8 = 0
  private var lastNumbered: UInt8 = 0

  /// How many packets wait for the window.
  var waiting: Int { packets.count - first - inFlight }

  /// Forgets everything and numbers the next packet after `sequence`, which was a SYN's.
  mutating func restart(after sequence: UInt8) {
    while first < packets.count { dropFirst() }
    inFlight = 0
    resends = 0
    isShuffled = false
    balances.removeAll(keepingCapacity: true)
    lastSent = sequence
    lastNumbered = sequence
  }

  /// Bytes of `owner` that are waiting or in flight.
  func balance(of owner: Owner) -> Int {
    for entry in balances where entry.owner == owner { return entry.bytes }
    return 0
  }

  /// Numbers a packet for `session`: `prefix` and then as much of `bytes` as `maximumPayload` allows. Returns how many
  /// bytes it took. Bytes of the same owner that find room in a packet not yet sent join it.
  mutating func append(
    session: UInt8, owner: Owner, prefix: UInt16?, bytes: RawSpan, maximumPayload: Int
  ) -> Int {
    if owner != SendQueue.linkItself, waiting > 0, packets[packets.count - 1].owner == owner {
      let last = packets.count - 1
      let taken = min(bytes.byteCount, maximumPayload + PacketHeader.overhead - packets[last].bytes.count)
      if taken > 0 {
        extend(last, with: bytes.extracting(0..<taken))
        credit(owner, taken)
        return taken
      }
    }
    let prefixSize = prefix == nil ? 0 : 2
    let count = min(bytes.byteCount, maximumPayload - prefixSize)
    lastNumbered &+= 1
    var packet = Packet()
    packet.bytes = spare.popLast() ?? []
    packet.sequence = lastNumbered
    packet.session = session
    packet.owner = owner
    build(&packet.bytes, prefix: prefix, payload: bytes.extracting(0..<count))
    packets.append(packet)
    credit(owner, count)
    return count
  }

  private func build(_ packet: inout [UInt8], prefix: UInt16?, payload: RawSpan) {
    packet.reserveCapacity(PacketHeader.overhead + 2 + payload.byteCount)
    PacketWriter.appendSpace(PacketHeader.size, to: &packet)
    var sum = Checksum.sum(payload)
    if let prefix {
      let (high, low) = (UInt8(prefix >> 8), UInt8(truncatingIfNeeded: prefix))
      packet.append(high)
      packet.append(low)
      sum &+= high &+ low
    }
    payload.withUnsafeBytes { packet.append(contentsOf: $0) }
    packet.append(0 &- sum)
  }

  private mutating func extend(_ index: Int, with payload: RawSpan) {
    let checksum = packets[index].bytes.removeLast()
    payload.withUnsafeBytes { packets[index].bytes.append(contentsOf: $0) }
    packets[index].bytes.append(checksum &- Checksum.sum(payload))
  }

  private mutating func credit(_ owner: Owner, _ bytes: Int) {
    guard owner != SendQueue.linkItself else { return }
    for index in balances.indices where balances[index].owner == owner {
      balances[index].bytes += bytes
      return
    }
    balances.append((owner, bytes))
  }

  private mutating func dropFirst() {
    var bytes: [UInt8] = []
    swap(&bytes, &packets[first].bytes)
    let owner = packets[first].owner
    if owner != SendQueue.linkItself {
      let payload = bytes.count - PacketHeader.overhead - 2
      for index in balances.indices where balances[index].owner == owner {
        balances[index].bytes -= payload
        if balances[index].bytes == 0 { balances.remove(at: index) }
        break
      }
    }
    if packets[first].needsResend { resends -= 1 }
    if spare.count < 8 {
      bytes.removeAll(keepingCapacity: true)
      spare.append(bytes)
    }
    first += 1
    if first == packets.count {
      packets.removeAll(keepingCapacity: true)
      first = 0
    } else if first >= 64, first * 2 > packets.count {
      packets.removeFirst(first)
      first = 0
    }
  }

  // MARK: Sending

  /// Whether `nextTransmit` has something to send under a window of `window` packets.
  func canTransmit(window: Int) -> Bool {
    resends > 0 || (inFlight < window && waiting > 0)
  }

  /// Appends the next packet to `out`; whether it was sent for the first time.
  mutating func transmit(
    into out: inout [UInt8], acknowledgement: UInt8, isAcknowledged: Bool, now: WireTime
  ) -> Bool {
    var index = first + inFlight
    let isFirstTime = resends == 0
    if !isFirstTime {
      index = first
      while !packets[index].needsResend { index += 1 }
      packets[index].needsResend = false
      resends -= 1
      isShuffled = true
    }
    packets[index].sentAt = now
    let header = PacketHeader(
      control: .ack, sequence: packets[index].sequence, acknowledgement: acknowledgement,
      session: packets[index].session, payloadCount: packets[index].bytes.count - PacketHeader.overhead)
    packets[index].bytes.withUnsafeMutableBytes { header.write(to: $0) }
    out.append(contentsOf: packets[index].bytes)
    if isFirstTime {
      lastSent = packets[index].sequence
      inFlight += 1
      if isAcknowledged { acknowledge(upTo: lastSent) }
    }
    return isFirstTime
  }

  // MARK: Acknowledgements

  /// Takes an acknowledgement number; returns how many packets it settled. One that is old, or names what was never
  /// sent, settles nothing.
  @discardableResult
  mutating func acknowledge(upTo sequence: UInt8) -> Int {
    guard inFlight > 0 else { return 0 }
    let count = Int(sequence &- packets[first].sequence) + 1
    guard count <= inFlight else { return 0 }
    for _ in 0..<count { dropFirst() }
    inFlight -= count
    if inFlight == 0 { isShuffled = false }
    return count
  }

  /// Takes an extended acknowledgement in whichever meaning it was sent: everything in flight up to the highest number
  /// it names goes out again, each packet once per timeout.
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

  /// When the next packet in flight is due to be sent again; nil when nothing is in flight or a repetition waits.
  func deadline(timeout: Milliseconds, _ scope: LinkSettings.Retransmission) -> WireTime? {
    guard inFlight > 0, resends == 0 else { return nil }
    var earliest = packets[first].sentAt
    if isShuffled, scope == .everyExpired {
      for index in first..<first + inFlight { earliest = min(earliest, packets[index].sentAt) }
    }
    return earliest + timeout
  }

  /// What a passing of the deadline means.
  enum Expiry: Equatable {
    case nothing
    case resend(Int)
    case giveUp(sequence: UInt8)
  }

  /// Marks what is due to be sent again at `now`.
  mutating func expire(
    now: WireTime, timeout: Milliseconds, limit: UInt8, _ scope: LinkSettings.Retransmission
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
