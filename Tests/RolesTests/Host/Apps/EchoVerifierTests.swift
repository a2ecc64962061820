import AccessoryCore
import AccessoryProfiles
import AccessorySessions
import AccessorySimulator
import AccessoryWorlds
import LinuxIO
import TestSupport
import Testing

@testable import AccessoryHost

@Suite struct EchoVerifierTests {
  private static let size = 640
  private static let stream = UniqueStream(seed: 5, session: 0)
  private static let unique = Conversation.Exchange(echo: stream.bytes(0..<size), of: stream)
  private static let counting = Conversation.Exchange(echo: CountingPattern.bytes(size))

  private static func outcome(
    _ behavior: any AccessoryBehavior, to exchange: Conversation.Exchange = unique, settle: Duration = .zero
  ) throws -> Conversation.Event {
    let loop = VirtualLoop()
    var settings = World.Settings()
    settings.speed.latency = .milliseconds(1)
    var event: Conversation.Event?
    let conversation = Conversation([exchange], settle: settle, on: loop) { event = $0 }
    return try #require(
      FirstSession.run(behavior, settings, on: loop, until: { event != nil }, start: conversation.start) { event })
  }

  @Test func anEchoIsVerified() throws {
    #expect(try Self.outcome(EchoBehavior()) == .done)
  }

  /// A pattern's bytes do not reveal their position, so only the position of the first difference is known.
  @Test func theFirstWrongByteOfAPatternIsNamed() throws {
    let behavior = ClosureBehavior { bytes, session, _ in
      var answer = bytes.withUnsafeBytes { Array($0) }
      answer[3] ^= 1
      session.write(answer.span.bytes)
    }
    let outcome = try Self.outcome(behavior, to: Self.counting)
    guard case .wrong(.different(at: 3, expected: 3, got: 2, window: _)) = outcome else {
      Issue.record("\(outcome)")
      return
    }
  }

  @Test(arguments: WrongAnswer.single) func aWrongAnswerIsCalledWhatItIs(wrong: WrongAnswer) throws {
    var request: [UInt8] = []
    let behavior = ClosureBehavior { bytes, session, _ in
      bytes.withUnsafeBytes { request += $0 }
      guard request.count == Self.size else { return }
      let answer = wrong.answer(request, [], UniqueStream(seed: 6, session: 0).bytes(0..<Self.size))
      session.write(answer.span.bytes)
    }
    guard case .wrong(.wrong(let findings)) = try Self.outcome(behavior) else {
      Issue.record("\(wrong) passed")
      return
    }
    #expect(findings.first?.kind.rawValue == wrong.kind, "\(wrong): \(findings.text())")
  }

  /// A byte arrives 150 ms after the echo's last byte.
  @Test(arguments: [true, false], [Duration.milliseconds(200), .zero])
  func bytesAreLookedForAfterTheLastExpectedOne(isUnique: Bool, settle: Duration) throws {
    var count = 0
    let behavior = ClosureBehavior { bytes, session, context in
      session.write(bytes)
      count += bytes.byteCount
      if count == Self.size {
        context.loop.schedule(after: .milliseconds(150)) { session.write([UInt8(7)].span.bytes) }
      }
    }
    let outcome = try Self.outcome(behavior, to: isUnique ? Self.unique : Self.counting, settle: settle)
    switch outcome {
    case .done: #expect(settle == .zero)
    case .wrong(.wrong): #expect(isUnique && settle > .zero)
    case .wrong(.excess(received: Self.size + 1, expected: Self.size)): #expect(!isUnique && settle > .zero)
    default: Issue.record("\(outcome)")
    }
  }

  @Test func anAnswerWithoutItsTailIsNotVerified() throws {
    let behavior = ClosureBehavior { bytes, session, _ in
      session.write(bytes.extracting(0..<bytes.byteCount - 16))
      session.close()
    }
    guard case .ended(0, _, []) = try Self.outcome(behavior) else {
      Issue.record("it passed")
      return
    }
  }
}
