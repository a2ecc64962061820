/// One direction of a loopback cable, which holds the bytes that have been sent but not received, and their arrival
/// times.
///
/// Bytes are appended to one buffer and delivered from another. The buffers are swapped when the second buffer is
/// empty. The span that a receiver reads therefore stays valid while more bytes are sent into the pipe. Once the
/// buffers are large enough, no bytes are moved and no memory is allocated.
final class LoopbackPipe {
  private struct Segment {
    var arrival: Instant
    var count: Int
  }

  /// The fewest bytes that a rate-limited line delivers at a time; faster lines deliver a hundredth of a second's
  /// worth.
  private static let leastStep = 64

  private let capacity: Int
  /// The latency in nanoseconds, stored as a plain number because every send adds it to a time.
  private let latency: Int64
  private let bytesPerSecond: Int?
  private let keepsTransfersApart: Bool
  private let spares: SpareBuffers

  // Overlapping access is not checked, because this code runs for every packet; a pipe belongs to one loop and calls no
  // other code.
  @exclusivity(unchecked) private var filling = ByteTank()
  @exclusivity(unchecked) private var draining = ByteTank()
  @exclusivity(unchecked) private var drained = 0
  @exclusivity(unchecked) private var segments = Queue<Segment>()
  /// The time at which the most recently sent byte leaves the sender.
  @exclusivity(unchecked) private var lineIsFree = Instant.origin
  @exclusivity(unchecked) private var lost = 0
  @exclusivity(unchecked) private var ending: (end: ChannelEnd, arrival: Instant)?

  @exclusivity(unchecked) var senderWaits = false

  init(
    capacity: Int, latency: Duration, bytesPerSecond: Int?, keepsTransfersApart: Bool, spares: SpareBuffers
  ) {
    self.capacity = capacity
    self.latency = latency.wholeNanoseconds
    self.bytesPerSecond = bytesPerSecond
    self.keepsTransfersApart = keepsTransfersApart
    self.spares = spares
  }

  /// Whether the pipe accepts bytes, which it does until either end closes it.
  var isOpen: Bool { ending == nil }

  var hasRoom: Bool { held < capacity }

  /// The number of bytes that were accepted but not received, including bytes lost when the pipe was cut.
  var undelivered: Int { held + lost }

  private var held: Int { filling.count + draining.count - drained }

  // MARK: - Sending

  /// Accepts as many of `bytes` as fit, and returns how many were accepted.
  func take(_ bytes: RawSpan, now: Instant) -> Int {
    let count = min(bytes.byteCount, capacity - held)
    guard count > 0 else { return 0 }
    filling.append(bytes.extracting(first: count), spares)
    guard let bytesPerSecond else {
      lineIsFree = now
      addSegment(count)
      return count
    }
    lineIsFree = max(lineIsFree, now)
    // A transfer arrives as a whole; in a stream, the first bytes are delivered without waiting for the last.
    let step = keepsTransfersApart ? count : max(Self.leastStep, bytesPerSecond / 100)
    var left = count
    while left > 0 {
      let next = min(step, left)
      lineIsFree = lineIsFree + .nanoseconds(next * 1_000_000_000 / bytesPerSecond)
      addSegment(next)
      left -= next
    }
    return count
  }

  private func addSegment(_ count: Int) {
    let arrival = arrival(of: lineIsFree)
    if !keepsTransfersApart, segments.last?.arrival == arrival {
      segments[segments.count - 1].count += count
    } else {
      segments.append(Segment(arrival: arrival, count: count))
    }
  }

  /// Closes the pipe cleanly: the receiver gets every accepted byte before the end is reported.
  func finish(_ end: ChannelEnd, now: Instant) {
    if ending == nil { ending = (end, arrival(of: max(lineIsFree, now))) }
  }

  /// Returns the arrival time of bytes that leave the sender at `departure`.
  private func arrival(of departure: Instant) -> Instant {
    let (sum, isTooLate) = departure.nanoseconds.addingReportingOverflow(latency)
    return isTooLate ? .distantFuture : Instant(nanoseconds: sum)
  }

