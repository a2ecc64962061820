import AccessoryFormats
import IAP2
import TestSupport
import Testing

@Suite struct ChecksumTests {
  /// Covers lengths close to the width of a SIMD vector, at every offset.
  @Test func everyLengthAndOffsetSumsLikeTheSlowWay() {
    var random = SeededRandom(seed: 1)
    let bytes = random.bytes(300)
    for start in 0..<40 {
      for count in 0...140 {
        let slice = Array(bytes[start..<start + count])
        let sum = bytes.span.bytes.extracting(start..<start + count)
        #expect(Checksum.of(sum) == Sheet.checksum(slice))
      }
    }
  }
}
