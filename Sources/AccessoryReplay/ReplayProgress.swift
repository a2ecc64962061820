import AccessoryCaptures
import AccessoryCore

/// How a replay stands: which sessions were played, and the first difference of each that differed.
public struct ReplayProgress: Equatable, Sendable {
  /// One session of the recording.
  public struct Session: Equatable, Sendable {
    /// Its number in the recording.
    public var number: Int
    /// Its protocol.
    public var protocolName: String
    /// Bytes of the other end that came as recorded.
    public var received: Int
    /// How many of these were not compared, as the mask says.
    public var masked = 0
    /// Bytes that this end of the recording sends.
    public var sent: Int
    /// The first difference; nil when everything passed as recorded.
    public var difference: ReplayDifference?
    /// When it was over, on the loop's clock.
    public var end: Instant
  }

  /// The sessions that were played, in the order in which they were over.
  public private(set) var sessions: [Session] = []
  /// Differences outside of sessions.
  public private(set) var differences: [ReplayDifference] = []
  /// How many sessions the recording has.
  public let count: Int

  /// How many bytes of the other end were compared.
  public var compared: Int { sessions.reduce(0) { $0 + $1.received - $1.masked } }

  /// Nothing played yet.
  public init(_ recording: Recording) { count = recording.sessions.count }

  mutating func add(_ player: SessionPlayer, _ role: Recording.End, _ difference: ReplayDifference?, at now: Instant) {
    sessions.append(
      Session(
        number: player.recorded.number, protocolName: player.recorded.protocolName, received: player.received,
        masked: player.masked, sent: player.recorded.bytes(from: role).count, difference: difference, end: now))
  }

  mutating func add(_ difference: ReplayDifference) { differences.append(difference) }

  /// The first difference of all.
  public var first: ReplayDifference? { differences.first ?? sessions.lazy.compactMap(\.difference).first }

  /// Whether every session was played as recorded.
  public var isAsRecorded: Bool { first == nil && sessions.count == count }
}
