import AccessoryFormats

/// An error in the bytes received for a ``UniqueStream``.
public struct StreamFinding: Equatable, Sendable {
  /// The kinds of errors in a stream.
  public enum Kind: String, CaseIterable, Sendable {
    /// Bytes that were sent never arrived.
    case lost
    /// Bytes arrived a second time.
    case repeated
    /// Bytes of an earlier burst arrived in place of this burst's bytes.
    case stale
    /// Bytes arrived before bytes that had been sent earlier.
    case reordered
    /// Different bytes arrived in place of the bytes that were sent.
    case corrupted
    /// Bytes that were never sent arrived between bytes that were sent.
    case inserted
    /// The bytes belong to another session or run, or to no stream at all.
    case foreign
  }

  /// The kind of error.
  public let kind: Kind
  /// The position of the first affected byte in the stream.
  public let place: Int
  /// The number of affected bytes.
  public let count: Int
  /// The position to which repeated or stale bytes belong.
  public let origin: Int?
  /// Details as a sentence fragment, or an empty string if there are none.
  public let detail: String

  init(_ kind: Kind, at place: Int, count: Int, origin: Int? = nil, _ detail: String = "") {
    self.kind = kind
    self.place = place
    self.count = count
    self.origin = origin
    self.detail = detail
  }
}

/// Describes positions in a stream, relative to bursts if the stream is divided into bursts.
public struct StreamWords {
  private let cuts: StreamCuts
  private let number: (Int) -> Int?

  /// Describes positions as byte offsets in the stream.
  public init() {
    cuts = .none
    number = { _ in nil }
  }

  /// Describes positions as byte offsets in bursts; `number` maps a burst's index in the stream to the burst's number.
  public init(_ cuts: StreamCuts, number: @escaping (Int) -> Int?) {
    self.cuts = cuts
    self.number = number
  }

  /// Returns text such as "byte 12 of burst 3".
  public func byte(_ place: Int) -> String {
    if cuts == .none { return "byte \(place)" }
    guard let start = cuts.burst(at: place)?.start else { return "byte \(place) of the session" }
    return "byte \(place - start) of \(burst(place))"
  }

  /// Returns text such as "burst 3".
  public func burst(_ place: Int) -> String {
    if cuts == .none { return "the stream" }
    return cuts.burst(at: place).flatMap { number($0.number) }.map { "burst \($0)" } ?? "an earlier burst"
  }
}

extension StreamFinding {
  /// Returns a sentence fragment that starts with the kind of error.
  public func text(_ words: StreamWords = StreamWords()) -> String {
    let bytes = count.counted("byte")
    let sentence =
      switch kind {
      case .lost: "lost: \(bytes) from \(words.byte(place)) on never arrived"
      case .repeated:
        "repeated: \(bytes) from \(words.byte(origin ?? place)) on arrived again before \(words.byte(place))"
      case .stale:
        "stale: \(bytes) of \(words.burst(origin ?? place)) arrived instead of those from \(words.byte(place)) on"
      case .reordered: "reordered: \(bytes) from \(words.byte(place)) on arrived out of order"
      case .corrupted: "corrupted: \(bytes) from \(words.byte(place)) on"
      case .inserted: "inserted: \(bytes) that were never sent arrived before \(words.byte(place))"
      case .foreign: "foreign: \(bytes) from \(words.byte(place)) on were never sent in this session"
      }
    return detail.isEmpty ? sentence : "\(sentence): \(detail)"
  }
}

extension Sequence<StreamFinding> {
  /// Describes the first few findings, and states how many more there are.
  public func text(_ words: StreamWords = StreamWords()) -> String {
    let all = Array(self)
    let more = all.count > 3 ? "; and \(all.count - 3) more" : ""
    return all.prefix(3).map { $0.text(words) }.joined(separator: "; ") + more
  }
}

/// How a stream is divided into bursts, as far as is known.
///
/// ```swift
/// StreamCuts.even(10_000).burst(at: 25_000)              // number 2, which begins at 20,000
/// StreamCuts.at([500, 700, 1_000], first: 7).burst(at: 900)   // number 8, which begins at 700
/// ```
public enum StreamCuts: Equatable, Sendable {
  case none
  case even(Int)
  /// The positions at which the last bursts start, in order, followed by the end of the last burst; `first` is the
  /// index of the first of these bursts.
  case at([Int], first: Int)

  /// Returns the index and start of the burst that contains a position, or nil if the burst is unknown.
  func burst(at place: Int) -> (number: Int, start: Int)? {
    switch self {
    case .none: return nil
    case .even(let size): return (place / size, place / size * size)
    case .at(let starts, let first):
      guard let index = starts.lastIndex(where: { $0 <= place }) else { return nil }
      return (first + index, starts[index])
    }
  }

  func size(at place: Int) -> Int? {
    switch self {
    case .none: return nil
    case .even(let size): return size
    case .at(let starts, _):
      guard let next = starts.firstIndex(where: { $0 > place }), next > 0 else { return nil }
      return starts[next] - starts[next - 1]
    }
  }

  func isEarlier(_ place: Int, than other: Int) -> Bool {
    guard let later = burst(at: other) else { return false }
    // A burst that is no longer stored is older than every burst that is still stored.
    return burst(at: place).map { $0.number < later.number } ?? (place < later.start)
  }

  /// Returns true if a burst starts at a position. If the stream has no bursts, returns true only at its start.
  func isStart(_ place: Int) -> Bool { self == .none ? place == 0 : burst(at: place)?.start == place }

  /// Returns the start positions of the bursts before a position, latest first, up to a maximum count.
  func starts(before place: Int, atMost count: Int) -> [Int] {
    switch self {
    case .none: []
    case .even(let size): (1...count).map { place - $0 * size }.filter { $0 >= 0 }
    case .at(let starts, _): Array(starts.filter { $0 < place }.suffix(count).reversed())
    }
  }
}
