import Testing

@testable import AccessoryCore

@Suite struct UniqueStreamTests {
  static let stream = UniqueStream(seed: 7, session: 3)

  private func match(_ bytes: [UInt8], _ buffer: inout UniqueBuffer, _ stream: UniqueStream, from offset: Int) -> Int {
    buffer.match(bytes.span.bytes, stream, from: offset)
  }

  private func match(_ bytes: [UInt8], _ scratch: UniqueScratch, from offset: Int) -> Int {
    scratch.match(bytes.span.bytes, Self.stream, from: offset)
  }

  /// The expected bytes were calculated by hand from the formula in the type's documentation, to make sure that all
  /// versions of easim agree.
  @Test func theFirstBlocksOfAKnownStreamAreTheseBytes() {
    let low: UInt64 = 0x9E37_79B9_7F4A_7C15
    let high: UInt64 = 0xD1B5_4A32_D192_ED03
    func mix(_ seed: UInt64) -> UInt64 {
      var mixed = seed &+ low
      mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
      mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
      return mixed ^ mixed >> 31
    }
    let key = mix(7) ^ mix(~3)
    let expected = (0..<3).flatMap { block -> [UInt8] in
      let tag = UInt64(3) << 44 | UInt64(block)
      return [key &+ low &* tag, 0x8CB9_2BA7_2F3D_8DD7 &+ high &* tag].flatMap { word in
        (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) }
      }
    }
    #expect(Self.stream.bytes(0..<48) == expected)
    #expect(Self.stream.bytes(5..<41) == Array(expected[5..<41]))
  }

  @Test(arguments: [0, 16, 10_000, 65_536, 1 << 40, (1 << 48) - 32]) func everyBlockSaysWhereItBelongs(offset: Int) {
    for session in [0, 3, UniqueStream.sessionLimit - 1] {
      for seed in [0, 7, UInt64.max] {
        let bytes = UniqueStream(seed: seed, session: session).bytes(offset..<offset + 16)
        #expect(
          UniqueStream.place(of: bytes.span.bytes, at: 0) == .init(seed: seed, session: session, offset: offset))
      }
    }
  }

  @Test(arguments: [0..<1, 5..<20, 16..<17, 100..<10_101, 65_000..<140_000]) func everyStretchIsWhereverItIsCutTheSame(
    range: Range<Int>
  ) {
    let all = Self.stream.bytes(0..<140_000)
    #expect(Self.stream.bytes(range) == Array(all[range]))
    var buffer = UniqueBuffer()
    let stretch = Array(all[range])
    var matched = match(stretch, &buffer, Self.stream, from: range.lowerBound)
    #expect(matched == range.count)
    for wrong in [0, range.count / 2, range.count - 1] {
      var stretch = stretch
      stretch[wrong] ^= 0x80
      matched = match(stretch, &buffer, Self.stream, from: range.lowerBound)
      #expect(matched == wrong)
    }
    matched = match(stretch, &buffer, UniqueStream(seed: 7, session: 4), from: range.lowerBound)
    #expect(matched < 16, "no block of one session is in another")
  }

  /// A sender may be notified, and send more bytes, while it is still using the first ones.
  @Test func aStretchThatIsShownStaysWhileAnotherIsMade() {
    let scratch = UniqueScratch()
    let (outer, inner) = (Self.stream.bytes(0..<100), Self.stream.bytes(500..<600))
    scratch.show(Self.stream, 0..<100) { shown in
      scratch.show(Self.stream, 500..<600) { shown in
        let copy = shown.withUnsafeBytes { [UInt8]($0) }
        #expect(copy == inner)
      }
      #expect(match(inner, scratch, from: 500) == 100)
      let copy = shown.withUnsafeBytes { [UInt8]($0) }
      #expect(copy == outer)
    }
    #expect(match(outer, scratch, from: 0) == 100)
  }
}
