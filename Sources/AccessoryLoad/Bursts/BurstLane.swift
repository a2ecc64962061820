import AccessoryCore

/// The bursts of one session: what is still to be sent, and what is still to come back, in order.
///
/// A burst goes through three states, and bursts never overtake each other: *unsent* while the session has not taken its
/// last byte, *awaited* until its whole reply is there (or, where no reply is expected, until its last byte is
/// acknowledged), then *complete*.
///
/// An echo of unique bytes is compared by a `StreamVerifier`: once something else comes, the lane collects all that
/// follows until ``conclude()`` says what it was.
///
/// Invariants: at most `inFlight` bursts are under way; at most one of them is partly sent and at most one partly
/// answered, and that one is the oldest; a byte that comes while nothing is awaited belongs to no burst.
public struct BurstLane {
  /// One burst that is under way.
  public struct Flight: Equatable, Sendable {
    /// Which.
    public let ticket: BurstSchedule.Ticket
    /// When its first byte was offered to the session.
    public let began: Instant
  }

  /// What came of received bytes.
  public enum Event: Equatable, Sendable {
    /// The reply of a burst is whole.
    case completed(Flight)
    /// Something else came than must come. The session is of no use any more.
    case different(Flight, ReplyDifference)
    /// The same, and what it was is not known yet: what follows is collected until ``BurstLane/conclude()``.
    case suspicious
    /// So many bytes came that no burst asked for. What they are is for ``BurstLane/conclude()`` to say.
    case unexpected(Int)
  }

  private let payloadCount: Int
  private let inFlight: Int
  private let verifier: ReplyVerifier
  /// What compares an echo of unique bytes.
  private var echo: StreamVerifier?
  private let scratch: UniqueScratch
  private let awaitsReply: Bool
  /// Under way, the oldest first.
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
    precondition(hasRoom, "a session has no more bursts under way than the plan says")
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

  /// Looks at what came from `offset` on, up to the next thing worth telling; nil when all of it is looked at.
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
    // An answer that is whole before its question is: what is still to be sent is sent first.
    guard receivedOfOldest == verifier.count, sentWhole > 0 else {
      guard receivedOfOldest == verifier.count, offset < bytes.byteCount else { return nil }
      let more = bytes.byteCount - offset
      collect(bytes, from: &offset)
      return .unexpected(more)
    }
    return .completed(complete())
  }

  /// Keeps the rest of what came for ``conclude()``.
  private mutating func collect(_ bytes: RawSpan, from offset: inout Int) {
    echo?.collect(bytes.extracting(offset..<bytes.byteCount))
    offset = bytes.byteCount
  }

  /// Whether something came that must not, and what it was is still to be said.
  public var isSuspicious: Bool { echo?.isSuspicious == true }

  /// Whether it is to be said now, because no more of it is collected.
  public var isFull: Bool { echo?.isFull == true }

  /// Says what was wrong with what came, and in which words; nothing when it was not suspicious. What no burst asked for
  /// (`isAsked` false) takes the place of no answer.
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

  /// A burst whose reply came before its last byte was taken, and which is complete now.
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

  /// The session is over: what was under way is lost.
  public mutating func abandon() -> [Flight] {
    defer { flights = [] }
    return flights
  }
}
