import AccessoryCore
import AccessoryFormats
import IAP2

/// The expected reply and how much of it to read.
///
/// ```swift
/// ReplyRule(.prefix(Array("OK".utf8)))                    // reads until it is quiet, then compares
/// ReplyRule(reading: .until(Array("\r\n".utf8)))          // a line, whatever it says
/// ```
public struct ReplyRule: Equatable, Sendable {
  /// What the reply must be.
  public enum Expectation: Equatable, Sendable {
    /// Any reply is accepted, even an empty one.
    case anything
    /// The reply must be exactly these bytes.
    case bytes([UInt8])
    /// The reply must begin with these bytes.
    case prefix([UInt8])
    /// The reply must contain a match for this regular expression.
    case pattern(BytePattern)
  }

  /// How much of the reply to read.
  public enum Extent: Equatable, Sendable {
    /// Nothing is read. The exchange only waits until the request has been acknowledged.
    case nothing
    /// The reply has this many bytes.
    case count(Int)
    /// The reply is whatever arrives within this time.
    case time(Duration)
    /// The reply is everything up to and including these bytes.
    case until([UInt8])
    /// The reply is everything that arrives until the session is quiet. If nothing arrives within `first`, there is no
    /// reply.
    case quiet(first: Duration)
  }

  /// The expected reply.
  public var expectation: Expectation
  /// How much of the reply to read, or nil to read as much as is needed to judge the reply.
  public var extent: Extent?

  /// How long the session must be quiet before a reply of unknown length is considered complete.
  public static let pause = Duration.milliseconds(200)
  /// The maximum length of a reply in bytes.
  public static let longest = 64 << 20

  /// Creates a rule.
  public init(_ expectation: Expectation = .anything, reading extent: Extent? = nil) {
    (self.expectation, self.extent) = (expectation, extent)
  }

  /// Returns a message that contains the actual reply, the expected reply and the first byte that differs. Both replies
  /// are shown in the same form, as text or as hex.
  func complaint(of reply: [UInt8]) -> String {
    func differing(_ wanted: [UInt8]) -> String {
      let place = zip(reply, wanted).enumerated().first { $0.element.0 != $0.element.1 }?.offset
      guard let place else { return "" }
      return "; they differ from byte \(place) on"
    }
    let count = "the reply of \(reply.count.counted("byte")) is \(ShownBytes.of(reply))"
    switch expectation {
    case .anything: return count
    case .bytes(let bytes):
      return "\(count); expected \(bytes.count.counted("byte")): \(ShownBytes.of(bytes))\(differing(bytes))"
    case .prefix(let bytes):
      return "\(count); expected a reply that begins with \(ShownBytes.of(bytes))\(differing(bytes))"
    case .pattern(let pattern): return "\(count); expected a match of \(Excerpt.of(pattern.text))"
    }
  }
}

/// Collects one reply and decides when it is complete.
///
/// The collector has no clock of its own. Callers pass in the time and receive the next deadline.
package struct ReplyCollector: Equatable {
  /// Whether the collector needs more bytes.
  package enum State: Equatable {
    /// The collector is waiting for bytes. The associated value is the deadline, if any.
    case waiting(Instant?)
    case complete
  }

  private let rule: ReplyRule
  private let beginning: Instant
  /// Searches for the rule's pattern and examines each byte only once.
  private var search: PatternSearch?
  package private(set) var reply: [UInt8] = []
  package private(set) var lastByte: Instant?

  /// `beginning` is the time at which the request was sent.
  package init(_ rule: ReplyRule, since beginning: Instant) {
    (self.rule, self.beginning) = (rule, beginning)
    if case .pattern(let pattern) = rule.expectation { search = PatternSearch(pattern) }
  }

  /// Takes the bytes that belong to this reply, and returns how many were taken.
  package mutating func take(_ bytes: RawSpan, now: Instant) -> Int {
    guard bytes.byteCount > 0, state(now: now) != .complete else { return 0 }
    var room = min(bytes.byteCount, ReplyRule.longest - reply.count)
    switch rule.extent {
    case .nothing: return 0
    case .count(let count): room = min(room, count - reply.count)
    case .until(let end): room = countThrough(end, bytes, room)
    case .time, .quiet, nil: break
    }
    append(bytes, room, now)
    return room
  }

  private mutating func append(_ bytes: RawSpan, _ count: Int, _ now: Instant) {
    let bytes = bytes.extracting(0..<count)
    bytes.withUnsafeBytes { reply += $0 }
    search?.take(bytes)
    lastByte = now
  }

  /// Returns how many of these bytes belong to a reply that ends with `end`. Part of `end` may have arrived in earlier
  /// bytes. Until `end` is complete, returns how many more bytes fit into the reply.
  private func countThrough(_ end: [UInt8], _ bytes: RawSpan, _ room: Int) -> Int {
    var last = Array(reply.suffix(max(0, end.count - 1)))
    let earlier = last.count
    bytes.extracting(0..<room).withUnsafeBytes { last += $0 }
    return last.firstRange(of: end).map { $0.upperBound - earlier } ?? room
  }

  /// Whether the reply is as expected if no more bytes arrive.
  package var isAsExpected: Bool {
    switch rule.expectation {
    case .anything: true
    case .bytes(let bytes): reply == bytes
    case .prefix(let bytes): reply.starts(with: bytes)
    case .pattern: search?.isFound ?? false
    }
  }

  /// A description, without a final period, of how the reply differs from the expected one, or nil if it does not.
  package var complaint: String? { isAsExpected ? nil : rule.complaint(of: reply) }

  package var isCompleteAtTheEnd: Bool {
    switch rule.extent {
    case .count, .until: false
    case .nothing, .time, .quiet, nil: true
    }
  }

  package func state(now: Instant) -> State {
    if reply.count >= ReplyRule.longest { return .complete }
    switch rule.extent {
    case .nothing: return .complete
    case .count(let count): return reply.count >= count ? .complete : .waiting(nil)
    case .until(let end):
      return reply.count >= end.count && reply.suffix(end.count).elementsEqual(end) ? .complete : .waiting(nil)
    case .time(let time): return wait(until: beginning + time, now)
    case .quiet(let first): return wait(until: lastByte.map { $0 + ReplyRule.pause } ?? beginning + first, now)
    case nil: return judged(now)
    }
  }

  /// Returns the state for a rule that does not specify how much to read. The state depends on the expected reply. The
  /// reply is considered complete after a pause that follows the first wrong byte or the last correct byte. Unexpected
  /// bytes that arrive during this pause are part of the reply.
  private func judged(_ now: Instant) -> State {
    guard let lastByte else { return rule.expectation == .anything ? .complete : .waiting(nil) }
    let isDecided =
      switch rule.expectation {
      case .anything: true
      case .bytes(let bytes), .prefix(let bytes): reply.count >= bytes.count || !bytes.starts(with: reply)
      case .pattern: isAsExpected
      }
    if !isDecided { return .waiting(nil) }
    // The next request can be sent without a pause, because any further byte would be wrong.
    if case .bytes(let bytes) = rule.expectation, reply == bytes { return .complete }
    return wait(until: lastByte + ReplyRule.pause, now)
  }

  private func wait(until deadline: Instant, _ now: Instant) -> State {
    now >= deadline ? .complete : .waiting(deadline)
  }
}

