import AccessoryFormats
import AccessoryProfiles

/// Makes a source's bytes, in order and without end.
struct SourcePattern {
  private enum Maker {
    case counting(next: UInt8)
    case text([UInt8], at: Int)
    case random(SeededRandom)
  }

  private var maker: Maker

  /// The bytes of `pattern`; random ones grow from `random`.
  init(_ pattern: Behavior.Source.Pattern, random: SeededRandom) {
    switch pattern {
    case .counting: maker = .counting(next: 0)
    case .text(let text): maker = .text(Array(text.utf8), at: 0)
    case .random: maker = .random(random)
    }
  }

  /// Appends the next `count` bytes. An empty text, which no profile may have, repeats nothing: zeros.
  mutating func append(_ count: Int, to bytes: inout [UInt8]) {
    bytes.reserveCapacity(bytes.count + count)
    switch maker {
    case .counting(var next):
      for _ in 0..<count {
        bytes.append(next)
        next &+= 1
      }
      maker = .counting(next: next)
    case .text(let text, var at):
      for _ in 0..<count {
        bytes.append(text.isEmpty ? 0 : text[at])
        at = at + 1 < text.count ? at + 1 : 0
      }
      maker = .text(text, at: at)
    case .random(var random):
      for _ in 0..<count { bytes.append(UInt8(truncatingIfNeeded: random.next() >> 56)) }
      maker = .random(random)
    }
  }
}
