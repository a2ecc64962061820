import AccessoryCore
import AccessoryHost

/// Tracks one session's bursts in order: the bytes that are still to be sent, and the replies that are still expected.
///
/// Bursts never overtake each other. A burst is *unsent* until the session has taken its last byte, *awaited* until its
/// whole reply has arrived (or, if no reply is expected, until its last byte is acknowledged), and then *complete*.
///
/// An echo of unique bytes is compared by a `StreamVerifier`: after a wrong byte, the lane collects all later bytes
/// until `conclude()` diagnoses them.
///
/// If the plan's requests differ, each burst has its own size and expected reply. A reply that is judged by a rule is
/// collected until it is complete; for some rules, a reply is complete when nothing more arrives for a while.
///
/// Invariants: at most `inFlight` bursts are in flight. At most one burst in flight is partly sent, and only the oldest
/// can be partly answered. A byte that arrives while no reply is expected is unsolicited and not counted for any burst.
package struct BurstLane {
  package struct Flight: Equatable, Sendable {
    /// The ticket that the schedule issued for this burst.
    package let ticket: BurstSchedule.Ticket
    /// The time at which the burst's first byte was offered to the session.
    package let began: Instant
    package let size: Int
    let request: Int
    let awaited: Int
    /// The time at which the last byte of the reply arrived, if the reply is judged later.
    var answered: Instant?
  }

  package enum Event: Equatable, Sendable {
    case completed(Flight)
    /// The reply differs from the expected bytes. The session becomes unusable.
    case different(Flight, ReplyDifference)
    /// The reply is wrong; the text gives the reason. The session becomes unusable.
    case wrong(Flight, String)
    /// The reply is wrong in a way not known yet; later bytes are collected until `BurstLane.conclude()` is called.
    case suspicious
    /// Unsolicited bytes arrived; the value is their number. `BurstLane.conclude()` identifies the bytes.
    case unexpected(Int)
  }

  private enum Judging {
    case stream
    case bytes
    case rule
    case nothing
  }

  private let payloadCount: Int
  private let requests: [BurstRequest]
  private let inFlight: Int
  private let verifier: ReplyVerifier
  /// Compares an echo with the unique bytes that were sent.
  private var echo: StreamVerifier?
  private let scratch: UniqueScratch
  private var judging: Judging
  private var collector: ReplyCollector?
  /// The bursts in flight, oldest first.
  package private(set) var flights: [Flight] = []
  /// How many of the `flights` have been sent completely.
  private var sentWhole = 0
  private var sentOfNext = 0
  private var receivedOfOldest = 0
  /// The number of bytes accepted by the session since it was opened.
  package private(set) var bytesSent = 0
  private var bytesCompleted = 0
  /// How many of the sent bytes are not part of the unique stream.
  private var otherBytes = 0
  private var numbers: [Int] = []
  private var begunCount = 0
  /// The positions at which the most recent bursts begin, if their sizes differ.
  private var starts: [Int] = []
  private var streamEnd = 0
  private static let numbersKept = 64

  /// Creates the lane of a newly opened session. Unique bursts are consecutive parts of `stream`.
  package init(_ plan: BurstPlan, verifier: ReplyVerifier, stream: UniqueStream, scratch: UniqueScratch) {
    payloadCount = plan.payload.size
    inFlight = plan.inFlight
    self.verifier = verifier
    self.scratch = scratch
    requests = plan.workload?.requests ?? []
    let isUnique: Bool
    if let workload = plan.workload {
      isUnique = workload.requests.contains(where: \.isUniqueEcho)
    } else if case .unique = plan.payload {
      isUnique = true
    } else {
      isUnique = false
    }
    let isEcho = plan.verification == .echo
    if isUnique, isEcho { echo = StreamVerifier(stream) }
    judging = plan.verification == .nothing ? .nothing : echo == nil ? .bytes : .stream
    flights.reserveCapacity(inFlight)
  }

  package var hasRoom: Bool { flights.count < inFlight }

  /// Begins a burst with the plan's payload.
  package mutating func begin(_ ticket: BurstSchedule.Ticket, now: Instant) {
    begin(ticket, request: 0, size: payloadCount, now: now)
  }

  mutating func begin(_ ticket: BurstSchedule.Ticket, request: Int, size: Int, now: Instant) {
    precondition(hasRoom, "a session must not have more unanswered bursts than the plan allows")
    if !requests.isEmpty { prepare(requests[request], now) }
    let awaited = judging == .stream ? size : verifier.count
    flights.append(Flight(ticket: ticket, began: now, size: size, request: request, awaited: awaited))
    guard requests.isEmpty || requests[request].sizes != nil else { return }
    note(ticket.number, size)
    // The bytes of this burst are not expected to be echoed.
    if judging != .stream { echo?.skip(size) }
  }

  /// Prepares to check the reply to a request. If replies are checked in different ways, only one is in flight at a
  /// time.
  private mutating func prepare(_ request: BurstRequest, _ now: Instant) {
    collector = nil
    switch request.reply {
    // The command's options may override the expected reply for all bursts.
    case .echo where request.sizes != nil: judging = echo == nil ? judging : .stream
    case .echo:
      judging = .rule
      collector = ReplyCollector(ReplyRule(.bytes(request.send ?? [])), since: now)
    case .nothing: judging = .nothing
    case .rule(let rule):
      judging = .rule
      collector = ReplyCollector(rule, since: now)
    }
  }

  private mutating func note(_ number: Int, _ size: Int) {
    if begunCount < Self.numbersKept {
      numbers.append(number)
      if !requests.isEmpty { starts.append(streamEnd) }
    } else {
      numbers[begunCount % Self.numbersKept] = number
      if !requests.isEmpty { starts[begunCount % Self.numbersKept] = streamEnd }
    }
    streamEnd += size
    begunCount += 1
  }

  /// The part of the payload to offer to the session next; nil once the whole payload is sent.
  package var unsent: Range<Int>? { sentWhole < flights.count ? sentOfNext..<flights[sentWhole].size : nil }

  /// Records that the session accepted this many bytes of ``unsent``.
  package mutating func took(_ count: Int) {
    let size = flights[sentWhole].size
    if fixedBytes != nil { otherBytes += count }
    bytesSent += count
    sentOfNext += count
    precondition(sentOfNext <= size, "a session must not accept more than it is offered")
    guard sentOfNext == size else { return }
    sentOfNext = 0
    sentWhole += 1
  }

  /// The bytes of the burst that is being sent; nil if they belong to the unique stream.
  var fixedBytes: [UInt8]? {
    requests.isEmpty || sentWhole >= flights.count ? nil : requests[flights[sentWhole].request].send
  }

  /// The next byte to send, as a position in the unique stream.
  var streamPlace: Int { bytesSent - otherBytes }

  var ignoresReplies: Bool { judging == .nothing }

  /// Checks the bytes from `offset` up to the next event; returns nil once all bytes are checked.
  package mutating func receive(_ bytes: RawSpan, at offset: inout Int, now: Instant = .origin) -> Event? {
    guard offset < bytes.byteCount else { return nil }
    let left = bytes.byteCount - offset
    if isSuspicious {
      collect(bytes, from: &offset)
      return nil
    }
    guard judging != .nothing, let oldest = flights.first, sentWhole > 0 || sentOfNext > 0 else {
      if judging != .nothing { collect(bytes, from: &offset) }
      offset = bytes.byteCount
      return .unexpected(left)
    }
    if judging == .rule { return collectReply(bytes, at: &offset, oldest, now) }
    let count = min(left, oldest.awaited - receivedOfOldest)
    let part = bytes.extracting(offset..<offset + count)
    offset += count
    if judging == .stream {
      guard echo?.check(part, scratch) == true else {
        collect(bytes, from: &offset)
        return .suspicious
      }
    } else if let difference = verifier.difference(in: part, at: receivedOfOldest) {
      return .different(oldest, difference)
    }
    receivedOfOldest += count
    // The reply is complete before its request has been sent completely, so the rest of the request must be sent first.
    guard receivedOfOldest == oldest.awaited, sentWhole > 0 else {
      guard receivedOfOldest == oldest.awaited, offset < bytes.byteCount else { return nil }
      let more = bytes.byteCount - offset
      collect(bytes, from: &offset)
      return .unexpected(more)
    }
    return .completed(complete())
  }

  /// Collects the bytes of a reply that is judged by a rule.
  private mutating func collectReply(
    _ bytes: RawSpan, at offset: inout Int, _ oldest: Flight, _ now: Instant
  ) -> Event? {
    let taken = collector?.take(bytes.extracting(offset..<bytes.byteCount), now: now) ?? 0
    offset += taken
    receivedOfOldest += taken
    if let event = judge(now: now) { return event }
    guard offset < bytes.byteCount else { return nil }
    // The reply is complete, but its request has not been sent completely.
    let more = bytes.byteCount - offset
    offset = bytes.byteCount
    return .unexpected(more)
  }

  /// Judges a collected reply once it is complete and its request has been sent; nil if nothing can be judged yet.
  mutating func judge(now: Instant) -> Event? {
    guard judging == .rule, sentWhole > 0, let collector, collector.state(now: now) == .complete else { return nil }
    if let complaint = collector.complaint { return .wrong(flights[0], complaint) }
    flights[0].answered = collector.lastByte
    return .completed(complete())
  }

  /// Returns when ``judge(now:)`` must be called for a reply that is complete only after a timeout.
  func replyDeadline(now: Instant) -> Instant? {
    guard judging == .rule, sentWhole > 0, case .waiting(let deadline?)? = collector?.state(now: now) else {
      return nil
    }
    return deadline
  }

  /// Keeps the remaining bytes for ``conclude()``.
  private mutating func collect(_ bytes: RawSpan, from offset: inout Int) {
    echo?.collect(bytes.extracting(offset..<bytes.byteCount))
    offset = bytes.byteCount
  }

  /// Whether a wrong byte has not been diagnosed yet.
  package var isSuspicious: Bool { echo?.isSuspicious == true }

  /// Whether a diagnosis is due now, because the buffer is full.
  package var isFull: Bool { echo?.isFull == true }

  /// Returns a diagnosis of the wrong bytes, which is empty if there were none. If `isAsked` is false, the bytes are
  /// not a reply to any burst.
  package mutating func conclude(isAsked: Bool = true) -> (findings: [StreamFinding], words: StreamWords) {
    let (kept, begun) = (numbers, begunCount)
    var cuts = StreamCuts.even(payloadCount)
    if !requests.isEmpty {
      let oldest = begun % max(1, starts.count)
      cuts = .at(starts[oldest...] + starts[..<oldest] + [streamEnd], first: begun - starts.count)
    }
    let words = StreamWords(cuts) { index in
      index < begun && index >= begun - kept.count ? kept[index % Self.numbersKept] : nil
    }
    return (echo?.conclude(isAsked ? cuts : .none) ?? [], words)
  }

  /// The received and the expected length of the reply to the oldest burst; nil if no reply is incomplete.
  package var partlyAnswered: (received: Int, expected: Int?)? {
    guard let oldest = flights.first, receivedOfOldest > 0 else { return nil }
    return (receivedOfOldest, judging == .rule ? nil : oldest.awaited)
  }

  /// Returns a burst that is complete only now, because its reply arrived before the session accepted its last byte.
  package mutating func completeAnswered() -> Flight? {
    guard judging != .nothing, judging != .rule, sentWhole > 0, receivedOfOldest == flights[0].awaited else {
      return nil
    }
    return complete()
  }

  /// Records how many bytes the link has acknowledged since the session was opened. If no reply is expected, returns
  /// the next burst that the acknowledgement completes.
  package mutating func acknowledged(_ total: Int) -> Flight? {
    guard judging == .nothing, sentWhole > 0, total >= bytesCompleted + flights[0].size else { return nil }
    return complete()
  }

  private mutating func complete() -> Flight {
    receivedOfOldest = 0
    sentWhole -= 1
    let flight = flights.removeFirst()
    bytesCompleted += flight.size
    return flight
  }

  /// Returns the time at which the oldest burst times out.
  package func deadline(timeout: Duration) -> Instant? { flights.first.map { $0.began + timeout } }

  /// Ends the session and returns the bursts in flight, which are lost.
  package mutating func abandon() -> [Flight] {
    defer { (flights, sentWhole, sentOfNext) = ([], 0, 0) }
    return flights
  }
}
