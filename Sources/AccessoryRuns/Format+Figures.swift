import AccessoryCore
import AccessoryFormats

// Formats of values that occur in several kinds of reports.

extension Format<Int> {
  /// A count; see ``CountSum/most``.
  package static let tally = integer(0...CountSum.most)
}

extension Format<Instant> {
  /// A point in time, in nanoseconds.
  package static let instant: Format = Format<Int>.tally.map {
    Instant(nanoseconds: Int64($0))
  } back: {
    Int($0.nanoseconds)
  }
}

extension Format<Duration> {
  package static let nanoseconds: Format = Format<Int>.tally.map {
    Duration.nanoseconds($0)
  } back: {
    Int($0.wholeNanoseconds)
  }
}

extension Format<[UInt8]> {
  /// Bytes as hex digits.
  package static let digits = parsed(
    TextShape(pattern: "^([0-9A-Fa-f]{2})*$"), expected: "bytes in hex", { try? Hex.parse($0) },
    text: { Hex.plain($0) })
}
