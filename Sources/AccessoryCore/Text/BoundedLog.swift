/// Sentences in the order in which they were said: the first thousand, and how many came after them. What is said about a
/// program that goes on making its mistake has no end.
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
