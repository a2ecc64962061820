/// A snapshot of a line's state, as a device sees it. A ``LineWatch`` compares such snapshots.
public struct LineState: Equatable, Sendable {
  /// The message that the accessory must send next, or nil if no message is due.
  public var awaited: String?
  /// The number of packet bytes that the accessory has not acknowledged.
  public var unacknowledgedBytes = 0
  /// The sequence number of the first unacknowledged packet.
  public var oldestUnacknowledged: UInt8?
  /// The packet length announced in the header of an incomplete packet.
  public var announcedLength: Int?
  /// How many bytes of an incomplete packet have arrived.
  public var arrivedOfPacket = 0
  /// The number of zero bytes that arrived outside packets.
  public var paddingBytes = 0
  /// The link's counters.
  public var counters = LinkCounters()

  /// Creates the state of an idle line.
  public init() {}
}

extension Peer where Role == DeviceRole {
  /// The current state of the line.
  public var lineState: LineState {
    var state = LineState()
    state.awaited = awaited
    if !core.link.isZeroAcknowledgement, let (bytes, oldest) = core.link.sender.inFlightBytes {
      (state.unacknowledgedBytes, state.oldestUnacknowledged) = (bytes, oldest)
    }
    state.announcedLength = core.scanner.heldHeader.map { Int($0.length) }
    state.arrivedOfPacket = core.scanner.heldCount
    state.paddingBytes = core.scanner.paddingBytes
    state.counters = core.counters
    return state
  }

  private var awaited: String? {
    switch core.link.waiting ?? role.phase(isAnswerDue: core.answerDeadline != nil) {
    case .detection: "detection sequence (FF 55 02 00 EE 10)"
    case .synchronization: "SYN, or its acknowledgement of the SYN|ACK"
    case .authentication, .identification:
      switch unfinished?.last {
      case .requestAuthenticationCertificate?: "certificate (AA01)"
      case .requestAuthenticationChallengeResponse?: "signature (AA03)"
      case .startIdentification?: "identification (1D01)"
      case .identificationRejected?: "corrected identification (1D01)"
      default: nil
      }
    case .stopped, .refused, .owner, .ready: nil
    }
  }
}

/// Detects blockages and damage on a line, by comparing the line's states at intervals.
///
/// Each problem is reported once, after it has lasted for ``limit``, and again only if it disappears and returns.
/// Damage is reported when its counters increase, but at most once every ten seconds.
public struct LineWatch {
  /// How long a problem must last before it is reported.
  public static let limit = Milliseconds(5_000)
  private static let pause = Milliseconds(10_000)

  /// A problem that may persist. The values of a case change whenever the line makes progress.
  private enum Trouble: Hashable {
    case awaited(String)
    case unacknowledged(oldest: UInt8, establishments: Int)
    case heldUp(length: Int, packetsReceived: Int)
    case onlyZeros
  }

  private var since: [Trouble: Instant] = [:]
  private var reported: Set<Trouble> = []
  private var told = LinkCounters()
  private var nextCounts = Instant.origin
  /// Whether the line needs no further checks until traffic resumes.
  public private(set) var isIdle = false

  /// Creates a watch that has seen no state.
  public init() {}

  /// Compares the state with earlier states. Returns the sentences to report now.
  public mutating func look(at state: LineState, now: Instant) -> [String] {
    var sentences: [String] = []
    let current = Self.troubles(of: state)
    since = since.filter { current.keys.contains($0.key) }
    reported.formIntersection(current.keys)
    for (trouble, sentence) in current.sorted(by: { $0.value < $1.value }) {
      let begin = since[trouble, default: now]
      since[trouble] = begin
      if begin + Self.limit <= now, reported.insert(trouble).inserted { sentences.append(sentence) }
    }
    if nextCounts <= now, let counts = takeCounts(state.counters) {
      sentences.append(counts)
      nextCounts = now + Self.pause
    }
    isIdle = since.isEmpty && !hasGrown(state.counters)
    return sentences
  }

  /// Returns the sentences to report when the line ends. These sentences report damage and zero bytes, which no other
  /// message mentions.
  public mutating func finish(_ state: LineState) -> [String] {
    let zeros = reported.contains(.onlyZeros) ? nil : Self.troubles(of: state)[.onlyZeros]
    return [zeros, takeCounts(state.counters)].compactMap(\.self)
  }

  private static func troubles(of state: LineState) -> [Trouble: String] {
    var found: [Trouble: String] = [:]
    if let awaited = state.awaited { found[.awaited(awaited)] = "waiting for the accessory's \(awaited) for 5 s" }
    if let oldest = state.oldestUnacknowledged {
      found[.unacknowledged(oldest: oldest, establishments: state.counters.establishments)] =
        "\(state.unacknowledgedBytes) bytes sent, but none acknowledged for 5 s"
    }
    if let length = state.announcedLength, state.arrivedOfPacket < length {
      found[.heldUp(length: length, packetsReceived: state.counters.packetsReceived)] =
        "a header announces a packet of \(length) bytes, of which only \(state.arrivedOfPacket) arrived in 5 s; all "
        + "later bytes wait for the rest"
    }
    if state.paddingBytes > 0, state.counters.packetsReceived == 0, state.counters.skippedBytes == 0,
      state.counters.establishments == 0
    {
      found[.onlyZeros] =
        "only zeros arrive (\(state.paddingBytes) so far): the line's speed may be wrong, or its wires are swapped"
    }
    return found
  }

  private func hasGrown(_ counters: LinkCounters) -> Bool {
    counters.spoiled > told.spoiled || counters.skippedBytes > told.skippedBytes
      || counters.retransmissions + counters.hastened > told.retransmissions + told.hastened
  }

  private mutating func takeCounts(_ counters: LinkCounters) -> String? {
    guard hasGrown(counters) else { return nil }
    told = counters
    let parts = [
      (counters.spoiled, "packet", "with wrong checksums"),
      (counters.retransmissions + counters.hastened, "packet", "sent again"),
      (counters.skippedBytes, "byte", "outside packets"),
    ]
    let shown = parts.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)\($0.0 == 1 ? "" : "s") \($0.2)" }
    return "the line so far: \(shown.joined(separator: ", "))"
  }
}