  /// Ends the pipe immediately, and drops all bytes that have not arrived.
  func cut(_ end: ChannelEnd, now: Instant) {
    lost += held
    filling.count = 0
    draining.count = 0
    drained = 0
    segments.removeAll()
    ending = (end, now)
  }

  // MARK: - Receiving

  /// Returns the time at which the receiver must next be notified, either of bytes (if it wants them) or of the pipe's
  /// end. If `endWaits` is set, the end is reported only after all bytes have been delivered.
  func nextArrival(wantsBytes: Bool, endWaits: Bool) -> Instant? {
    if let next = segments.first {
      if wantsBytes { return next.arrival }
      if endWaits { return nil }
    }
    return ending?.arrival
  }

  func arrived(at now: Instant) -> Int {
    var count = 0
    var index = 0
    while index < segments.count, segments[index].arrival <= now {
      count += segments[index].count
      index += 1
    }
    return count
  }

  /// Returns the next bytes to deliver, up to `limit` of the bytes that have arrived. The bytes stay valid until
  /// ``received(_:)``.
  func nextBlock(limit: Int) -> UnsafeRawBufferPointer {
    if drained == draining.count {
      draining.count = 0
      drained = 0
      swap(&filling, &draining)
    }
    let most = keepsTransfersApart ? min(limit, segments[0].count) : limit
    return draining.bytes(from: drained, most: most)
  }

  /// Records that a block was delivered, unless the receiver's handler has cut the pipe.
  func received(_ count: Int) {
    guard drained + count <= draining.count else { return }
    drained += count
    var left = count
    while left > 0, !segments.isEmpty {
      let step = min(left, segments[0].count)
      segments[0].count -= step
      left -= step
      if segments[0].count == 0 { segments.removeFirst(1) }
    }
    if drained == draining.count {
      draining.giveBack(to: spares)
      drained = 0
    }
  }

  /// Returns how the pipe ended, or nil if the end has not arrived yet. If `waits` is set, the end is returned only
  /// after all bytes have been received; otherwise, the remaining bytes are dropped.
  func arrivedEnd(at now: Instant, waits: Bool) -> ChannelEnd? {
    guard let ending, ending.arrival <= now else { return nil }
    if segments.isEmpty { return ending.end }
    return waits ? nil : ending.end.dropping(unread: held)
  }
}

/// A buffer that grows only while it is being filled, so that bytes never move while they are being read.
private struct ByteTank: ~Copyable {
  var count = 0
  // The memory is typed, because Swift allocates untyped memory with the system's aligned allocation, which is slower.
  private var memory = UnsafeMutableBufferPointer<UInt8>(start: nil, count: 0)

  deinit { memory.deallocate() }

  mutating func append(_ bytes: RawSpan, _ spares: SpareBuffers) {
    let needed = count + bytes.byteCount
    if needed > memory.count {
      let larger = spares.borrowBlock(atLeast: needed, preferred: max(2 * memory.count, SpareBuffers.smallest))
      if count > 0 { UnsafeMutableRawBufferPointer(larger).copyMemory(from: raw(..<count)) }
      memory.deallocate()
      memory = larger
    }
    let room = UnsafeMutableRawBufferPointer(memory)
    bytes.withUnsafeBytes { UnsafeMutableRawBufferPointer(rebasing: room[count..<needed]).copyMemory(from: $0) }
    count = needed
  }

  /// Empties the buffer and gives its memory away, unless that is small.
  mutating func giveBack(to spares: SpareBuffers) {
    count = 0
    if memory.count <= SpareBuffers.smallest { return }
    spares.returnBlock(memory)
    memory = UnsafeMutableBufferPointer(start: nil, count: 0)
  }

  func bytes(from start: Int, most: Int) -> UnsafeRawBufferPointer {
    raw(start..<min(count, start + most))
  }

  private func raw(_ range: some RangeExpression<Int>) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(memory)[range])
  }
}
