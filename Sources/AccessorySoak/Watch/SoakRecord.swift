import AccessoryCore
import AccessoryFaults
import AccessorySessions
import AccessorySimulator
import IAP2

/// The record of one world: the broken rules, the corner cases reached, and a hash of everything that happened.
final class SoakRecord {
  private static let most = 20
  private static let longest = 1_000

  // Exclusivity checking is off because every packet and event is recorded. No other code runs while these properties
  // change.
  @exclusivity(unchecked) private(set) var violations: [SoakViolation] = []
  @exclusivity(unchecked) var coverage = SoakCoverage()
  @exclusivity(unchecked) var hash = RunningHash()
  var leaks = LeakWatch()
  let scratch = UniqueScratch()
  /// The behavior of echo accessories. Tests replace it with faulty behaviors.
  var echo: any AccessoryBehavior = EchoBehavior()
  @exclusivity(unchecked) private(set) var publications = PublicationWatch()
  /// How many times the link at either end of a cable went down, including when the device reset it.
  @exclusivity(unchecked) private(set) var linkDowns = 0

  @exclusivity(unchecked) var hasNews = false

  func violation(_ rule: SoakRule, _ text: @autoclosure () -> String, at time: Instant) {
    guard violations.count < Self.most else { return }
    let scalars = text().unicodeScalars
    let isLong = scalars.count > Self.longest
    violations.append(
      SoakViolation(rule, isLong ? String(scalars.prefix(Self.longest)) + "…" : String(scalars), at: time))
  }

  func violation(_ seen: SoakViolation, at time: Instant) { violation(seen.rule, seen.text, at: time) }

  func saw(_ event: TimelineEvent) {
    hasNews = true
    hash.add(UInt64(bitPattern: event.time.nanoseconds))
    hash.add(event.kind.name)
    hash.add(UInt64(truncatingIfNeeded: event.subject?.connectionID ?? 0))
    if let wrong = publications.saw(event) { violation(wrong, at: event.time) }
    switch (event.side, event.kind) {
    case (_, .link(isUp: false, _)), (.device, .fault): linkDowns += 1
    case (.device, .connect): coverage[event.subject?.protocols.isEmpty == true ? .emptyConnect : .connect] += 1
    case (.device, .sessionOpen): coverage[.sessionOpened] += 1
    default: break
    }
  }
}

/// Checks the device's connects, disconnects and sessions.
///
/// An accessory may disconnect only if it is connected, no connection ID may be issued twice, and a session may be
/// opened only for a protocol that the accessory offers at that moment.
struct PublicationWatch {
  private var seen: [Int] = []
  private(set) var published: [Int] = []

  mutating func saw(_ event: TimelineEvent) -> SoakViolation? {
    guard event.side == .device else { return nil }
    switch event.kind {
    case .connect, .disconnect:
      guard let id = event.subject?.connectionID else {
        return SoakViolation(.publication, "\(event.kind.name) without a connection ID")
      }
      if case .connect = event.kind {
        if seen.contains(id) { return SoakViolation(.publication, "connection ID \(id) was issued before") }
        seen.append(id)
        published.append(id)
      } else {
        guard let index = published.firstIndex(of: id) else {
          return SoakViolation(.publication, "disconnect of \(id), which is not connected")
        }
        published.remove(at: index)
      }
    case .sessionOpen(_, let name):
      guard event.subject?.protocols.contains(name) == true else {
        return SoakViolation(
          .opening, "a session was opened on \(name), but the accessory offers \(event.subject?.protocols ?? [])")
      }
    default: break
    }
    return nil
  }
}

/// Holds weak references to objects and reports which objects are still in memory after the world has ended.
struct LeakWatch {
  private struct Entry {
    let name: StaticString
    let number: Int
    weak var object: AnyObject?
  }

  private var entries: [Entry] = []

  /// Watches an object. `number` distinguishes between objects of the same kind (cables, accessories or sessions).
  mutating func watch(_ object: AnyObject, _ name: StaticString, _ number: Int = 0) {
    entries.append(Entry(name: name, number: number, object: object))
  }

  var leaks: [String] {
    // By index, because copying a weak reference is expensive.
    entries.indices.filter { entries[$0].object != nil }.map { "\(entries[$0].name) \(entries[$0].number)" }
  }
}

