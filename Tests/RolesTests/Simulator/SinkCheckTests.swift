import AccessoryCore
import AccessoryProfiles
import LinuxIO
import TestSupport
import Testing

@testable import AccessorySimulator

/// Tests what an accessory with `sink,check` reports about the bytes that it receives.
@Suite struct SinkCheckTests {
  private static let size = 320
  private static let stream = UniqueStream(seed: 21, session: 4)

  private static func told(_ bytes: [UInt8], piece: Int = 100) -> [String] {
    var check = SinkCheck()
    var told: [String] = []
    for start in stride(from: 0, to: bytes.count, by: piece) {
      told += check.receive(Array(bytes[start..<min(bytes.count, start + piece)]).span.bytes)
    }
    return told + check.end()
  }

  private static func counting(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0) } }

  @Test(arguments: [1, 7, 16, 100, 100_000]) func burstsOfUniqueBytesAreRightHoweverTheyAreCut(piece: Int) {
    #expect(Self.told(Self.stream.bytes(0..<30_000), piece: piece) == [])
  }

  /// These are the bytes that `easim burst --pattern eademo` sends. The pattern starts again with every burst, although
  /// a burst of 10,000 bytes ends 16 bytes into one of the pattern's cycles of 256 bytes.
  @Test(arguments: [10_000, 10_240, 777]) func burstsOfEADemosPatternAreRightHoweverLongTheyAre(size: Int) {
    let bursts = (0..<5).flatMap { _ in Self.counting(size) }
    #expect(Self.told(bursts, piece: 2_000) == [])
  }

  @Test func behindAWrongByteTheOthersAreStillChecked() {
    var bytes = (0..<4).flatMap { _ in Self.counting(10_000) }
    bytes[5_000] ^= 0x10
    bytes[25_000] ^= 0x20
    let told = Self.told(bytes)
    #expect(told.contains { $0.hasPrefix("byte 5000 is 98 instead of 88, the next in the count") }, "\(told)")
    #expect(told.contains { $0.hasPrefix("byte 25000 is ") }, "\(told)")
  }

  @Test(arguments: WrongAnswer.single + WrongAnswer.later) func aMistakeIsCalledWhatItIs(wrong: WrongAnswer) {
    let (before, request) = (Self.stream.bytes(0..<Self.size), Self.stream.bytes(Self.size..<2 * Self.size))
    let bytes = before + wrong.answer(request, before, UniqueStream(seed: 22, session: 0).bytes(0..<Self.size))
    let told = Self.told(bytes + Self.stream.bytes(2 * Self.size..<3 * Self.size))
    // A sink does not know where each burst ends, so it counts bytes of an earlier burst as repeated.
    let kind = wrong.kind == "stale" ? "repeated" : wrong.kind
    let isInPlace = kind == "foreign" && told.first?.hasPrefix("corrupted: ") == true
    #expect(told.first?.hasPrefix("\(kind): ") == true || isInPlace, "\(wrong): \(told)")
  }

  @Test func aStreamWithoutItsBeginningIsOneThatLostIt() {
    #expect(Self.told(Self.stream.bytes(64..<300)) == ["lost: 64 bytes from byte 0 on never arrived"])
    #expect(Self.told(Self.stream.bytes(70..<300)) == ["lost: 70 bytes from byte 0 on never arrived"])
  }

  @Test func bytesOfNeitherKindAreSaidNotToBeChecked() {
    let told = Self.told(Array("GET / HTTP/1.1\r\nHost: example.com\r\n\r\n".utf8))
    #expect(
      told == [
        "the bytes are not checked, because neither easim burst nor EADemo sends such bytes: "
          + "47 45 54 20 2f 20 48 54 …"
      ])
    #expect(Self.told([9, 8]).count == 1)
    #expect(Self.told([0, 1, 2]) == [])
    #expect(Self.told([]) == [])
  }

  @Test func manyMistakesAreCountedAndNotAllTold() {
    var bytes = Self.stream.bytes(0..<70_000)
    for place in stride(from: 100, to: 70_000, by: 1_000) { bytes[place] ^= 1 }
    let told = Self.told(bytes)
    #expect(told.count == 11, "\(told.count)")
    #expect(told[9].hasSuffix("further errors are only counted"))
    #expect(told[10] == "in all: 70 corrupted")
  }

  @Test func anAccessoryTellsAMistakeOnceNothingFollows() throws {
    let loop = VirtualLoop()
    let rig = try BehaviorRig(.sink(check: true), on: loop)
    let recorder = try rig.open()
    recorder.send(Self.stream.bytes(0..<1_000) + Self.stream.bytes(1_016..<2_000))
    try loop.advance(by: .seconds(1))
    #expect(rig.said == [.warning("session 1: lost: 16 bytes from byte 1000 on never arrived")])
    recorder.send(Self.stream.bytes(2_000..<3_000))
    recorder.session.close()
    try loop.advance(by: .seconds(1))
    #expect(rig.said.count == 1)
  }
}
