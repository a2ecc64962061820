import AccessoryFormats

/// Random choices for plans.
struct Dice {
  var random: SeededRandom

  init(seed: UInt64) {
    random = SeededRandom(seed: seed).derived("plan")
  }

  /// Whether an event with this probability in percent happens.
  mutating func percent(_ chance: Int) -> Bool {
    Int(truncatingIfNeeded: random.next() % 100) < chance
  }

  mutating func number(_ range: ClosedRange<Int>) -> Int {
    range.lowerBound + Int(truncatingIfNeeded: random.next() % UInt64(range.count))
  }

  /// Log-uniform: as likely between 1 and 10 as between 100 and 1,000.
  mutating func spread(_ range: ClosedRange<Int>) -> Int {
    var top = range.lowerBound
    while top < range.upperBound, percent(65) { top = max(top + 1, top * 3) }
    return number(range.lowerBound...min(top, range.upperBound))
  }

  mutating func milliseconds(_ range: ClosedRange<Int>) -> Duration {
    .microseconds(number(range.lowerBound * 1_000...range.upperBound * 1_000))
  }

  mutating func pick<Element>(_ elements: [Element]) -> Element {
    elements[number(0...elements.count - 1)]
  }
}
