/// The nearest right word for a wrong one, for every message that ends in "did you mean …?".
///
/// ```swift
/// Suggestion.nearest(to: "ehco", among: ["echo", "sink", "source"])   // "echo"
/// ```
public enum Suggestion {
  /// Longer words are compared by their first bytes only, so that a hostile input costs nothing.
  private static let longest = 64

  /// The candidate nearest to `word`, or nil when none is near enough to be worth naming. Upper and lower case are the
  /// same here: who types `TCP` means `tcp`. The first of equally near candidates wins.
  public static func nearest(to word: some StringProtocol, among candidates: [String]) -> String? {
    guard !word.isEmpty else { return nil }
    let word = word.lowercased()
    // One slip in a short word, up to a third of a long one: beyond that a suggestion misleads more than it helps.
    let limit = max(1, min(word.utf8.count, longest) / 3)
    var best: (candidate: String, distance: Int)?
    for candidate in candidates {
      let distance = distance(word, candidate.lowercased())
      if distance <= limit, distance < best?.distance ?? .max { best = (candidate, distance) }
    }
    return best?.candidate
  }

  /// How many slips of typing part two words: a byte added, left out or replaced, or two neighbours swapped.
  public static func distance(_ left: some StringProtocol, _ right: some StringProtocol) -> Int {
    let left = Array(left.utf8.prefix(longest))
    let right = Array(right.utf8.prefix(longest))
    var beforeLast = [Int](repeating: 0, count: right.count + 1)
    var last = Array(0...right.count)
    var row = last
    for i in left.indices {
      row[0] = i + 1
      for j in right.indices {
        let replaced = last[j] + (left[i] == right[j] ? 0 : 1)
        row[j + 1] = min(replaced, last[j + 1] + 1, row[j] + 1)
        if i > 0, j > 0, left[i] == right[j - 1], left[i - 1] == right[j] {
          row[j + 1] = min(row[j + 1], beforeLast[j - 1] + 1)
        }
      }
      (beforeLast, last, row) = (last, row, beforeLast)
    }
    return last[right.count]
  }
}
