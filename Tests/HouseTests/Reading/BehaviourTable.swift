import TestSupport

/// The table in docs/external-accessory.md that says which test proves which behaviour of Apple's framework, and the
/// one below it of what cannot be played here.
struct BehaviourTable {
  /// A row: `| N1 | `RegistrationTests/n1Nothing…` |`.
  struct Row: Equatable {
    let number: String
    /// `Suite/function`.
    let tests: [String]
  }

  /// A behaviour, or a part of one, that cannot be played, with the experiment that failed.
  struct Missing: Equatable {
    let number: String
    let experiment: String
    let outcome: String
  }

  let rows: [Row]
  let missing: [Missing]

  init(parsing text: String) {
    rows = Self.cells(text, below: "## Behaviour by number").filter { $0.count >= 2 }.map {
      // The odd pieces stand between quotes.
      let pieces = $0[1].split(separator: "`", omittingEmptySubsequences: false).enumerated()
      return Row(number: $0[0], tests: pieces.filter { $0.offset % 2 == 1 }.map { String($0.element) })
    }
    missing = Self.cells(text, below: "## Not reproducible here").filter { $0.count >= 4 }.map {
      Missing(number: $0[0], experiment: $0[2], outcome: $0[3])
    }
  }

  /// The rows of the first table below a heading, without its head.
  private static func cells(_ text: String, below heading: String) -> [[String]] {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    let table = lines.drop { $0 != heading }.drop { !$0.hasPrefix("|") }.prefix { $0.hasPrefix("|") }
    return table.dropFirst(2).map { line in
      line.split(separator: "|", omittingEmptySubsequences: false).dropFirst().dropLast().map {
        String($0.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
      }
    }
  }

  /// The numbers that a test's name carries: `N12` and `N13` for `n12AndN13ADisconnected…`.
  static func numbers(of test: Substring) -> [String] {
    var (found, rest) = ([String](), test)
    while let letter = rest.first?.uppercased(), "NFSETPB".contains(letter) {
      let digits = rest.dropFirst().prefix { $0.isNumber }
      guard !digits.isEmpty else { break }
      found.append(letter + digits)
      rest = rest.dropFirst(1 + digits.count)
      guard rest.hasPrefix("And") else { break }
      rest = rest.dropFirst(3)
    }
    return found
  }
}
