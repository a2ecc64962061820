import AccessoryCaptures
import AccessoryCore
import AccessoryFormats

/// The settings for playing a recording.
public struct ReplaySettings: Sendable {
  /// The factor by which the recorded speed is multiplied. If it is infinite, there are no delays.
  public var speed = 1.0
  /// Which bytes are allowed to differ from the recording.
  public var mask = ReplayMask()
  /// Whether sessions may be opened in a different order than in the recording.
  public var takesAnyOrder = false
  /// How much later than in the recording the other side may send its bytes, or nil if there is no limit.
  public var patience: Duration?

  /// How long to watch for additional bytes after a session's last recorded byte. Any additional byte is considered a
  /// difference.
  public var settle = Duration.milliseconds(200)

  /// Creates the default settings, with the recorded speed and an empty mask.
  public init() {}

  /// Converts a recorded delay to the delay in the replay.
  func played(_ delay: Duration) -> Duration { delay > .zero && speed.isFinite ? delay / speed : .zero }
}

/// The progress of a replay: the sessions that were played, and the first difference in each session.
public struct ReplayProgress: Equatable, Sendable {
  /// A session in the recording.
  public struct Session: Equatable, Sendable {
    /// The session's number in the recording.
    public var number: Int
    /// The session's protocol.
    public var protocolName: String
    /// How many of the other side's bytes arrived as recorded.
    public var received: Int
    /// How many received bytes were not compared because the mask covers them.
    public var masked = 0
    /// The number of bytes that this side sends in the recording.
    public var sent: Int
    /// The first difference, or nil if everything happened as recorded.
    public var difference: ReplayDifference?
    /// When the session ended, according to the loop's clock.
    public var end: Instant
  }

  /// The sessions that were played, in the order in which they ended.
  public private(set) var sessions: [Session] = []
  /// Differences that do not concern a particular session.
  public private(set) var differences: [ReplayDifference] = []
  /// The number of sessions in the recording.
  public let count: Int

  /// The number of bytes from the other side that were compared.
  public var compared: Int { sessions.reduce(0) { $0 + $1.received - $1.masked } }

  /// Creates the progress of a replay that has not started.
  public init(_ recording: Recording) { count = recording.sessions.count }

  mutating func add(_ player: SessionPlayer, _ role: Recording.End, _ difference: ReplayDifference?, at now: Instant) {
    sessions.append(
      Session(
        number: player.recorded.number, protocolName: player.recorded.protocolName, received: player.received,
        masked: player.masked, sent: player.recorded.bytes(from: role).count, difference: difference, end: now))
  }

  mutating func add(_ difference: ReplayDifference) { differences.append(difference) }

  /// The first difference in the replay.
  public var first: ReplayDifference? { differences.first ?? sessions.lazy.compactMap(\.difference).first }

  /// Whether every session was played as recorded.
  public var isAsRecorded: Bool { first == nil && sessions.count == count }
}

/// The first point at which the other side deviated from the recording.
public struct ReplayDifference: Error, Equatable, Sendable, CustomStringConvertible {
  /// What the other side did.
  public enum Kind: Equatable, Sendable {
    /// A byte differs.
    case byte(expected: UInt8, got: UInt8)
    /// More bytes arrived than were recorded.
    case excess(bytes: Int)
    /// The session ended before all recorded bytes had arrived.
    case ended(String, missing: Int)
    /// The expected bytes did not arrive in time.
    case missing(bytes: Int, within: Duration)
    /// The session did not end when it should have.
    case stayedOpen(within: Duration)
    /// A session was opened that the recording does not have at this point.
    case unexpectedSession(expected: String?)
    /// The accessory did not offer the protocol or refused the session.
    case notOpened(String)
    /// The accessory did not connect, or connected without its protocols.
    case notConnected(within: Duration)

    /// Whether an expected event is missing.
    public var isSilence: Bool {
      switch self {
      case .missing, .stayedOpen, .notConnected: true
      case .byte, .excess, .ended, .unexpectedSession, .notOpened: false
      }
    }
  }

  /// What the other side did.
  public var kind: Kind
  /// The session's number in the recording, counting from 1, or 0 if the difference does not belong to a session.
  public var session: Int
  /// The protocol of the session.
  public var protocolName: String
  /// The side that sent the bytes or should have sent them.
  public var from: Recording.End
  /// The offset of the difference in the data that the sender sends in the session.
  public var offset = 0
  /// The number of the captured packet that contains the expected bytes, or 0 if there is none.
  public var packet = 0
  /// The recorded bytes, starting at ``contextOffset``.
  public var expected: [UInt8] = []
  /// The received bytes, starting at ``contextOffset``.
  public var got: [UInt8] = []
  /// The offset at which ``expected`` and ``got`` begin in the data that the sender sends in the session.
  public var contextOffset = 0

  init(_ kind: Kind, session: Int, protocolName: String, from: Recording.End) {
    (self.kind, self.session, self.protocolName, self.from) = (kind, session, protocolName, from)
  }

  /// A sentence that describes the difference and where it occurred.
  public var description: String {
    let place = session > 0 ? "session \(session) (\(protocolName))" : "a session on \(protocolName)"
    let source = packet > 0 ? ", packet \(packet) of the recording" : ""
    switch kind {
    case .byte(let expected, let got):
      return "\(place): byte \(offset) from the \(from.rawValue) is \(Hex.number(got)) instead of "
        + "\(Hex.number(expected))\(source)"
    case .excess(let bytes):
      return "\(place): \(bytes.counted("byte")) more from the \(from.rawValue) than recorded, after byte \(offset)"
    case .ended(let how, let missing):
      return "\(place): the session ended at byte \(offset) from the \(from.rawValue) (\(how)); "
        + "\(missing.counted("recorded byte")) were not exchanged\(source)"
    case .missing(let bytes, let limit):
      return "\(place): \(bytes.counted("byte")) from the \(from.rawValue) did not arrive within "
        + "\(DurationText.format(limit)) after they were due, from byte \(offset) on\(source)"
    case .stayedOpen(let limit):
      return
        "\(place): the \(from.rawValue) did not close the session within \(DurationText.format(limit)), as it did in "
        + "the recording"
    case .unexpectedSession(let expected):
      let instead = expected.map { "the next recorded session is on \($0)" } ?? "the recording has no further session"
      return "the \(from.rawValue) opened a session on \(protocolName), but \(instead)"
    case .notOpened(let reason): return "\(place): the session could not be opened: \(reason)"
    case .notConnected(let limit):
      return "\(place): the accessory did not connect with its protocols within \(DurationText.format(limit))"
    }
  }
}
