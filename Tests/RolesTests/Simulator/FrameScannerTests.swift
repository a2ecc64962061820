import AccessoryFormats
import AccessoryProfiles
import Testing

@testable import AccessorySimulator

@Suite struct FrameScannerTests {
  private static func frame(_ change: (inout Script.Frame) -> Void = { _ in }) -> Script.Frame {
    var frame = Script.Frame()
    change(&frame)
    return frame
  }

  static let frames: [Script.Frame] = [
    frame(),
    frame {
      $0.lengthWidth = 1; $0.counts = .frame
    },
    frame {
      ($0.header, $0.lengthAt) = ([0x02], 1); $0.order = .little; $0.checksum = FrameChecksum.named("CRC-16/MODBUS")
    },
    frame {
      ($0.header, $0.lengthAt, $0.lengthWidth) = ([0xAA, 0xAA, 0x55], 5, 4)
      ($0.counts, $0.checksum, $0.checksumFrom) = (.payload, FrameChecksum.named("CRC-32"), 3)
      $0.checksumOrder = .little
    },
    frame {
      $0.lengthWidth = 3; $0.checksum = FrameChecksum.named("sum-8"); $0.longest = 300
    },
  ]

  private static func events(_ frame: Script.Frame, _ pieces: [ArraySlice<UInt8>]) -> [RequestMatcher.Request] {
    var scanner = FrameScanner(frame)
    var events: [RequestMatcher.Request] = []
    for piece in pieces {
      var offset = 0
      while let event = scanner.next(in: Array(piece).span.bytes, at: &offset) { events.append(event) }
      #expect(offset == piece.count)
    }
    return events
  }

  private static func pieces(_ bytes: [UInt8], _ random: inout SeededRandom) -> [ArraySlice<UInt8>] {
    var (pieces, place): ([ArraySlice<UInt8>], Int) = ([], 0)
    while place < bytes.count {
      let end = min(bytes.count, place + Int.random(in: 0...9, using: &random))
      pieces.append(bytes[place..<end])
      place = end
    }
    return pieces
  }

  @Test(arguments: frames.indices, 0..<5)
  func whatIsEncodedIsFoundAgainHoweverItIsSplit(kind: Int, seed: Int) throws {
    let frame = Self.frames[kind]
    var random = SeededRandom(seed: UInt64(seed))
    let least = frame.lengthAt - frame.header.count
    let contents = (0..<20).map { _ in
      (0..<Int.random(in: least...200, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
    }
    let stream = try contents.flatMap { try frame.encode($0) }
    let expected = contents.map { RequestMatcher.Request.whole($0) }
    #expect(Self.events(frame, [stream[...]]) == expected)
    #expect(Self.events(frame, Self.pieces(stream, &random)) == expected)
  }

  @Test(arguments: frames.indices, 0..<10)
  func hostileBytesGiveTheSameEventsHoweverTheyAreSplit(kind: Int, seed: Int) throws {
    let frame = Self.frames[kind]
    var random = SeededRandom(seed: UInt64(seed))
    var stream: [UInt8] = []
    for _ in 0..<40 {
      if Bool.random(using: &random) { stream += try frame.encode([UInt8](repeating: 7, count: 20)) }
      if Bool.random(using: &random) { stream += frame.header }
      stream += (0..<Int.random(in: 0...30, using: &random)).map { _ in
        Bool.random(using: &random)
          ? UInt8.random(in: 0...255, using: &random) : [0x00, 0x02, 0xAA, 0xFF][Int.random(in: 0..<4, using: &random)]
      }
    }
    #expect(Self.events(frame, [stream[...]]) == Self.events(frame, Self.pieces(stream, &random)))
    #expect(Self.events(frame, [stream[...]]) == Self.events(frame, stream.indices.map { stream[$0...$0] }))
  }

  @Test func aHeaderIsFoundInWhatLooksLikeOne() throws {
    let frame = Self.frames[3]
    let whole = try frame.encode([1, 2, 3])
    #expect(
      Self.events(frame, [([0xAA, 0xAA, 0xAA, 0xAA] + whole.dropFirst(2) + [0x55] + whole)[...]]) == [
        .skipped(4 - 2), .whole([1, 2, 3]), .skipped(1), .whole([1, 2, 3]),
      ])
  }

  @Test func aLengthFromTheWireIsNotTrusted() throws {
    let frame = Self.frame { $0.lengthWidth = 4 }
    // The frame claims to contain four gigabytes, which are skipped without being stored.
    #expect(Self.events(frame, [[0xFF, 0xFF, 0xFF, 0xFF, 1, 2, 3]]) == [.wrongLength(0xFFFF_FFFF)])
    let small = Self.frame { $0.longest = 10 }
    #expect(
      Self.events(small, [[0, 9] + [UInt8](repeating: 1, count: 9) + [0, 1, 5]]) == [.wrongLength(9), .whole([5])])
    let counted = Self.frame { $0.counts = .frame }
    #expect(Self.events(counted, [[0, 1, 0, 3, 9]]) == [.wrongLength(1), .whole([9])])
  }

  @Test func aWrongChecksumIsReportedWithTheRightOne() throws {
    let frame = Self.frames[4]
    var bytes = try frame.encode([1, 2])
    bytes[4] ^= 0x10
    #expect(Self.events(frame, [bytes[...]]) == [.wrongChecksum(found: 6, expected: 22)])
  }

  @Test func whatDoesNotFitIsNotEncoded() {
    #expect(throws: Script.Frame.Fault.tooLong(4_098)) { try Self.frame().encode([UInt8](repeating: 0, count: 4_096)) }
    #expect(throws: Script.Frame.Fault.tooLong(301)) {
      try Self.frame { $0.lengthWidth = 1 }.encode([UInt8](repeating: 0, count: 300))
    }
  }
}
