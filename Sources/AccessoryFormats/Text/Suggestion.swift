/// Finds the name that the user probably meant: the nearest name, or nil if no name is similar enough.
///
/// All "unknown ..., did you mean ...?" messages use this type.
///
/// ```swift
/// Suggestion.nearest(to: "lawkview", in: ["echo", "lawk-view"])   // "lawk-view"
/// Suggestion.nearest(to: "printer", in: ["echo", "lawk-view"])    // nil
/// ```
public enum Suggestion {
  /// The maximum length of words to compare. Longer words are not typos, and comparing them would take too long.
  private static let longestWord = 64

  /// Returns the candidate that differs from `word` by the fewest typos, ignoring case. A typo is a missing, added or
  /// wrong letter, or two swapped letters. If several candidates have equally few typos, returns the first of them. If
  /// no candidate is similar enough (at most one typo for every three letters), returns the only candidate that begins
  /// with `word`, if there is one.
  public static func nearest(to word: String, in candidates: [String]) -> String? {
    let letters = Array(word.lowercased())
    guard !letters.isEmpty, letters.count <= longestWord else { return nil }
    var best: (candidate: String, slips: Int)?
    for candidate in candidates {
      let other = Array(candidate.lowercased())
      let allowed = max(1, min(letters.count, other.count) / 3)
      guard other.count <= longestWord, abs(other.count - letters.count) <= allowed else { continue }
      let slips = distance(letters, other)
      if slips <= allowed, slips < best?.slips ?? .max { best = (candidate, slips) }
    }
    return best?.candidate ?? unfinished(letters, in: candidates)
  }

  /// Returns the text to append to an error: `, did you mean 'x'?`, or an empty string if no candidate is similar.
  public static func nearHint(for word: String, in names: [String]) -> String {
    nearest(to: word, in: names).map { ", did you mean '\($0)'?" } ?? ""
  }

  /// Returns the text to append to "unknown …": `, did you mean 'x'?`, or the list of candidates if none is similar.
  public static func hint(for word: String, in names: [String]) -> String {
    let near = nearHint(for: word, in: names)
    return names.isEmpty || !near.isEmpty ? near : ": expected \(names.map { "'\($0)'" }.joined(separator: ", "))"
  }

  /// Returns the only candidate that begins with these letters, in case the user did not finish typing the word.
  /// Returns nil for fewer than three letters.
  private static func unfinished(_ letters: [Character], in candidates: [String]) -> String? {
    guard letters.count >= 3 else { return nil }
    let longer = candidates.filter { $0.lowercased().starts(with: letters) }
    return longer.count == 1 ? longer.first : nil
  }

  static func distance(_ from: [Character], _ to: [Character]) -> Int {
    var beforeLast = [Int](repeating: 0, count: to.count + 1)
    var last = Array(0...to.count)
    for row in 0..<from.count {
      var current = [row + 1] + [Int](repeating: 0, count: to.count)
      for column in 0..<to.count {
        let substituted = last[column] + (from[row] == to[column] ? 0 : 1)
        current[column + 1] = min(substituted, last[column + 1] + 1, current[column] + 1)
        if row > 0, column > 0, from[row] == to[column - 1], from[row - 1] == to[column] {
          current[column + 1] = min(current[column + 1], beforeLast[column - 1] + 1)
        }
      }
      (beforeLast, last) = (last, current)
    }
    return last[to.count]
  }
}