/// A hash of everything that happened in a world, in order. Unlike Swift's hash values, this hash is the same in every
/// process.
struct RunningHash {
  private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

  mutating func add(_ word: UInt64) {
    value = (value ^ word) &* 0x0000_0100_0000_01B3
    value ^= value >> 31
  }

  mutating func add(_ text: String) {
    var text = text
    text.withUTF8 { add($0.span.bytes) }
  }

  mutating func add(_ bytes: RawSpan) {
    add(UInt64(truncatingIfNeeded: bytes.byteCount))
    var offset = 0
    while offset + 8 <= bytes.byteCount {
      add(bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
      offset += 8
    }
    var rest: UInt64 = 0
    while offset < bytes.byteCount {
      rest = rest << 8 | UInt64(bytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self))
      offset += 1
    }
    add(rest)
  }
}

/// A rule that every seeded world must satisfy after each step.
public struct SoakRule: Hashable, Sendable, CustomStringConvertible {
  /// The name of the rule in reports and JSON, for example `bytes` or `forbidden giveUp`.
  public let description: String

  init(_ word: String) { description = word }

  /// The bytes that one end has read are a prefix of the bytes that the other end has written.
  public static let bytes = SoakRule("bytes")
  /// Bytes always arrive if they were written before a clean close or in a session that stays open.
  public static let delivery = SoakRule("delivery")
  /// If a session ends at one end, it also ends at the other end.
  public static let ending = SoakRule("ending")
  /// Each connect is followed by a disconnect, and no connection ID is reused.
  public static let publication = SoakRule("publication")
  /// Only apps open sessions, and only for a protocol that the accessory offers at that moment.
  public static let opening = SoakRule("opening")
  /// Neither end has more unacknowledged packets in flight than its peer allows.
  public static let window = SoakRule("window")
  /// No packet is longer than the receiver allows.
  public static let packetLength = SoakRule("packetLength")
  /// Once both SYNs have been exchanged, packets are numbered consecutively.
  public static let numbering = SoakRule("numbering")
  /// Only packets that have arrived are acknowledged.
  public static let acknowledgement = SoakRule("acknowledgement")
  /// No packet is sent with a wrong checksum.
  public static let packets = SoakRule("packets")
  /// An accessory that is not plugged in can always be plugged in.
  public static let plugging = SoakRule("plugging")
  /// Every world finishes its work within a limited time.
  public static let end = SoakRule("end")
  /// No object stays in memory after it is no longer needed.
  public static let leak = SoakRule("leak")

  /// The world does not reach any corner case that its plan forbids.
  public static func forbidden(_ corner: SoakCoverage.Corner) -> SoakRule { SoakRule("forbidden \(corner.word)") }

  /// The rules that apply to every world, regardless of its plan.
  public static let everywhere: [SoakRule] = [
    .bytes, .delivery, .ending, .publication, .opening, .window, .packetLength, .numbering, .acknowledgement, .packets,
    .plugging, .end, .leak,
  ]
}

/// One occasion on which a rule was broken.
public struct SoakViolation: Equatable, Sendable, CustomStringConvertible {
  /// The broken rule.
  public var rule: SoakRule
  /// The virtual time, which the ``SoakRecord`` sets.
  public var time: Instant
  /// What was observed.
  public var text: String

  init(_ rule: SoakRule, _ text: String, at time: Instant = .origin) {
    (self.rule, self.text, self.time) = (rule, text, time)
  }

  /// The time and text of the violation.
  public var description: String { "\(time.secondsText) \(text)" }
  /// The violation on one line: the rule, the time and the text.
  public var line: String { "\(rule): \(description)" }
}

/// How many times seeded worlds reached each corner case, and how many times faults took effect.
///
/// A run over many seeds fails if any corner case was never reached.
public struct SoakCoverage: Equatable, Sendable, CustomStringConvertible {
  /// A rare situation in the protocol.
  public enum Corner: Int, CaseIterable, Sendable {
    case linkUp, retransmission, wrap, giveUp, duplicate, ahead, outsideWindow, spoiled, skippedBytes, hastened
    case windowFull, withheldAcknowledgements, noRoom, zeroAcknowledgementLink, resetByDevice
    case cutInDetection, cutInSynchronization, cutInAuthentication, cutInIdentification, cutWhenReady, cutInSession
    case connect, emptyConnect, sessionOpened, sessionRefused, sessionEndedUnread, sessionClosedByDevice
    case sessionClosedByAccessory, sessionEndedByLink, sessionEndedByCable, sessionDeniedByAPI, bytesDelivered

