import AccessoryCore
import AccessoryProfiles
import AccessorySimulator
import TestSupport
import Testing

@testable import AccessorySoak
@testable import AccessoryWorlds

/// Runs soak sessions with an accessory that echoes incorrectly. The soak must report that the rule `bytes` is broken,
/// and the kind of mistake.
@Suite struct WrongBytesTests {
  private static let size = 320

  /// Returns an accessory that echoes in pieces of `size` bytes, except for the second piece, which is replaced
  /// according to `wrong`.
  private static func accessory(_ wrong: WrongAnswer) -> ClosureBehavior {
    var pieces: [[UInt8]] = [[]]
    return ClosureBehavior { bytes, session, _ in
      bytes.withUnsafeBytes { pieces[pieces.count - 1] += $0 }
      while let piece = pieces.last, piece.count >= size {
        pieces[pieces.count - 1] = Array(piece[..<size])
        pieces.append(Array(piece[size...]))
        let number = pieces.count - 2
        let other = UniqueStream(seed: 1, session: 9).bytes(0..<size)
        let answer = number == 1 ? wrong.answer(pieces[1], pieces[0], other) : pieces[number]
        session.write(answer.span.bytes)
      }
    }
  }

  private static func violations(_ echo: any AccessoryBehavior) throws -> [SoakViolation] {
    let plan = try FileTests.plan(
      """
      { version: 1, description: 'd', seed: 5, accessories: { a: { profile: 'echo' } },
        apps: { app: { sessions: [{ bytes: 6400, chunk: 500 }] } },
        steps: [{ at: '0s', accessory: 'plugIn' }], tail: '10s' }
      """)
    let record = SoakRecord()
    record.echo = echo
    let world = SoakWorld(plan, record)
    try world.play()
    world.release()
    return record.violations
  }

  @Test func aRightEchoBreaksNoRule() throws {
    #expect(try Self.violations(EchoBehavior()) == [])
  }

  @Test(arguments: WrongAnswer.single + WrongAnswer.later) func aWrongEchoIsCalledWhatItIs(wrong: WrongAnswer) throws {
    let violations = try Self.violations(Self.accessory(wrong)).filter { $0.rule == .bytes }
    let text = violations.map(\.text).joined(separator: "; ")
    // This stream has no bursts, so bytes from an earlier burst count as repeated.
    let kind = wrong.kind == "stale" ? "repeated" : wrong.kind
    let isInPlace = kind == "foreign" && text.contains(": corrupted: ")
    #expect(text.contains(": \(kind): ") || isInPlace, "\(wrong): \(text)")
  }
}
