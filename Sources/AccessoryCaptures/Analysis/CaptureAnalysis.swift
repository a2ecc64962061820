import AccessoryCore
import AccessoryFormats
import IAP2

/// Follows the links in a capture. Reports each session's bytes in order, along with rates, round-trip times and
/// protocol violations.
///
/// ```swift
/// var analysis = CaptureAnalysis()
/// try decoder.append(bytes) { entry in
///   for event in analysis.add(entry) { print(event) }
/// }
/// ```
///
/// Invariant: memory use is bounded. For each direction, at most ``CapturedEnd/mostHeld`` packets are withheld while an
/// earlier packet is missing.
public struct CaptureAnalysis {
  /// One result of analyzing an entry.
  public enum Event: Equatable, Sendable {
    /// Bytes from an External Accessory session, in order and without duplicates.
    case session(SessionBytes)
    /// A sentence that describes a protocol violation.
    case finding(String)
  }

  /// Bytes from an External Accessory session.
  public struct SessionBytes: Equatable, Sendable {
    /// The cable's number, counting from 1.
    public var cable: Int
    /// The session's identifier.
    public var session: UInt16
    /// The sender's name in the capture.
    public var from: String
    /// The session's bytes.
    public var bytes: [UInt8]
  }

  private static let mostLinks = 256
  private var links: [Int: LinkAnalysis] = [:]

  /// Creates an analysis without any entries.
  public init() {}

  /// Processes the next entry.
  public mutating func add(_ entry: CaptureEntry) -> [Event] {
    var (cable, now) = (1, Instant.origin)
    if case .packet(_, let time, let number, _) = entry.place { (cable, now) = (max(1, number), time) }
    guard links[cable] != nil || links.count < Self.mostLinks else { return [] }
    return links[cable, default: LinkAnalysis(cable)].add(entry, at: now)
  }

  /// Processes the end of the capture.
  public mutating func finish() -> [Event] {
    links.keys.sorted().flatMap { links[$0]?.finish() ?? [] }
  }

  /// The figures for each cable and direction, in the order of the cables.
  public var statistics: [LinkStatistics] {
    links.keys.sorted().flatMap { links[$0]?.statistics ?? [] }
  }
}

/// The figures for one direction of a cable.
public struct LinkStatistics: Sendable {
  /// The cable's number, counting from 1.
  public var cable: Int
  /// The sender's name in the capture.
  public var from: String
  /// The number of packets of any kind.
  public var packets = 0
  /// The number of bytes, including those outside packets.
  public var bytes = 0
  /// The number of session bytes. Retransmitted session bytes are counted only once.
  public var sessionBytes = 0
  /// The number of retransmitted packets.
  public var retransmissions = 0
  /// The number of packets with a wrong checksum.
  public var spoiled = 0
  /// The number of bytes outside packets.
  public var skipped = 0
  /// The number of packets that are missing from the capture, according to the sequence numbers.
  public var missing = 0
  /// The time of the first entry.
  public var begin: Instant?
  /// The time of the last entry.
  public var end: Instant?
  /// The longest interval between two packets.
  public var longestGap = Duration.zero
  /// The number, sum and maximum of the round-trip times, each measured from a packet to its acknowledgement.
  public var roundTrips = (count: 0, sum: Duration.zero, longest: Duration.zero)

  /// The rate in session bytes per second, measured from the first packet to the last.
  public var rate: Double {
    guard let begin, let end, end > begin else { return 0 }
    return Double(sessionBytes) / (end - begin).inSeconds
  }

  /// The figures as a JSON object.
  public var json: JSONObject {
    let mean = meanRoundTrip
    return [
      "v": 1, "event": "statistics", "cable": cable, "from": from, "packets": packets, "bytes": bytes,
      "sessionBytes": sessionBytes, "bytesPerSecond": rate, "retransmissions": retransmissions, "spoiled": spoiled,
      "skipped": skipped, "missing": missing, "longestGap": longestGap.inSeconds, "roundTrips": roundTrips.count,
      "meanRoundTrip": mean?.inSeconds, "longestRoundTrip": mean == nil ? nil : roundTrips.longest.inSeconds,
    ]
  }

  private var meanRoundTrip: Duration? { roundTrips.count > 0 ? roundTrips.sum / roundTrips.count : nil }

  private static func text(_ time: Duration) -> String {
    DurationText.format(.microseconds(time.wholeNanoseconds / 1_000))
  }

