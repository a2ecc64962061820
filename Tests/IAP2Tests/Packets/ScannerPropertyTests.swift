import AccessoryFormats
import IAP2
import TestSupport
import Testing

/// Scans random streams that are split at random. The scanner must agree with a slow reference and account for every
/// byte.
@Suite struct ScannerPropertyTests {
  @Test func theScannerFindsWhatTheReferenceFindsHoweverItIsFed() {
    for seed: UInt64 in 0..<400 {
      var random = SeededRandom(seed: seed)
      let stream = Self.stream(&random)
      let reference = ScannerReference(stream)
      let feedings = [[stream], stream.map { [$0] }, Self.cut(stream, &random), Self.cut(stream, &random)]
      for feeding in feedings where scan(feeding) != reference.found {
        Issue.record("seed \(seed): \(Sheet.hex(stream))\nfound \(scan(feeding))\nexpected \(reference.found)")
        return
      }
      #expect(reference.found.byteCount + reference.padding == stream.count, "seed \(seed)")
      let limited = ScannerReference(stream, maximumLength: 40).found
      #expect(scan(Self.cut(stream, &random), maximumLength: 40) == limited, "seed \(seed)")
    }
  }

  /// Returns a random mix of everything that can be on a wire, mostly packets and damaged packets.
  private static func stream(_ random: inout SeededRandom) -> [UInt8] {
    var stream: [UInt8] = []
    for _ in 0..<(1 + random.below(12)) {
      switch random.below(14) {
      case 0...3: stream += packet(&random, random.below(30))
      case 4: stream += packet(&random, 0)
      case 5: stream += packet(&random, 200 + random.below(200))
      case 6:
        var bytes = packet(&random, 1 + random.below(20))
        bytes[random.below(bytes.count)] ^= 1 << random.below(8)
        stream += bytes
      case 7: stream += packet(&random, random.below(20)).prefix(random.below(20))
      case 8: stream += [0xFF, 0x55, 2, 0, 0xEE, 0x10]
      case 9:
        var frame = [random.byte() % 40] + random.bytes(random.below(40))
        frame.append(Sheet.checksum(frame))
        stream += [0xFF, 0x55] + frame
      case 10: stream += [UInt8](repeating: 0, count: random.below(20))
      case 11: stream += random.bytes(random.below(30))
      case 12:
        stream += [[0xFF], [0xFF, 0x5A], [0xFF, 0xFF, 0x5A], [0xFF, 0x55], [0xFF, 0x55, 0xFF]][random.below(5)]
      default: if random.chance(5) { stream += random.bytes(5_000).map { $0 == 0xFF ? 1 : $0 & 3 } }
      }
    }
    return stream
  }

  private static func packet(_ random: inout SeededRandom, _ count: Int) -> [UInt8] {
    Sheet.bytes(random.byte(), random.byte(), random.byte(), session: random.byte(), random.bytes(count))
  }

  private static func cut(_ stream: [UInt8], _ random: inout SeededRandom) -> [[UInt8]] {
    var chunks: [[UInt8]] = []
    var at = 0
    while at < stream.count {
      let end = min(stream.count, at + 1 + random.below(1 + random.below(60)))
      chunks.append(Array(stream[at..<end]))
      at = end
    }
    return chunks
  }
}
