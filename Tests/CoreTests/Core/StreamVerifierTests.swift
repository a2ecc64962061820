import TestSupport
import Testing

@testable import AccessoryCore

@Suite struct StreamVerifierTests {
  static let stream = UniqueStream(seed: 11, session: 2)
  static let size = 320
  static let request = stream.bytes(size..<2 * size)
  static let before = stream.bytes(0..<size)

  static func find(_ answer: [UInt8], piece: Int = .max, then: Int = 0, isBurst: Bool = true) -> [StreamFinding] {
    var verifier = StreamVerifier(stream)
    let scratch = UniqueScratch()
    let isRight = verifier.check(before.span.bytes, scratch)
    #expect(isRight)
    var bytes = answer + stream.bytes(2 * size..<2 * size + then)
    while !bytes.isEmpty {
      let part = Array(bytes.prefix(piece))
      bytes.removeFirst(part.count)
      _ = verifier.check(part.span.bytes, scratch)
    }
    return verifier.conclude(isBurst ? .even(size) : .none)
  }

  static let others = [
    UniqueStream(seed: 11, session: 5).bytes(0..<size), UniqueStream(seed: 12, session: 2).bytes(0..<size),
  ]

  @Test(arguments: WrongAnswer.single + WrongAnswer.later, [7, 64, .max])
  func aWrongAnswerIsCalledWhatItIs(wrong: WrongAnswer, piece: Int) {
    for other in Self.others {
      let findings = Self.find(wrong.answer(Self.request, Self.before, other), piece: piece)
      // Until the next answer arrives, a second copy of an answer looks like a stale answer to the next burst.
      let kind = wrong.description == "the whole answer twice" ? "stale" : wrong.kind
      #expect(findings.first?.kind.rawValue == kind, "\(wrong): \(findings.text())")
    }
  }

  /// A wrong answer is classified in the same way even if a correct answer follows it.
  @Test(arguments: WrongAnswer.single + WrongAnswer.later) func itIsCalledTheSameWhenTheNextAnswerFollows(
    wrong: WrongAnswer
  ) {
    let findings = Self.find(wrong.answer(Self.request, Self.before, Self.others[0]), then: Self.size)
    let isUsed = wrong.description.contains("answer to the request before")
    #expect(findings.first?.kind.rawValue == wrong.kind || isUsed, "\(wrong): \(findings.text())")
    #expect(findings.count <= 2, "\(wrong): \(findings.text())")
  }

  @Test func aLostTailIsLostOnceTheNextAnswerComes() {
    let findings = Self.find(Array(Self.request.dropLast(20)), then: Self.size)
    #expect(findings == [StreamFinding(.lost, at: 2 * Self.size - 20, count: 20)])
  }

  @Test func placesAreThoseOfTheStreamAndOfItsBursts() {
    let words = StreamWords(.even(Self.size)) { $0 + 40 }
    func text(_ answer: [UInt8], then: Int = 0) -> String { Self.find(answer, then: then).text(words) }
    let request = Self.request
    #expect(text(Array(request[..<32] + request[80...])) == "lost: 48 bytes from byte 32 of burst 41 on never arrived")
    #expect(
      text(Array(request[..<64] + request[48..<64] + request[64...]))
        == "repeated: 16 bytes from byte 48 of burst 41 on arrived again before byte 64 of burst 41")
    #expect(text(Self.before) == "stale: 320 bytes of burst 40 arrived instead of those from byte 0 of burst 41 on")
    #expect(
      text(Array(request[..<32] + request[48..<64] + request[32..<48] + request[64...]))
        == "reordered: 16 bytes from byte 32 of burst 41 on arrived out of order")
    #expect(
      text(Self.others[0])
        == "foreign: 320 bytes from byte 0 of burst 41 on were never sent in this session: they belong to session 5, "
        + "from its byte 0 on")
    #expect(text(Self.others[1]).hasSuffix("they belong to another run, with the seed 12"))
    #expect(text((0..<320).map { UInt8(truncatingIfNeeded: $0) }).hasSuffix("EADemo's pattern does: 00 01 02 03 …"))
    var flipped = request
    flipped[70] ^= 4
    let got = Hex.plain([request[70] ^ 4])
    #expect(
      text(flipped) == "corrupted: 1 byte from byte 70 of burst 41 on: 1 bit differs, expected "
        + "\(Hex.plain([request[70]])), got \(got)")
    #expect(
      text(request[..<53] + [1, 2, 9, 4, 5] + request[53...])
        == "inserted: 5 bytes that were never sent arrived before byte 53 of burst 41: got 01 02 09 04 05")
  }

  @Test func itGoesOnBehindWhatWasWrong() {
    var verifier = StreamVerifier(Self.stream)
    let scratch = UniqueScratch()
    func take(_ range: Range<Int>) -> Bool { verifier.check(Self.stream.bytes(range).span.bytes, scratch) }
    #expect(take(0..<100))
    #expect(!take(116..<400))
    #expect(verifier.isSuspicious)
    #expect(verifier.conclude() == [StreamFinding(.lost, at: 100, count: 16)])
    #expect(!verifier.isSuspicious)
    #expect(take(400..<1_000))
    #expect(!take(960..<1_100))
    #expect(verifier.conclude() == [StreamFinding(.repeated, at: 1_000, count: 40, origin: 960)])
    #expect(take(1_100..<1_200))
    #expect(verifier.conclude() == [])
  }

  @Test func itCollectsNoMoreThanItsLimitWhateverComes() {
    var verifier = StreamVerifier(Self.stream)
    let scratch = UniqueScratch()
    let noise = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 3 ^ $0) }
    for _ in 0..<10 { _ = verifier.check(noise.span.bytes, scratch) }
    #expect(verifier.isFull)
    #expect(verifier.conclude().map(\.kind) == [.foreign])
    #expect(verifier.position == 1_000_000)
  }

  /// A correct stream is accepted regardless of how it is split, and every single change to it is detected.
  @Test(arguments: [1, 3, 4, 15, 16, 17, 33]) func shortBurstsAreVerifiedToo(size: Int) {
    let bytes = Self.stream.bytes(0..<10 * size)
    for place in bytes.indices {
      var verifier = StreamVerifier(Self.stream)
      let scratch = UniqueScratch()
      var wrong = bytes
      wrong[place] ^= 0x20
      var isRight = true
      for start in stride(from: 0, to: bytes.count, by: size) {
        isRight = verifier.check(Array(wrong[start..<start + size]).span.bytes, scratch) && isRight
      }
      #expect(!isRight)
      #expect(verifier.position == place)
      #expect(!verifier.conclude(.even(size)).isEmpty)
    }
  }
}
