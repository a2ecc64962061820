import AccessoryCore
import Glibc

/// The bytes of soak sessions: one random sequence, which each stream reads from a position of its own.
///
/// A byte that is lost, doubled, out of order or delivered to another session shows, because no two stretches of the
/// pattern are the same; and both writing and checking cost a copy and a comparison.
enum SoakPattern {
  private static let period = 65_521
  /// The longest stretch that is written at once.
  static let longest = 65_536
  private static let bytes: [UInt8] = {
    var random = SeededRandom(seed: 0x50A4)
    let once = (0..<period).map { _ in UInt8(truncatingIfNeeded: random.next()) }
    return once + once + once.prefix(2 * longest - period)
  }()

  /// Calls `body` with the bytes of stream `key` from `offset` on.
  static func with<Result>(_ key: Int, from offset: Int, count: Int, _ body: (RawSpan) -> Result) -> Result {
    let start = (key + offset) % period
    return body(bytes.span.bytes.extracting(start..<start + min(count, longest)))
  }

  /// How many bytes from the front are those of stream `key` from `offset` on.
  static func match(_ got: RawSpan, _ key: Int, from offset: Int) -> Int {
    var checked = 0
    while checked < got.byteCount {
      let count = min(got.byteCount - checked, longest)
      let isSame = with(key, from: offset + checked, count: count) { want in
        got.extracting(checked..<checked + count).withUnsafeBytes { left in
          want.withUnsafeBytes { right in
            guard let left = left.baseAddress, let right = right.baseAddress else { return true }
            return memcmp(left, right, count) == 0
          }
        }
      }
      if !isSame { return checked + firstDifference(got, checked, count, key, offset) }
      checked += count
    }
    return checked
  }

  private static func firstDifference(_ got: RawSpan, _ start: Int, _ count: Int, _ key: Int, _ offset: Int) -> Int {
    with(key, from: offset + start, count: count) { want in
      (0..<count).first {
        got.unsafeLoad(fromByteOffset: start + $0, as: UInt8.self)
          != want.unsafeLoad(fromByteOffset: $0, as: UInt8.self)
      } ?? count
    }
  }
}
