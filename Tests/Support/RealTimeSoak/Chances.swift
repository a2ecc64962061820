import AccessoryFormats

struct Chances {
  private var random: SeededRandom

  init(seed: UInt64, name: String) {
    random = SeededRandom(seed: seed ^ name.utf8.stableHash)
  }

  mutating func seconds(_ range: ClosedRange<Double>) -> Double { Double.random(in: range, using: &random) }

  mutating func percent(_ chance: Int) -> Bool { Int.random(in: 0..<100, using: &random) < chance }

  mutating func seed() -> Int { Int.random(in: 0..<1_000_000, using: &random) }

  /// Returns the faults for one side of a cable. There may be no faults, faults that a link must recover from, or
  /// faults that only slow the link down. Bits are flipped on one side only. If both sides flipped bits, two flips
  /// could cancel out in a checksum, and wrong bytes would go unnoticed.
  mutating func faults(flipsBits: Bool) -> [String] {
    let all = [
      "loss,chance=1%", "duplicate,chance=2%", "reorder,chance=2%,by=2,wait=20ms",
      flipsBits ? "corrupt,chance=1%" : "loss,chance=2%,ack",
      "latency,delay=5ms,jitter=10ms", "split,size=97", "glue,size=3000,wait=5ms", "rate,bytes=400000",
      "stall,after=4s,for=700ms", "slow-reader,bytes=2048,every=5ms",
    ]
    let count = Int.random(in: 0...2, using: &random)
    return all.shuffled(using: &random).prefix(count).flatMap { ["--fault", $0] }
  }
}
