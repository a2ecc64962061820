/// Sentences in order: the first thousand, and how many came after them, because a program can repeat a mistake
/// without end.
package struct BoundedLog: Sendable {
  static let most = 1_000

  private var first: [String] = []
  private var furtherCount = 0

  package init() {}

  /// All that are kept; at the end a sentence about those that are not.
  package var texts: [String] {
    furtherCount == 0 ? first : first + ["and \(furtherCount) more that are not kept"]
  }

  package mutating func add(_ text: String) {
    if first.count < Self.most { first.append(text) } else { furtherCount += 1 }
  }
}
