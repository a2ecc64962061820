import Testing
import WireBasics

@Suite struct InstantTests {
  @Test(arguments: [
    0, 1, 999_999_999, 18_446_744_073, 18_446_744_074, 1 << 62, Int64.max, -1, -999_999_999, -18_446_744_074, .min,
  ])
  func aDurationOfWholeNanosecondsIsThatMany(_ nanoseconds: Int64) {
    let duration = Duration.nanoseconds(nanoseconds)
    #expect(duration.wholeNanoseconds == nanoseconds)
    #expect(Instant(nanoseconds: nanoseconds) - .origin == duration)
    #expect(.origin + duration == Instant(nanoseconds: nanoseconds))
  }

  @Test func partsOfANanosecondAreCutOff() {
    #expect(Duration(attoseconds: 1_999_999_999).wholeNanoseconds == 1)
    #expect(Duration(attoseconds: -1_999_999_999).wholeNanoseconds == -1)
    #expect((Duration.seconds(18) + Duration(attoseconds: 446_744_073_709_551_616)).wholeNanoseconds == 18_446_744_073)
  }

  @Test func whatDoesNotFitIsClamped() {
    #expect(Duration.seconds(Int64.max).wholeNanoseconds == .max)
    #expect(Duration.seconds(Int64.min).wholeNanoseconds == .min)
    #expect(Instant.origin + .seconds(Int64.max) == .distantFuture)
  }
}
