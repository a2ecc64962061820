/// Where a stream is cut into bursts, as far as that is known.
///
/// ```swift
/// StreamCuts.even(10_000).burst(at: 25_000)              // number 2, which begins at 20,000
/// StreamCuts.at([500, 700, 1_000], first: 7).burst(at: 900)   // number 8, which begins at 700
/// ```
public enum StreamCuts: Equatable, Sendable {
  /// Nowhere.
  case none
  /// Each burst has so many bytes.
  case even(Int)
  /// The places where the last bursts begin, in order, and at last where the last one ends; `first` is the number in the
  /// stream of the first of them.
  case at([Int], first: Int)

  /// The burst that has a place: its number in the stream, and where it begins; nil where that is not known.
  func burst(at place: Int) -> (number: Int, start: Int)? {
    switch self {
    case .none: return nil
    case .even(let size): return (place / size, place / size * size)
    case .at(let starts, let first):
      guard let index = starts.lastIndex(where: { $0 <= place }) else { return nil }
      return (first + index, starts[index])
    }
  }

  /// How many bytes the burst at a place has; nil where that is not known.
  func size(at place: Int) -> Int? {
    switch self {
    case .none: return nil
    case .even(let size): return size
    case .at(let starts, _):
      guard let next = starts.firstIndex(where: { $0 > place }), next > 0 else { return nil }
      return starts[next] - starts[next - 1]
    }
  }

  /// Whether one place is in an earlier burst than another.
  func isEarlier(_ place: Int, than other: Int) -> Bool {
    guard let later = burst(at: other) else { return false }
    // Those that are not known any more are the oldest.
    return burst(at: place).map { $0.number < later.number } ?? (place < later.start)
  }

  /// Whether a burst begins at a place; without bursts, whether the stream does.
  func isStart(_ place: Int) -> Bool { self == .none ? place == 0 : burst(at: place)?.start == place }

  /// Where the bursts before a place begin, the last one first, at most so many.
  func starts(before place: Int, atMost count: Int) -> [Int] {
    switch self {
    case .none: []
    case .even(let size): (1...count).map { place - $0 * size }.filter { $0 >= 0 }
    case .at(let starts, _): Array(starts.filter { $0 < place }.suffix(count).reversed())
    }
  }
}
