import IAP2
import Testing

/// Tests what the scanner finds in each kind of stream. Each stream is passed as a whole, byte by byte, and in pieces
/// of every size.
@Suite struct PacketScannerTests {
  private static let ack = "ff5a0009400140001d"
  private static let message = "ff5a00104041010114404000061d005d"

  private func find(_ hex: String...) -> [Found] {
    let stream = hex.flatMap(Sheet.unhex)
    let whole = scan([stream])
    #expect(scan(stream.map { [$0] }) == whole, "byte by byte")
    for size in [2, 3, 5, 7, 8, 9, 10, 11, 64] {
      let chunks = stride(from: 0, to: stream.count, by: size).map { Array(stream[$0..<min($0 + size, stream.count)]) }
      #expect(scan(chunks) == whole, "in pieces of \(size)")
    }
    for cut in 0...stream.count {
      #expect(scan([Array(stream[..<cut]), Array(stream[cut...])]) == whole, "cut at \(cut)")
    }
    return whole
  }

  private func packet(_ hex: String) -> Found { .packet(Sheet.unhex(hex)) }
  private func skipped(_ hex: String) -> Found {
    .skipped(count: Sheet.unhex(hex).count, sample: Array(Sheet.unhex(hex).prefix(16)))
  }

  @Test func packetsRightBehindEachOther() {
    #expect(
      find(Self.ack, Self.message, Sheet.detection, Self.ack) == [
        packet(Self.ack), packet(Self.message), .detection, packet(Self.ack),
      ])
  }

  @Test func zerosBetweenPacketsAreSteppedOverWithoutAWord() {
    #expect(find("0000", Self.ack, "000000", Self.message, "00") == [packet(Self.ack), packet(Self.message)])
  }

  @Test func garbageIsReportedBeforeWhatFollowsIt() {
    #expect(
      find("010203", Self.ack, "00fe00", Self.message, "ab") == [
        skipped("010203"), packet(Self.ack), skipped("fe00"), packet(Self.message), skipped("ab"),
      ])
  }

  @Test func manyFalseBeginningsBeforeATrueOne() {
    #expect(find("ff", Self.ack) == [skipped("ff"), packet(Self.ack)])
    #expect(find("ffffff", Self.ack) == [skipped("ffffff"), packet(Self.ack)])
    #expect(find("ff5a", Self.ack) == [skipped("ff5a"), packet(Self.ack)])
    #expect(find("ff5aff5aff5a", Self.ack) == [skipped("ff5aff5aff5a"), packet(Self.ack)])
    #expect(find("ff55", Self.ack) == [skipped("ff55"), packet(Self.ack)])
    #expect(find("ff5500", Sheet.detection) == [skipped("ff5500"), .detection])
  }

  @Test func aTruePacketHidesOneByteBehindAFalseBeginning() {
    // FF 5A starts a header whose checksum is wrong. A valid packet starts within that header.
    #expect(find("ff5a00", Self.ack, Self.ack) == [skipped("ff5a00"), packet(Self.ack), packet(Self.ack)])
    #expect(find("ff5a0009400140", Self.message) == [skipped("ff5a0009400140"), packet(Self.message)])
  }

  @Test func aFrameOfIAP1ThatAnnouncesTooMuchHoldsNothingUp() {
    #expect(find("ff55ff", Self.ack, Self.message) == [skipped("ff55ff"), packet(Self.ack), packet(Self.message)])
  }

  @Test func aFrameOfIAP1WithAWrongChecksumIsNone() {
    #expect(find("ff5504000204ee09", Self.ack) == [skipped("ff5504000204ee09"), packet(Self.ack)])
    // The packet seems to be 32 bytes long, so the scanner holds bytes back until 32 have arrived.
    #expect(
      find("ff5520", Self.ack, Self.ack, Self.ack, Self.ack) == [
        skipped("ff5520"), packet(Self.ack), packet(Self.ack), packet(Self.ack), packet(Self.ack),
      ])
  }

  @Test func framesOfIAP1AreFramesWhateverTheySay() {
    #expect(
      find("ff55020000fe", "ff550100ff") == [
        .legacy(Sheet.unhex("ff55020000fe")), .legacy(Sheet.unhex("ff550100ff")),
      ])
  }

  @Test func aHeaderMayNotAnnounceLessThanItself() {
    for length: UInt8 in 0...8 {
      var header: [UInt8] = [0xFF, 0x5A, 0, length, 0x40, 1, 0x40, 0]
      header.append(Sheet.checksum(header))
      #expect(find(Sheet.hex(header), Self.ack) == [skipped(Sheet.hex(header)), packet(Self.ack)])
    }
  }

  @Test func lengthNineTenAndEleven() {
    let empty = "ff5a000a400706024e00"
    #expect(find(empty, Self.ack) == [packet(empty), packet(Self.ack)])
    let one = Sheet.packet(0x40, 1, 2, session: 3, "7f")
    #expect(find(one, Self.ack) == [packet(one), packet(Self.ack)])
    // The last byte is wrong, whether it is taken as a payload byte or as the checksum of an empty payload.
    #expect(
      find("ff5a000a400706024e01", Self.ack) == [.spoiled(Sheet.unhex("ff5a000a400706024e01")), packet(Self.ack)])
  }

  @Test func theLongestPacketFedInEachWay() {
    let bytes = Sheet.bytes(0x40, 1, 2, session: 2, (0..<65_525).map { UInt8($0 % 253) })
    #expect(bytes.count == 65_535)
    #expect(scan([bytes + bytes]) == [.packet(bytes), .packet(bytes)])
    #expect(scan((bytes + bytes).map { [$0] }) == [.packet(bytes), .packet(bytes)])
  }

  @Test func endlessGarbageIsReportedInEqualSteps() {
    let garbage = [UInt8](repeating: 7, count: 10_000)
    let steps: [Found] = [4_096, 4_096, 1_808].map { .skipped(count: $0, sample: [UInt8](repeating: 7, count: 16)) }
    #expect(scan([garbage]) == steps)
    #expect(scan(garbage.map { [$0] }) == steps)
    #expect(scan([garbage + Sheet.unhex(Self.ack)]) == steps + [packet(Self.ack)])
    let marks = [UInt8](repeating: 0xFF, count: 10_000)
    #expect(scan([marks]) == scan(marks.map { [$0] }))
  }

  @Test func onlyTheFirstSixteenBytesAreShown() {
    var skipped = PacketScanner()
    let garbage = Sheet.unhex("0000" + "0102030405060708090a0b0c0d0e0f101112" + Self.ack)
    var offset = 0
    guard case .skipped(let bytes) = skipped.next(in: garbage.span.bytes, at: &offset) else {
      Issue.record("the garbage is reported first")
      return
    }
    #expect(
      bytes.description
        == "18 bytes that belong to no packet: 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f 10 …")
  }

  @Test func anUnfinishedPacketIsReportedAtTheEnd() {
    #expect(find("ff5a0010404101") == [skipped("ff5a0010404101")])
    #expect(find(Self.ack, "ff") == [packet(Self.ack), skipped("ff")])
    #expect(find("0000") == [])
  }

  @Test func forgettingDropsTheUnfinishedPiece() {
    var scanner = PacketScanner()
    var offset = 0
    let half = Sheet.unhex("ff5a00104041")
    #expect(scanner.next(in: half.span.bytes, at: &offset) == nil)
    scanner.forget()
    offset = 0
    let whole = Sheet.unhex(Self.ack)
    guard case .packet(_, .input(0..<9)) = scanner.next(in: whole.span.bytes, at: &offset) else {
      Issue.record("the packet is found where it lies")
      return
    }
  }
}
