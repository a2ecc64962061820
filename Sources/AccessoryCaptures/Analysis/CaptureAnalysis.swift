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
public struct LinkStatistics: Equatable, Sendable {
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

  /// Compares all figures.
  public static func == (left: Self, right: Self) -> Bool { left.json.text == right.json.text }

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