  /// The figures as one line of text.
  public var line: String {
    var parts = [
      packets.counted("packet"), bytes.counted("byte"), "\(sessionBytes.groupedDigits) bytes of sessions",
    ]
    if rate > 0 { parts.append("\(Int(rate.rounded()).groupedDigits) bytes/s") }
    parts.append(retransmissions.counted("retransmission"))
    if missing > 0 { parts.append("\(missing) missing") }
    if spoiled > 0 { parts.append("\(spoiled) spoiled") }
    if skipped > 0 { parts.append("\(skipped.counted("byte")) skipped") }
    parts.append("longest gap \(Self.text(longestGap))")
    if let mean = meanRoundTrip {
      parts.append("round trip \(Self.text(mean)) (longest \(Self.text(roundTrips.longest)))")
    }
    return "cable \(cable) \(from.isEmpty ? "" : "\(from) ")\(parts.joined(separator: ", "))"
  }
}

/// The state of one side of a link, as far as it can be inferred from a capture.
struct CapturedEnd {
  /// The maximum number of packets to withhold while an earlier one is missing. This limit equals the largest window in
  /// iAP2.
  static let mostHeld = 127

  var statistics: LinkStatistics
  var name: String { statistics.from }
  var parameters: LinkParameters?
  /// The sequence number of this side's next packet, or nil before the first packet.
  var expected: UInt8?
  /// The packets that follow a missing packet, by sequence number.
  var held: [UInt8: [UInt8]] = [:]
  /// When each unacknowledged packet was sent, and whether it was retransmitted.
  var outstanding: [UInt8: (time: Instant, isRepeated: Bool)] = [:]
}

struct LinkAnalysis {
  private let cable: Int
  private var ends: [CapturedEnd] = []
  private var kinds: [UInt8: LinkSession.Kind] = [:]
  private var openSessions: Set<UInt16> = []
  private var sawBeginning = false
  private var events: [CaptureAnalysis.Event] = []

  init(_ cable: Int) { self.cable = cable }

  var statistics: [LinkStatistics] { ends.map(\.statistics) }

  mutating func add(_ entry: CaptureEntry, at now: Instant) -> [CaptureAnalysis.Event] {
    if [.note, .cable, .others, .problem, .message, .transfer].contains(entry.event) { return [] }
    events = []
    let index = index(of: entry.from)
    count(entry, index, at: now)
    switch entry.event {
    case .spoiled: broke("a packet with a wrong checksum", entry)
    case .skipped: broke("bytes that belong to no packet", entry)
    case .packet:
      guard let header = entry.header else { break }
      noteOpenedSessions(entry.messages)
      if header.control.contains(.syn) {
        synchronize(entry, header, index)
      } else {
        judge(entry, header, index)
        if header.payloadCount > 0, !header.control.contains(.eak) { data(entry, header, index, at: now) }
      }
      if header.control.contains(.ack) { acknowledge(entry, header, index, at: now) }
    default: break
    }
    return events
  }

  mutating func finish() -> [CaptureAnalysis.Event] {
    events = []
    for index in ends.indices { releaseHeld(index) }
    return events
  }

  private mutating func broke(_ text: String, _ entry: CaptureEntry) {
    events.append(.finding("\(entry.from.isEmpty ? "the sender" : entry.from): \(text): \(entry.line)"))
  }

  private mutating func index(of name: String) -> Int {
    if let known = ends.firstIndex(where: { $0.name == name }) { return known }
    ends.append(CapturedEnd(statistics: LinkStatistics(cable: cable, from: name)))
    return ends.count - 1
  }

  private mutating func count(_ entry: CaptureEntry, _ index: Int, at now: Instant) {
    var statistics = ends[index].statistics
    statistics.bytes += entry.bytes.count
    switch entry.event {
    case .packet: statistics.packets += 1
    case .spoiled: statistics.spoiled += 1
    case .skipped: statistics.skipped += entry.bytes.count
    default: break
    }
    if let last = statistics.end { statistics.longestGap = max(statistics.longestGap, now - last) }
    statistics.begin = statistics.begin ?? now
    statistics.end = now
    ends[index].statistics = statistics
  }

  // MARK: Packets

  private mutating func synchronize(_ entry: CaptureEntry, _ header: PacketHeader, _ index: Int) {
    let payload = Array(entry.bytes.dropFirst(PacketHeader.size).dropLast())
    guard let offered = try? LinkParameters(reading: payload.span.bytes) else {
      return broke("a SYN that cannot be used", entry)
    }
    let isOffer = !header.control.contains(.ack)
    let wrong = offered.valuesOutOfRange(isOffer: isOffer)
    if !wrong.isEmpty { broke("a SYN with values outside their ranges", entry) }
    let parameters = offered.replacing(wrong)
    if isOffer {
      openSessions = []
      sawBeginning = true
    }
    ends[index].parameters = parameters
    ends[index].expected = header.sequence &+ 1
    (ends[index].held, ends[index].outstanding) = ([:], [:])
    for session in parameters.sessions { kinds[session.id] = session.kind }
  }

