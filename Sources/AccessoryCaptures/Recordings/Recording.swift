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

    package var other: Self { self == .accessory ? .device : .accessory }
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

/// Builds the ``Recording`` of a capture, one entry at a time.
///
/// ```swift
/// var reader = RecordingReader()
/// try decoder.append(bytes) { entry in try? reader.add(entry) }
/// let recording = try reader.finish()
/// ```
///
/// Invariant: a recording contains at most ``mostBytes`` session bytes, ``mostSessions`` sessions and ``mostProblems``
/// problems, so memory use is bounded.
public struct RecordingReader {
  static let mostBytes = 256 << 20
  static let mostSessions = 100_000
  private static let mostProblems = 100
  private static let mostCables = 4_096

  private var recording = Recording()
  private var analysis = CaptureAnalysis()
  private var cables: [Int: Cable] = [:]
  private var byteCount = 0
  private var sessionCount = 0
  private var names: [Int: String] = [:]
  private var channels: [Int: (attachment: Int, session: Int)] = [:]

  private struct Cable {
    var attachment: Int
    /// The side of the cable that each sender name in the capture stands for, if messages have revealed it.
    var marks: [String: Recording.End] = [:]
    /// Maps each open session's identifier to the session's index in the attachment.
    var open: [UInt16: Int] = [:]
  }

  /// Creates a reader.
  public init() {}

  /// Processes the next entry.
  public mutating func add(_ entry: CaptureEntry) throws(RecordingError) {
    let (number, now, packet): (Int, Instant, Int)
    switch entry.place {
    case .packet(let frame, let time, let cable, _): (number, now, packet) = (cable, time, frame)
    case .offset: (number, now, packet) = (1, .origin, 0)
    case .line: throw .transcript
    case .file: return
    }
    switch entry.event {
    case .cable:
      if names.count < Self.mostCables { names[number] = entry.text }
      return
    case .others: return
    case .transfer: return try takeTransfer(entry, at: now, packet)
    case .note:
      if let channel = entry.channel { return takeNote(entry.text, of: channel, at: now) }
      if let index = cables[number]?.attachment { recording.attachments[index].end = now }
      return
    case .problem, .skipped, .spoiled, .unfinished, .packet, .detection, .iap1, .message: break
    }
    guard number > 0, cables[number] != nil || cables.count < Self.mostCables else { return }
    attach(number, entry, at: now)
    if let index = cables[number]?.attachment { recording.attachments[index].end = now }
    for message in entry.messages { try take(message, from: entry.from, on: number, at: now, packet) }
    for event in analysis.add(entry) { try take(event, at: now, packet) }
  }

  /// Returns the recording.
  public mutating func finish() throws(RecordingError) -> Recording {
    for event in analysis.finish() { try take(event, at: recording.attachments.last?.end ?? .origin, 0) }
    recording.attachments.removeAll { $0.identification == nil && $0.sessions.isEmpty }
    guard recording.identification != nil else { throw .noIdentification }
    return recording
  }

  private mutating func countSession() throws(RecordingError) {
    sessionCount += 1
    guard sessionCount <= Self.mostSessions else { throw .tooLarge }
  }

  private mutating func count(bytes: Int) throws(RecordingError) {
    byteCount += bytes
    guard byteCount <= Self.mostBytes else { throw .tooLarge }
  }

  private mutating func note(_ problem: String) {
    if recording.problems.count < Self.mostProblems { recording.problems.append(problem) }
  }

  /// Starts an attachment when a cable's first packet appears, and when the cable's link restarts after an
  /// identification.
  private mutating func attach(_ number: Int, _ entry: CaptureEntry, at now: Instant) {
    if let cable = cables[number] {
      guard let header = entry.header, header.control.contains(.syn), !header.control.contains(.ack),
        recording.attachments[cable.attachment].identification != nil
      else { return }
    }
    recording.attachments.append(Recording.Attachment(cable: number, begin: now, end: now))
    cables[number] = Cable(attachment: recording.attachments.count - 1, marks: cables[number]?.marks ?? [:])
  }

  // MARK: Messages

  private mutating func take(
    _ message: ControlMessage, from mark: String, on number: Int, at now: Instant, _ packet: Int
  ) throws(RecordingError) {
    guard let cable = cables[number] else { return }
    learn(mark, message, number)
    let index = cable.attachment
    switch message.id {
    case .identificationInformation:
      recording.attachments[index].identification = IdentificationReading(message).identification
    case .identificationAccepted: recording.attachments[index].accepted = recording.attachments[index].accepted ?? now
    case .startExternalAccessorySession:
      // A retransmitted packet must not open a second session.
      guard let values = Self.values(message, 2), cable.open[values[1]] == nil else { return }
      try countSession()
      let name = recording.attachments[index].identification?.externalAccessoryProtocol(
        UInt8(truncatingIfNeeded: values[0]))?.name
      cables[number]?.open[values[1]] = recording.attachments[index].sessions.count
      recording.attachments[index].sessions.append(
        Recording.Session(
          number: sessionCount, protocolName: name ?? "protocol \(values[0])", opened: now, packet: packet))
    case .stopExternalAccessorySession:
      if let values = Self.values(message, 1) { end(values[0], on: number, by: .device, at: now) }
    case .externalAccessorySessionStatus:
      if let values = Self.values(message, 2), values[1] == 1 { end(values[0], on: number, by: .accessory, at: now) }
    default: break
    }
  }

