import AccessoryCore
import AccessoryHost
import Glibc
import IAP2

/// Tracks the bursts of one session in order: which bytes still have to be sent, and which replies still have to
/// arrive.
///
/// Bursts never overtake each other. A burst is *unsent* until the session has accepted its last byte, then *awaited*
/// until its reply has arrived in full, and then *complete*. If the plan expects no reply, a burst is complete when its
/// last byte is acknowledged.
///
/// If bursts are unique, a `StreamVerifier` checks the echo. After a wrong byte, the lane collects all further bytes
/// until `conclude()` diagnoses the mistake.
///
/// If the plan has different requests, each burst has its own size and expected reply. If a reply is judged by a rule,
/// the lane collects the reply until it is complete. For some rules, a reply is complete when no more bytes arrive for
/// a while.
///
/// Invariants: at most `inFlight` bursts are in flight. At most one burst in flight is partly sent, and only the oldest
/// can be partly answered. A byte that arrives while the lane expects no reply is unsolicited and belongs to no burst.
package struct BurstLane {
  package struct Flight: Equatable, Sendable {
    package let ticket: BurstSchedule.Ticket
    /// The time at which the lane offered the burst's first byte to the session.
    package let began: Instant
    package let size: Int
    let request: Int
    let awaited: Int
    /// The time at which the last byte of the reply arrived, for replies that a rule judges later.
    var answered: Instant?
  }

  package enum Event: Equatable, Sendable {
    case completed(Flight)
    /// The reply is wrong for the given reason, so the session is unusable.
    case wrong(Flight, String)
    /// The reply is wrong. The lane collects further bytes until `BurstLane.conclude()` diagnoses the mistake.
    case suspicious
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
  private var echo: StreamVerifier?
  private let scratch: UniqueScratch
  private var judging: Judging
  private var collector: ReplyCollector?
  package private(set) var flights: [Flight] = []
  /// How many of the `flights` have been sent completely.
  private var sentWhole = 0
  private var sentOfNext = 0
  private var receivedOfOldest = 0
  /// How many bytes the session has accepted since it was opened.
  package private(set) var bytesSent = 0
  private var bytesCompleted = 0
  /// How many of the sent bytes are not part of the unique stream.
  private var otherBytes = 0
  private var numbers: [Int] = []
  private var begunCount = 0
  /// The positions in the unique stream at which the most recent bursts begin, for bursts that differ in size.
  private var starts: [Int] = []
  private var streamEnd = 0
  private static let numbersKept = 64

  /// Creates the lane of a newly opened session. Unique bursts are taken from `stream`.
  package init(_ plan: BurstPlan, verifier: ReplyVerifier, stream: UniqueStream, scratch: UniqueScratch) {
    payloadCount = plan.payload.size
    inFlight = plan.inFlight
    self.verifier = verifier
    self.scratch = scratch
    requests = plan.requests
    let isUnique = requests.isEmpty ? plan.payload.repeatedBytes == nil : requests.contains(where: \.isUniqueEcho)
    if isUnique, plan.verification == .echo { echo = StreamVerifier(stream) }
    judging = plan.verification == .nothing ? .nothing : echo == nil ? .bytes : .stream
    flights.reserveCapacity(inFlight)
  }

  package var hasRoom: Bool { flights.count < inFlight }

  /// Begins a burst. If `size` is nil, the burst consists of the plan's payload.
  package mutating func begin(_ ticket: BurstSchedule.Ticket, request: Int = 0, size: Int? = nil, now: Instant) {
    let size = size ?? payloadCount
    precondition(hasRoom, "a session must not have more unanswered bursts than the plan allows")
    if !requests.isEmpty { prepare(requests[request], now) }
    let awaited = judging == .stream ? size : verifier.count
    flights.append(Flight(ticket: ticket, began: now, size: size, request: request, awaited: awaited))
    guard requests.isEmpty || requests[request].sizes != nil else { return }
    note(ticket.number, size)
    // The accessory is not expected to echo the bytes of this burst.
    if judging != .stream { echo?.skip(size) }
  }

  /// Prepares to check the reply to a request. Two bursts whose replies are checked in different ways are never in
  /// flight at the same time.
  private mutating func prepare(_ request: BurstRequest, _ now: Instant) {
    collector = nil
    switch request.reply {
    // The command's options can change the expected reply to every burst.
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

  /// The bytes to offer to the session next, or nil if all payloads have been sent.
  package var unsent: Range<Int>? { sentWhole < flights.count ? sentOfNext..<flights[sentWhole].size : nil }

  /// Records that the session has accepted `count` bytes of ``unsent``.
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

  /// The bytes of the burst that is being sent, or nil if they come from the unique stream.
  var fixedBytes: [UInt8]? {
    requests.isEmpty || sentWhole >= flights.count ? nil : requests[flights[sentWhole].request].send
  }

  /// The position, in the unique stream, of the next byte to send.
  var streamPlace: Int { bytesSent - otherBytes }

  var ignoresReplies: Bool { judging == .nothing }

  /// Checks the bytes from `offset` up to the next event and returns that event, or nil if there is none.
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
      return .wrong(oldest, difference)
    }
    receivedOfOldest += count
    // A reply may be complete before its request has been sent, in which case the burst is complete as soon as the
    // request has been sent.
    guard receivedOfOldest == oldest.awaited, sentWhole > 0 else {
      guard receivedOfOldest == oldest.awaited, offset < bytes.byteCount else { return nil }
      let more = bytes.byteCount - offset
      collect(bytes, from: &offset)
      return .unexpected(more)
    }
    return .completed(complete())
  }

  private mutating func collectReply(
    _ bytes: RawSpan, at offset: inout Int, _ oldest: Flight, _ now: Instant
  ) -> Event? {
    let taken = collector?.take(bytes.extracting(offset..<bytes.byteCount), now: now) ?? 0
    offset += taken
    receivedOfOldest += taken
    if let event = judge(now: now) { return event }
    guard offset < bytes.byteCount else { return nil }
    // The reply is complete, but its request is still being sent.
    let more = bytes.byteCount - offset
    offset = bytes.byteCount
    return .unexpected(more)
  }

  /// Judges a collected reply if it is complete and its request has been sent. Otherwise, returns nil.
  mutating func judge(now: Instant) -> Event? {
    guard judging == .rule, sentWhole > 0, let collector, collector.state(now: now) == .complete else { return nil }
    if let complaint = collector.complaint { return .wrong(flights[0], complaint) }
    flights[0].answered = collector.lastByte
    return .completed(complete())
  }

  /// Returns the time at which to call ``judge(now:)`` for a reply that counts as complete after a period of silence.
  func replyDeadline(now: Instant) -> Instant? {
    guard judging == .rule, sentWhole > 0, case .waiting(let deadline?)? = collector?.state(now: now) else {
      return nil
    }
    return deadline
  }

  private mutating func collect(_ bytes: RawSpan, from offset: inout Int) {
    echo?.collect(bytes.extracting(offset..<bytes.byteCount))
    offset = bytes.byteCount
  }

  /// Whether a wrong byte has arrived that ``conclude()`` has not diagnosed yet.
  package var isSuspicious: Bool { echo?.isSuspicious == true }

  /// True if the buffer is full, in which case ``conclude()`` must be called now.
  package var isFull: Bool { echo?.isFull == true }

  /// Returns a diagnosis of the wrong bytes, which is empty if there were none. `isAsked` is false if no burst was
  /// expecting the bytes.
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

  /// How much of the reply to the oldest burst has arrived, and the reply's expected length, or nil if none of the
  /// reply has arrived.
  package var partlyAnswered: (received: Int, expected: Int?)? {
    guard let oldest = flights.first, receivedOfOldest > 0 else { return nil }
    return (receivedOfOldest, judging == .rule ? nil : oldest.awaited)
  }

  /// Returns the oldest burst if it is now complete because its reply arrived before the session accepted the burst's
  /// last byte.
  package mutating func completeAnswered() -> Flight? {
    guard judging != .nothing, judging != .rule, sentWhole > 0, receivedOfOldest == flights[0].awaited else {
      return nil
    }
    return complete()
  }

  /// Records how many bytes the link has acknowledged since the session was opened. If the plan expects no replies,
  /// returns the next burst that is now complete.
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

  package func deadline(timeout: Duration) -> Instant? { flights.first.map { $0.began + timeout } }

  /// Ends the session. Returns the bursts that were still in flight, which count as lost.
  package mutating func abandon() -> [Flight] {
    defer { (flights, sentWhole, sentOfNext) = ([], 0, 0) }
    return flights
  }
}

/// Checks a reply against the expected one while the reply arrives, for plans in which all bursts have the same reply.
public struct ReplyVerifier: Equatable, Sendable {
  /// The number of bytes to show before and after a wrong byte.
  private static let reach = 4

  /// The expected reply, or nil if only its length is checked.
  private let expected: [UInt8]?
  /// The length that the reply should have.
  public let count: Int

  /// Creates a verifier for the reply that `plan` expects.
  public init(_ plan: BurstPlan) {
    count = plan.verification.replyCount(payload: plan.payload.size)
    switch plan.verification {
    case .echo: expected = plan.payload.repeatedBytes
    case .reply(let bytes): expected = bytes
    case .replyLength, .nothing: expected = nil
    }
  }

  /// Returns a description of the first wrong byte in `bytes`, or nil if all bytes are correct. `bytes` begins at
  /// `offset` in the reply and must not extend beyond the reply's end.
  public func difference(in bytes: RawSpan, at offset: Int) -> String? {
    guard let expected, !isSame(expected, bytes, offset) else { return nil }
    let got = bytes.withUnsafeBytes { Array($0) }
    guard let index = got.indices.first(where: { got[$0] != expected[offset + $0] }) else { return nil }
    func window(_ bytes: [UInt8], _ place: Int) -> String {
      Hex.spaced(bytes[max(0, place - Self.reach)..<min(bytes.count, place + Self.reach + 1)])
    }
    let place = offset + index
    return "byte \(place) is \(Hex.plain([got[index]])) instead of \(Hex.plain([expected[place]])): "
      + "expected … \(window(expected, place)) …, got … \(window(got, index)) …"
  }

  private func isSame(_ expected: [UInt8], _ bytes: RawSpan, _ offset: Int) -> Bool {
    if bytes.byteCount == 0 { return true }
    return expected.withUnsafeBytes { wanted in
      bytes.withUnsafeBytes { came in
        guard let left = wanted.baseAddress, let right = came.baseAddress else { return false }
        return memcmp(left + offset, right, came.count) == 0
      }
    }
  }
}
