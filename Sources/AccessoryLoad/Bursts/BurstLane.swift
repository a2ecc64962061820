import AccessoryCore

/// The bursts of one session: the bytes still to send, and the replies still to come, in order.
///
/// A burst has three states, and bursts never overtake each other: *unsent* until the session has taken its last
/// byte, *awaited* until its whole reply is there (or, where no reply is expected, until its last byte is
/// acknowledged), then *complete*.
///
/// An echo of unique bytes is compared by a `StreamVerifier`: after a wrong byte the lane collects everything that
/// follows until `conclude()` diagnoses it.
///
/// Invariants: at most `inFlight` bursts are in flight; at most one of them is partly sent and at most one partly
/// answered, and that one is the oldest; a byte that arrives while no reply is awaited belongs to no burst.
public struct BurstLane {
  /// One burst in flight.
  public struct Flight: Equatable, Sendable {
    /// Which.
    public let ticket: BurstSchedule.Ticket
    /// When its first byte was offered to the session.
    public let began: Instant
  }

  /// The result of received bytes.
  public enum Event: Equatable, Sendable {
    /// The reply of a burst is whole.
    case completed(Flight)
    /// The reply is wrong. The session cannot be used any more.
    case different(Flight, ReplyDifference)
    /// The same, and what it was is not known yet: what follows is collected until `BurstLane.conclude()`.
    case suspicious
    /// So many bytes came that no burst asked for. What they are is for `BurstLane.conclude()` to say.
    case unexpected(Int)
  }

  private let payloadCount: Int
  private let inFlight: Int
  private let verifier: ReplyVerifier
  /// What compares an echo of unique bytes.
  private var echo: StreamVerifier?
  private let scratch: UniqueScratch
  private let awaitsReply: Bool
  /// The bursts in flight, the oldest first.
  public private(set) var flights: [Flight] = []
  /// Of `flights`, how many are sent whole.
  private var sentWhole = 0
  private var sentOfNext = 0
  private var receivedOfOldest = 0
  /// Bytes that the session took since it was opened.
  public private(set) var bytesSent = 0
  private var completedCount = 0
  /// The numbers of the bursts begun last.
  private var numbers: [Int] = []
  private var begunCount = 0
  /// So many numbers are kept.
  private static let numbersKept = 64

  /// The lane of a session that was just opened. Where bursts are unique, `stream` is what they are cut from.
  public init(_ plan: BurstPlan, verifier: ReplyVerifier, stream: UniqueStream, scratch: UniqueScratch) {
    payloadCount = plan.payload.size
    inFlight = plan.inFlight
    self.verifier = verifier
    self.scratch = scratch
    if case .unique = plan.payload, plan.verification == .echo { echo = StreamVerifier(stream) }
    awaitsReply = plan.verification != .nothing
    flights.reserveCapacity(inFlight)
  }

  /// Whether another burst may begin.
  public var hasRoom: Bool { flights.count < inFlight }

  /// Begins a burst.
  public mutating func begin(_ ticket: BurstSchedule.Ticket, now: Instant) {
    precondition(hasRoom, "a session has no more unanswered bursts than the plan allows")
    flights.append(Flight(ticket: ticket, began: now))
    if begunCount < Self.numbersKept {
      numbers.append(ticket.number)
    } else {
      numbers[begunCount % Self.numbersKept] = ticket.number
    }
    begunCount += 1
  }

  /// The part of the payload that is to be offered to the session next; nil when all is sent.
  public var unsent: Range<Int>? { sentWhole < flights.count ? sentOfNext..<payloadCount : nil }

  /// The session took so many bytes of what ``unsent`` says.
  public mutating func took(_ count: Int) {
    bytesSent += count
    sentOfNext += count
    precondition(sentOfNext <= payloadCount, "a session takes no more than it is offered")
    guard sentOfNext == payloadCount else { return }
    sentOfNext = 0
    sentWhole += 1
  }

  /// Checks the bytes from `offset` on, up to the next event; nil when all are checked.
  public mutating func receive(_ bytes: RawSpan, at offset: inout Int) -> Event? {
    guard offset < bytes.byteCount else { return nil }
    let left = bytes.byteCount - offset
    if isSuspicious {
      collect(bytes, from: &offset)
      return nil
    }
    guard awaitsReply, let oldest = flights.first, sentWhole > 0 || sentOfNext > 0 else {
      collect(bytes, from: &offset)
      return .unexpected(left)
    }
    let count = min(left, verifier.count - receivedOfOldest)
    let part = bytes.extracting(offset..<offset + count)
    offset += count
    if echo != nil {
      guard echo?.check(part, scratch) == true else {
        collect(bytes, from: &offset)
        return .suspicious
      }
    } else if let difference = verifier.difference(in: part, at: receivedOfOldest) {
      return .different(oldest, difference)
    }
    receivedOfOldest += count
    // The reply is complete before the burst is: the rest of the burst is sent first.
    guard receivedOfOldest == verifier.count, sentWhole > 0 else {
      guard receivedOfOldest == verifier.count, offset < bytes.byteCount else { return nil }
      let more = bytes.byteCount - offset
      collect(bytes, from: &offset)
      return .unexpected(more)
    }
    return .completed(complete())
  }

  /// Keeps the rest of the bytes for ``conclude()``.
  private mutating func collect(_ bytes: RawSpan, from offset: inout Int) {
    echo?.collect(bytes.extracting(offset..<bytes.byteCount))
    offset = bytes.byteCount
  }

  /// Whether there was a wrong byte that is not diagnosed yet.
  public var isSuspicious: Bool { echo?.isSuspicious == true }

  /// Whether to diagnose now, because no more bytes are collected.
  public var isFull: Bool { echo?.isFull == true }

  /// Diagnoses the wrong bytes, in words; empty when there were none. Bytes that no burst asked for (`isAsked` false)
  /// count as a reply to none.
  public mutating func conclude(isAsked: Bool = true) -> (findings: [StreamFinding], words: StreamWords) {
    let (kept, begun) = (numbers, begunCount)
    let words = StreamWords(burstSize: payloadCount) { index in
      index < begun && index >= begun - kept.count ? kept[index % Self.numbersKept] : nil
    }
    return (echo?.conclude(burstSize: isAsked ? payloadCount : nil) ?? [], words)
  }

  /// How much of the reply of the oldest burst came, when not all of it did.
  public var partlyAnswered: (received: Int, expected: Int)? {
    flights.isEmpty || receivedOfOldest == 0 ? nil : (receivedOfOldest, verifier.count)
  }

  /// A burst whose reply arrived before its last byte was accepted, and which is complete now.
  public mutating func completeAnswered() -> Flight? {
    guard awaitsReply, sentWhole > 0, receivedOfOldest == verifier.count else { return nil }
    return complete()
  }

  /// The link has acknowledged so many bytes since the session was opened; the next burst that is complete by that, where
  /// no reply is expected.
  public mutating func acknowledged(_ total: Int) -> Flight? {
    guard !awaitsReply, sentWhole > 0, total >= (completedCount + 1) * payloadCount else { return nil }
    return complete()
  }

  private mutating func complete() -> Flight {
    receivedOfOldest = 0
    sentWhole -= 1
    completedCount += 1
    return flights.removeFirst()
  }

  /// When the oldest burst has taken too long.
  public func deadline(timeout: Duration) -> Instant? { flights.first.map { $0.began + timeout } }

  /// The session ended: bursts in flight are lost.
  public mutating func abandon() -> [Flight] {
    defer { flights = [] }
    return flights
  }
}
