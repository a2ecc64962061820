import AccessoryCore
import AccessorySessions
import AccessorySimulator

/// The record of one world: the broken rules, the corner cases reached, and a hash of everything that happened.
final class SoakRecord {
  /// The maximum number of violations to record. Recording more would not help to explain a failure.
  private static let most = 20
  /// The maximum length of a violation's text, which keeps reports small.
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

  /// Whether an event has been recorded since this flag was last reset.
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
