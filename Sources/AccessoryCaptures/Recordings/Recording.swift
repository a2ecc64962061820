import AccessoryCore
import IAP2

/// Everything in a capture that an app could have observed: attachments, identifications, sessions and session bytes.
///
/// ```swift
/// let recording = try Recording(capture: bytes)
/// for session in recording.sessions { print(session.protocolName, session.steps.count) }
/// ```
public struct Recording: Equatable, Sendable {
  /// A side of the cable.
  public enum End: String, CaseIterable, Sendable {
    case accessory
    case device
  }

  /// Session bytes that were sent together. Each byte appears only once, and the bytes are in order.
  public struct Step: Equatable, Sendable {
    /// The sender.
    public var from: End
    /// When the last of these bytes appeared, relative to the capture's first packet.
    public var time: Instant
    /// The number of the packet that contains the last byte.
    public var packet: Int
    /// The step's bytes.
    public var bytes: [UInt8]

    /// Creates a step.
    public init(from: End, time: Instant, packet: Int, bytes: [UInt8]) {
      (self.from, self.time, self.packet, self.bytes) = (from, time, packet, bytes)
    }
  }

  /// How a session ended.
  public enum Ending: Equatable, Sendable {
    /// One side closed the session.
    case closed(by: End, at: Instant)
    /// The session was still open when the cable was unplugged or the capture ended.
    case open
  }

  /// An External Accessory session.
  public struct Session: Equatable, Sendable {
    /// The session's number in the recording, counting from 1.
    public var number: Int
    /// The session's protocol.
    public var protocolName: String
    /// When the device opened the session.
    public var opened: Instant
    /// The number of the captured packet that opened the session.
    public var packet: Int
    /// Whether the session ran over a native channel. A capture shows a native session only from its first transfer
    /// onward.
    public var isNative = false
    /// The session's bytes.
    public var steps: [Step] = []
    /// How the session ended.
    public var ending = Ending.open

    /// Creates a session without bytes.
    public init(number: Int, protocolName: String, opened: Instant, packet: Int) {
      (self.number, self.protocolName, self.opened, self.packet) = (number, protocolName, opened, packet)
    }

    /// Returns all bytes that one side sent.
    public func bytes(from end: End) -> [UInt8] { steps.filter { $0.from == end }.flatMap(\.bytes) }
  }

  /// A period in which the accessory was plugged in.
  public struct Attachment: Equatable, Sendable {
    /// The cable's number in the capture, counting from 1.
    public var cable: Int
    /// The time of the attachment's first packet.
    public var begin: Instant
    /// The time at which the cable was unplugged or, if the capture does not show this, the time of the attachment's
    /// last packet.
    public var end: Instant
    /// The accessory's identification, or nil if the capture does not contain it.
    public var identification: Identification?
    /// When the device accepted the identification.
    public var accepted: Instant?
    /// The sessions, in the order in which they were opened.
    public var sessions: [Session] = []
  }

  /// The attachments in the order in which they began.
  public var attachments: [Attachment] = []
  /// Sentences about the parts of the capture that could not be used.
  public var problems: [String] = []

  /// The sessions of all attachments.
  public var sessions: [Session] { attachments.flatMap(\.sessions) }

  /// The accessory's last identification that contains protocols, or its last identification if none contains any.
  public var identification: Identification? {
    attachments.last { $0.identification?.protocols.isEmpty == false }?.identification
      ?? attachments.last { $0.identification != nil }?.identification
  }

  /// Reads a recording from the bytes of a capture, which may be in any format that ``CaptureDecoder`` supports.
  ///
  /// - Throws: ``CaptureError`` if the bytes are not a capture, ``RecordingError`` if nothing in the capture can be
  ///   played.
  public init(capture bytes: [UInt8]) throws {
    var decoder = RecordingDecoder()
    try decoder.append(bytes)
    self = try decoder.finish()
  }

  init() {}
}

/// The reason why a capture cannot be used as a recording.
public enum RecordingError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The capture is a transcript, which contains only the first bytes of each packet.
  case transcript
  /// The capture contains no identification.
  case noIdentification
  /// The sessions in the capture have more bytes than a recording can hold.
  case tooLarge

  /// A sentence that describes the problem and how to solve it.
  public var description: String {
    switch self {
    case .transcript: "a transcript does not contain all bytes; record a capture instead"
    case .noIdentification:
      "no accessory identifies itself in the capture; start recording before the accessory is plugged in"
    case .tooLarge:
      "the sessions contain more than \(RecordingReader.mostBytes.groupedDigits) bytes; record a shorter run"
    }
  }
}
