import AccessoryCaptures
import AccessoryCore
import AccessoryFormats

/// How to play a recording.
public struct ReplaySettings: Sendable {
  /// How fast the recorded delays pass.
  public enum Speed: Equatable, Sendable {
    /// This many times as fast as they were recorded.
    case times(Double)
    /// Bytes are sent without delay.
    case max

    /// A recorded delay, as it is played.
    func played(_ delay: Duration) -> Duration {
      switch self {
      case .times(let factor): delay > .zero ? delay / factor : .zero
      case .max: .zero
      }
    }
  }

  /// How fast the recorded delays pass.
  public var speed = Speed.times(1)
  /// Bytes that may differ.
  public var mask = ReplayMask()
  /// Whether sessions may be opened in a different order than in the recording.
  public var takesAnyOrder = false
  /// How much later than recorded the other end may send what is due; nil means any time.
  public var patience: Duration?

  /// How long to watch for bytes after the last recorded one of a session; any that arrive are a difference.
  public var settle = Duration.milliseconds(200)

  /// The defaults: recorded speed, and every byte must be as recorded.
  public init() {}
}

/// The state of a replay: which sessions were played, and the first difference of each that differed.
public struct ReplayProgress: Equatable, Sendable {
  /// One session of the recording.
  public struct Session: Equatable, Sendable {
    /// The session's number in the recording.
    public var number: Int
    /// Its protocol.
    public var protocolName: String
    /// How many bytes from the other end arrived as recorded.
    public var received: Int
    /// How many of these were not compared because of the mask.
    public var masked = 0
    /// Bytes that this end of the recording sends.
    public var sent: Int
    /// The first difference; nil when everything passed as recorded.
    public var difference: ReplayDifference?
    /// When the session ended, on the loop's clock.
    public var end: Instant
  }

  /// The sessions that were played, in the order in which they ended.
  public private(set) var sessions: [Session] = []
  /// Differences outside sessions.
  public private(set) var differences: [ReplayDifference] = []
  /// How many sessions the recording contains.
  public let count: Int

  /// How many bytes from the other end were compared.
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

/// Where the other end first did something that the recording does not contain.
public struct ReplayDifference: Error, Equatable, Sendable, CustomStringConvertible {
  /// What it did.
  public enum Kind: Equatable, Sendable {
    /// A byte differs; both sides are shown from a few bytes before it.
    case byte(expected: UInt8, got: UInt8)
    /// More bytes arrived than in the recording.
    case excess(bytes: Int)
    /// The session ended before everything had arrived.
    case ended(String, missing: Int)
    /// What was due did not arrive.
    case missing(bytes: Int, within: Duration)
    /// The session should have ended, but did not.
    case stayedOpen(within: Duration)
    /// A session was opened that the recording does not contain at this place.
    case unexpectedSession(expected: String?)
    /// The accessory did not offer the protocol, or refused the session.
    case notOpened(String)
    /// The accessory did not connect with its protocols.
    case notConnected(within: Duration)

    /// Whether nothing arrived, instead of something different.
    public var isSilence: Bool {
      switch self {
      case .missing, .stayedOpen, .notConnected: true
      case .byte, .excess, .ended, .unexpectedSession, .notOpened: false
      }
    }
  }

  /// What it did.
  public var kind: Kind
  /// The session of the recording, from 1; 0 if there is none.
  public var session: Int
  /// The protocol of the session.
  public var protocolName: String
  /// The end that sent it, or should have.
  public var from: Recording.End
  /// The offset in the sender's part of the session.
  public var offset = 0
  /// The packet of the capture that contains the expected bytes; 0 if there is none.
  public var packet = 0
  /// The recorded bytes from ``contextOffset`` on.
  public var expected: [UInt8] = []
  /// The received bytes from ``contextOffset`` on.
  public var got: [UInt8] = []
  /// Where ``expected`` and ``got`` begin.
  public var contextOffset = 0

  init(_ kind: Kind, session: Int, protocolName: String, from: Recording.End) {
    (self.kind, self.session, self.protocolName, self.from) = (kind, session, protocolName, from)
  }

  /// One sentence that includes the place.
  public var description: String {
    let place = session > 0 ? "session \(session) (\(protocolName))" : "a session of \(protocolName)"
    let source = packet > 0 ? ", packet \(packet) of the recording" : ""
    switch kind {
    case .byte(let expected, let got):
      return "\(place): byte \(offset) from the \(from.rawValue) is \(Hex.number(got)), recorded was "
        + "\(Hex.number(expected))\(source)"
    case .excess(let bytes):
      return "\(place): \(bytes.counted("byte")) more from the \(from.rawValue) than recorded, after byte \(offset)"
    case .ended(let how, let missing):
      return "\(place): it ended at byte \(offset) from the \(from.rawValue) (\(how)); "
        + "\(missing.counted("recorded byte")) did not pass\(source)"
    case .missing(let bytes, let limit):
      return "\(place): \(bytes.counted("byte")) from the \(from.rawValue) did not come within "
        + "\(DurationText.format(limit)) after they were due, from byte \(offset) on\(source)"
    case .stayedOpen(let limit):
      return
        "\(place): the \(from.rawValue) closed it in the recording, and did not within \(DurationText.format(limit))"
    case .unexpectedSession(let expected):
      let instead = expected.map { "the next recorded one is of \($0)" } ?? "the recording has no further one"
      return "the \(from.rawValue) opened a session of \(protocolName), and \(instead)"
    case .notOpened(let reason): return "\(place): it could not be opened: \(reason)"
    case .notConnected(let limit):
      return "\(place): the accessory did not connect with its protocols within \(DurationText.format(limit))"
    }
  }
}
