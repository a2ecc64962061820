import AccessoryCaptures
import AccessoryCore
import AccessoryFormats

/// Where the other end first did something else than in the recording.
public struct ReplayDifference: Error, Equatable, Sendable, CustomStringConvertible {
  /// What it did.
  public enum Kind: Equatable, Sendable {
    /// A byte is another one; both sides from a few bytes before it.
    case byte(expected: UInt8, got: UInt8)
    /// More came than in the recording.
    case excess(bytes: Int)
    /// The session ended before everything had come.
    case ended(String, missing: Int)
    /// What was due did not come.
    case missing(bytes: Int, within: Duration)
    /// The session should have ended, and did not.
    case stayedOpen(within: Duration)
    /// A session was opened that the recording does not have at this place.
    case unexpectedSession(expected: String?)
    /// The accessory did not offer the protocol, or refused the session.
    case notOpened(String)
    /// The accessory did not connect with its protocols.
    case notConnected(within: Duration)

    /// Whether nothing came, instead of something else.
    public var isSilence: Bool {
      switch self {
      case .missing, .stayedOpen, .notConnected: true
      case .byte, .excess, .ended, .unexpectedSession, .notOpened: false
      }
    }
  }

  /// What it did.
  public var kind: Kind
  /// The session of the recording, from 1; 0 where it has none.
  public var session: Int
  /// The protocol of the session.
  public var protocolName: String
  /// Who sent it, or should have.
  public var from: Recording.End
  /// The byte of the sender's part of the session.
  public var offset = 0
  /// The packet of the capture that contains what was expected; 0 when there is none.
  public var packet = 0
  /// The recorded bytes from ``contextOffset`` on.
  public var expected: [UInt8] = []
  /// The bytes that came, from ``contextOffset`` on.
  public var got: [UInt8] = []
  /// Where ``expected`` and ``got`` begin.
  public var contextOffset = 0

  init(_ kind: Kind, session: Int, protocolName: String, from: Recording.End) {
    (self.kind, self.session, self.protocolName, self.from) = (kind, session, protocolName, from)
  }

  /// One sentence with the place.
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