  private mutating func judge(_ entry: CaptureEntry, _ header: PacketHeader, _ index: Int) {
    for other in ends.indices where other != index {
      if let limit = ends[other].parameters?.maximumPacketLength, header.length > limit {
        broke("a packet of \(header.length) bytes, although the other end accepts at most \(limit)", entry)
      }
    }
    for message in entry.messages {
      guard let sender = MessageCatalog.entry(message.id)?.sender else { continue }
      let isFromAccessory = ["A", "IN"].contains(entry.from)
      guard isFromAccessory || ["D", "OUT"].contains(entry.from) else { continue }
      if (sender == .accessory) != isFromAccessory { broke("a message that only the other end may send", entry) }
    }
  }

  private mutating func data(_ entry: CaptureEntry, _ header: PacketHeader, _ index: Int, at now: Instant) {
    let number = header.sequence
    let distance = Int8(bitPattern: number &- (ends[index].expected ?? number))
    if distance < 0 || ends[index].held[number] != nil {
      ends[index].statistics.retransmissions += 1
      ends[index].outstanding[number]?.isRepeated = true
      return
    }
    ends[index].outstanding[number] = (now, false)
    for other in ends.indices where other != index {
      let window = Int(ends[other].parameters?.maximumOutstandingPackets ?? .max)
      let isCounted = ends[other].parameters?.isZeroAcknowledgement == false
      if isCounted, ends[index].outstanding.count > window {
        broke(
          "\(ends[index].outstanding.count) unacknowledged packets, although the other end accepts \(window)", entry)
      }
    }
    ends[index].held[number] = entry.bytes
    if ends[index].expected == nil { ends[index].expected = number }
    deliver(index)
    if ends[index].held.count > CapturedEnd.mostHeld { releaseHeld(index) }
  }

  private mutating func deliver(_ index: Int) {
    while let expected = ends[index].expected, let packet = ends[index].held.removeValue(forKey: expected) {
      ends[index].expected = expected &+ 1
      deliver(packet, index)
    }
  }

  /// Stops waiting for missing packets and processes the packets that follow them.
  private mutating func releaseHeld(_ index: Int) {
    while let expected = ends[index].expected,
      let next = ends[index].held.keys.min(by: { $0 &- expected < $1 &- expected })
    {
      let count = Int(next &- expected)
      ends[index].statistics.missing += count
      let name = ends[index].name
      events.append(
        .finding(
          "\(name.isEmpty ? "the sender" : name): \(count.counted("packet is", "packets are")) missing before number "
            + "\(next) on cable \(cable)"))
      ends[index].expected = next
      deliver(index)
    }
  }

  private mutating func acknowledge(_ entry: CaptureEntry, _ header: PacketHeader, _ index: Int, at now: Instant) {
    let number = header.acknowledgement
    for other in ends.indices where other != index {
      if let expected = ends[other].expected, !header.control.contains(.syn),
        Int8(bitPattern: number &- expected) >= 0, ends[other].held[number] == nil
      {
        broke("an acknowledgement of packet \(number), which had not been sent", entry)
      }
      for (sent, state) in ends[other].outstanding where Int8(bitPattern: number &- sent) >= 0 {
        ends[other].outstanding[sent] = nil
        // The acknowledgement of a retransmitted packet could be for either transmission.
        if state.isRepeated { continue }
        let time = now - state.time
        ends[other].statistics.roundTrips.count += 1
        ends[other].statistics.roundTrips.sum += time
        ends[other].statistics.roundTrips.longest = max(ends[other].statistics.roundTrips.longest, time)
      }
    }
  }

  // MARK: Sessions

  private mutating func deliver(_ packet: [UInt8], _ index: Int) {
    guard packet.count > PacketHeader.overhead else { return }
    let payload = packet[PacketHeader.size..<packet.count - 1]
    guard case .externalAccessory? = kinds[packet[7]], payload.count >= 2 else { return }
    let session = UInt16(payload.u16(at: 0, .big))
    let bytes = Array(payload.dropFirst(2))
    ends[index].statistics.sessionBytes += bytes.count
    if sawBeginning, !openSessions.contains(session) {
      events.append(
        .finding("\(ends[index].name): \(bytes.count.counted("byte")) of session \(session), which is not open"))
    }
    events.append(
      .session(CaptureAnalysis.SessionBytes(cable: cable, session: session, from: ends[index].name, bytes: bytes)))
  }

  /// Remembers every session that was opened, because a session's bytes can still arrive after the session has closed.
  private mutating func noteOpenedSessions(_ messages: [ControlMessage]) {
    for message in messages where message.id.rawValue == 0xEA00 {
      let parameters = try? ParameterReader.read(message.body)
      guard let id = parameters?.first(where: { $0.id == 1 })?.value, id.count == 2 else { continue }
      openSessions.insert(UInt16(id.u16(at: 0, .big)))
    }
  }
}