  private mutating func end(_ id: UInt16, on number: Int, by end: Recording.End, at now: Instant) {
    guard let cable = cables[number], let session = cable.open[id] else { return }
    if recording.attachments[cable.attachment].sessions[session].ending == .open {
      recording.attachments[cable.attachment].sessions[session].ending = .closed(by: end, at: now)
    }
    cables[number]?.open[id] = nil
  }

  /// Returns the values of the first `count` parameters. Each parameter must consist of one or two bytes.
  private static func values(_ message: ControlMessage, _ count: Int) -> [UInt16]? {
    guard let parameters = try? ParameterReader.read(message.body) else { return nil }
    var values: [UInt16] = []
    for id in 0..<count {
      guard let value = parameters.first(where: { $0.id == id })?.value, 1...2 ~= value.count else { return nil }
      values.append(value.reduce(0) { $0 << 8 | UInt16($1) })
    }
    return values
  }

  /// Uses the first message to determine which side is the accessory. Bluetooth captures show only which side made the
  /// recording.
  private mutating func learn(_ mark: String, _ message: ControlMessage, _ number: Int) {
    guard cables[number]?.marks[mark] == nil, let sender = MessageCatalog.entry(message.id)?.sender else { return }
    cables[number]?.marks[mark] = sender == .accessory ? .accessory : .device
  }

  // MARK: Bytes

  private mutating func take(
    _ event: CaptureAnalysis.Event, at now: Instant, _ packet: Int
  ) throws(RecordingError) {
    guard case .session(let found) = event, !found.bytes.isEmpty, let cable = cables[found.cable] else { return }
    guard let session = cable.open[found.session] else {
      return note("\(found.bytes.count.counted("byte")) of session \(found.session), which was not open, are omitted")
    }
    guard let from = cable.marks[found.from] else { return note("the sender of session \(found.session) is unknown") }
    try count(bytes: found.bytes.count)
    recording.attachments[cable.attachment].sessions[session].steps.append(
      Recording.Step(from: from, time: now, packet: packet, bytes: found.bytes))
  }

  // MARK: Native channels

  /// Handles a transfer on a native channel. The first transfer on a channel begins a session.
  private mutating func takeTransfer(
    _ entry: CaptureEntry, at now: Instant, _ packet: Int
  ) throws(RecordingError) {
    guard let channel = entry.channel else { return }
    if channels[channel.interface] == nil {
      guard let attachment = attachment(of: channel.cable) else {
        return note("the transfers of \(channel.protocolName) belong to no cable and are omitted")
      }
      try countSession()
      var session = Recording.Session(
        number: sessionCount, protocolName: channel.protocolName, opened: now, packet: packet)
      session.isNative = true
      channels[channel.interface] = (attachment, recording.attachments[attachment].sessions.count)
      recording.attachments[attachment].sessions.append(session)
    }
    guard let place = channels[channel.interface] else { return }
    try count(bytes: entry.bytes.count)
    recording.attachments[place.attachment].end = now
    recording.attachments[place.attachment].sessions[place.session].steps.append(
      Recording.Step(
        from: entry.from.hasPrefix("A") ? .accessory : .device, time: now, packet: packet, bytes: entry.bytes))
  }

  /// Handles a note that a native session has ended. The note of the side that closed the session looks like "D closed
  /// SIDE …", and the note of its peer looks like "A sees SIDE … that …".
  private mutating func takeNote(_ text: String, of channel: CaptureEntry.NativeChannel, at now: Instant) {
    guard let place = channels[channel.interface],
      recording.attachments[place.attachment].sessions[place.session].ending == .open
    else { return }
    let writer: Recording.End = text.hasPrefix("A ") ? .accessory : .device
    let isOwn = text.contains(" closed SIDE ")
    guard isOwn || text.hasSuffix("\(ChannelEnd.closedByPeer)") else { return }
    recording.attachments[place.attachment].sessions[place.session].ending = .closed(
      by: isOwn ? writer : writer.other, at: now)
  }

  private func attachment(of name: String) -> Int? {
    let numbers = names.filter {
      $0.value.hasSuffix(": \(name.printable)") || $0.value.contains(": \(name.printable), ")
    }.keys
    return numbers.max().flatMap { cables[$0]?.attachment }
  }
}

/// Builds a ``Recording`` from the bytes of a capture, which may arrive in chunks.
///
/// ```swift
/// var decoder = RecordingDecoder()
/// for piece in pieces { try decoder.append(piece) }
/// let recording = try decoder.finish()
/// ```
public struct RecordingDecoder {
  private let decoder = CaptureDecoder()
  private var reader = RecordingReader()
  private var failure: RecordingError?

  /// Creates a decoder.
  public init() {}

  /// Processes more bytes.
  ///
  /// - Throws: ``CaptureError`` if the bytes are not a capture, ``RecordingError`` if the capture cannot be played.
  public mutating func append(_ bytes: [UInt8]) throws {
    try decoder.append(bytes) { take($0) }
    if let failure { throw failure }
  }

  /// Processes the end of the capture and returns the recording.
  ///
  /// - Throws: the same errors as ``append(_:)``.
  public mutating func finish() throws -> Recording {
    try decoder.finish { take($0) }
    if let failure { throw failure }
    return try reader.finish()
  }

  private mutating func take(_ entry: CaptureEntry) {
    guard failure == nil else { return }
    do throws(RecordingError) { try reader.add(entry) } catch { failure = error }
  }
}