/// An expected reply, as specified by the user: `echo`, `none`, `text:OK`, `hex:06`, `prefix:V`, `regex:V\d+`,
/// `file:F`.
package enum ReplyWord: Equatable, Sendable {
  case none
  case echo
  case text(String)
  case hex([UInt8])
  case regex(BytePattern)
  case file(String)
  case prefix(String)

  package static let forms = "echo, none, text:…, hex:…, prefix:…, regex:… or file:…"

  /// Parses the text that the user typed. The prefix `hex:` is optional.
  package init(_ word: String, forms: String = ReplyWord.forms) throws(OptionError) {
    let parts = word.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    let value = parts.count == 2 ? String(parts[1]) : ""
    switch (parts.first ?? "", parts.count) {
    case ("none", 1): self = .none
    case ("echo", 1): self = .echo
    case ("", 1): throw OptionError("is empty: expected \(forms)")
    case ("text", 2) where !value.isEmpty: self = .text(value)
    case ("prefix", 2) where !value.isEmpty: self = .prefix(value)
    case ("regex", 2) where !value.isEmpty:
      do throws(OptionError) { self = .regex(try BytePattern(value)) } catch {
        throw OptionError("'\(Excerpt.of(word))': the regex is invalid \(error)")
      }
    case ("file", 2) where !value.isEmpty: self = .file(value)
    case ("text", 2), ("prefix", 2), ("regex", 2), ("file", 2):
      throw OptionError("'\(Excerpt.of(word))': nothing follows the colon; expected \(forms)")
    case ("hex", 2): self = .hex(try Self.hex(value, word, forms))
    default: self = .hex(try Self.hex(word, word, forms))
    }
  }

  private static func hex(_ digits: String, _ word: String, _ forms: String) throws(OptionError) -> [UInt8] {
    guard let bytes = try? Hex.parse(digits), !bytes.isEmpty else {
      let kinds = forms.split { " ,…".contains($0) }.map(String.init)
      let kind = word.prefix { $0 != ":" }
      let near = Suggestion.nearHint(for: kind == word ? word : "\(kind):", in: kinds)
      throw OptionError("'\(Excerpt.of(word))': expected \(forms)\(near)")
    }
    return bytes
  }
}

/// How much of a reply to read, as specified by the user: a number of bytes, a duration, or `until:TEXT`.
package enum ReadingWord: Equatable, Sendable {
  case count(Int)
  case time(Duration)
  case until(String)

  /// Parses the text that the user typed.
  package init(_ word: String) throws(OptionError) {
    if word.hasPrefix("until:"), word.count > 6 {
      self = .until(String(word.dropFirst(6)))
    } else if let count = Int(word), (1...ReplyRule.longest).contains(count) {
      self = .count(count)
    } else if Int(word) == nil, let time = try? DurationText.parse(word) {
      self = .time(time)
    } else {
      throw OptionError(
        "'\(word)': expected a number of bytes from 1 to \(ReplyRule.longest), a time such as 500ms, or until:TEXT")
    }
  }
}
