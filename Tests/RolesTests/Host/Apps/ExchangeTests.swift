import AccessoryCore
import AccessoryProfiles
import AccessorySessions
import AccessorySimulator
import AccessoryWorlds
import LinuxIO
import TestSupport
import Testing

@testable import AccessoryHost

@Suite struct ExchangeTests {
  private static let size = 640
  private static let stream = UniqueStream(seed: 5, session: 0)

  private static func outcome(_ behavior: any AccessoryBehavior) throws -> Exchange.Outcome {
    try outcome(behavior) { loop, done in
      Exchange(stream, count: size, expecting: .echo, on: loop, done: done)
    }
  }

  private static func outcome(
    _ behavior: any AccessoryBehavior,
    of makeExchange: @escaping (VirtualLoop, @escaping (Exchange.Outcome) -> Void) -> Exchange
  ) throws -> Exchange.Outcome {
    let loop = VirtualLoop()
    var settings = World.Settings()
    settings.speed.latency = .milliseconds(1)
    var outcome: Exchange.Outcome?
    let exchange = makeExchange(loop) { outcome = $0 }
    return try #require(
      FirstSession.run(behavior, settings, on: loop, until: { outcome != nil }, start: exchange.start) { outcome })
  }

  @Test func anEchoIsVerified() throws {
    #expect(try Self.outcome(EchoBehavior()) == .verified(sent: Self.size, received: Self.size))
  }

  /// A pattern's bytes do not reveal their position, so only the position of the first difference is known.
  @Test func theFirstWrongByteOfAPatternIsNamed() throws {
    let behavior = ClosureBehavior { bytes, session, _ in
      var answer = bytes.withUnsafeBytes { Array($0) }
      answer[3] ^= 1
      session.write(answer.span.bytes)
    }
    let outcome = try Self.outcome(behavior) { _, done in
      Exchange(CountingPattern.bytes(Self.size), expecting: .echo, done: done)
    }
    guard case .different(at: 3, expected: 3, got: 2, window: _) = outcome else {
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
    guard case .wrong(let findings) = try Self.outcome(behavior) else {
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
    let outcome = try Self.outcome(behavior) { loop, done in
      isUnique
        ? Exchange(Self.stream, count: Self.size, expecting: .echo, settle: settle, on: loop, done: done)
        : Exchange(CountingPattern.bytes(Self.size), expecting: .echo, settle: settle, on: loop, done: done)
    }
    switch outcome {
    case .verified: #expect(settle == .zero)
    case .wrong: #expect(isUnique && settle > .zero)
    case .excess(received: Self.size + 1, expected: Self.size): #expect(!isUnique && settle > .zero)
    default: Issue.record("\(outcome)")
    }
  }

  @Test func anAnswerWithoutItsTailIsNotVerified() throws {
    let behavior = ClosureBehavior { bytes, session, _ in
      session.write(bytes.extracting(0..<bytes.byteCount - 16))
      session.close()
    }
    guard case .ended(_, sent: Self.size, received: Self.size - 16) = try Self.outcome(behavior) else {
      Issue.record("it passed")
      return
    }
  }
}