    /// The name of the corner case on the command line, in files and in JSON, for example `giveUp`.
    public var word: String { "\(self)" }

    /// The description of the corner case in the printed table.
    public var name: String {
      switch self {
      case .linkUp: "link came up"
      case .retransmission: "packet retransmitted after a timeout"
      case .wrap: "sequence number wrapped"
      case .giveUp: "link given up"
      case .duplicate: "packet arrived twice"
      case .ahead: "packet arrived after a missing one"
      case .outsideWindow: "packet arrived outside the window"
      case .spoiled: "packet with a wrong checksum"
      case .skippedBytes: "bytes that belong to no packet"
      case .hastened: "packet retransmitted for an extended acknowledgement"
      case .windowFull: "packet waited for the window to open"
      case .withheldAcknowledgements: "acknowledgements withheld because of a full session"
      case .noRoom: "packet dropped because of a full session"
      case .zeroAcknowledgementLink: "link without acknowledgements"
      case .resetByDevice: "link reset by the device"
      case .cutInDetection: "cut in detection"
      case .cutInSynchronization: "cut in synchronization"
      case .cutInAuthentication: "cut in authentication"
      case .cutInIdentification: "cut in identification"
      case .cutWhenReady: "cut when ready"
      case .cutInSession: "cut with a session open"
      case .connect: "connect with protocols"
      case .emptyConnect: "connect without protocols"
      case .sessionOpened: "session opened"
      case .sessionRefused: "session refused"
      case .sessionEndedUnread: "session ended unread"
      case .sessionClosedByDevice: "session closed by the device"
      case .sessionClosedByAccessory: "session closed by the accessory"
      case .sessionEndedByLink: "session ended with its link"
      case .sessionEndedByCable: "session ended with its cable"
      case .sessionDeniedByAPI: "session denied because its protocol is not offered"
      case .bytesDelivered: "bytes delivered"
      }
    }
  }

  private var counts = [Int](repeating: 0, count: Corner.allCases.count)
  private var faults = [Int](repeating: 0, count: Fault.format.names.count)

  /// Creates coverage with all counts set to zero.
  public init() {}

  /// Returns or sets how many times a corner case was reached.
  public subscript(corner: Corner) -> Int {
    get { counts[corner.rawValue] }
    set { counts[corner.rawValue] = newValue }
  }

  /// Returns or sets how many times faults of the kind named `fault` took effect.
  public subscript(fault fault: String) -> Int {
    get { Fault.format.names.firstIndex(of: fault).map { faults[$0] } ?? 0 }
    set { if let index = Fault.format.names.firstIndex(of: fault) { faults[index] = newValue } }
  }

  var all: [Int] { counts + faults }

  mutating func add(_ counters: LinkCounters) {
    self[.linkUp] += counters.establishments
    self[.retransmission] += counters.retransmissions
    self[.wrap] += counters.sequenceWraps
    self[.duplicate] += counters.duplicates
    self[.ahead] += counters.ahead
    self[.outsideWindow] += counters.outside
    self[.spoiled] += counters.spoiled
    self[.skippedBytes] += counters.skippedBytes
    self[.hastened] += counters.hastened
    self[.windowFull] += counters.windowStalls
    self[.withheldAcknowledgements] += counters.withholdings
    self[.noRoom] += counters.refused
    self[.giveUp] += counters.giveUps
  }

  /// Adds the counts from another world.
  public static func += (left: inout SoakCoverage, right: SoakCoverage) {
    for index in left.counts.indices { left.counts[index] += right.counts[index] }
    for index in left.faults.indices { left.faults[index] += right.faults[index] }
  }

  /// The names of the corner cases that were never reached.
  public var missing: [String] {
    rows.filter { $0.count == 0 }.map(\.name)
  }

  private var rows: [(name: String, count: Int)] {
    Corner.allCases.map { ($0.name, self[$0]) }
      + zip(Fault.format.names, faults).map { ("fault \($0)", $1) }
  }

  /// A line for each corner case and each fault.
  public var description: String {
    rows.map { "\("\($0.count)".rightAligned(in: 12))  \($0.name)" }.joined(separator: "\n")
  }
}
