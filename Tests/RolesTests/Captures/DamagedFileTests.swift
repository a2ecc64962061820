import IAP2
import Testing

@testable import AccessoryCaptures

@Suite struct DamagedFileTests {
  private static let files: [(CaptureForm, [UInt8])] = [
    (.pcap, Fixture.pcap(.little, Fixture.vectors)),
    (.pcapng, Fixture.pcapng()),
    (.btsnoop, Fixture.btsnoop(1001, Fixture.bluetooth().map { ($0.isReceived ? 1 : 0, $0.bytes) })),
    (.packetlogger, Fixture.packetLogger(.big, Fixture.bluetooth().map { ($0.isReceived ? 3 : 2, $0.bytes) })),
  ]

  @Test(arguments: 0..<4) func everyTruncationGivesWhatIsBeforeItAndAtMostOneProblem(_ index: Int) throws {
    let (form, whole) = Self.files[index]
    let all = Fixture.texts(try DecodedCapture(whole, as: form))
    #expect(all == Fixture.texts)
    for count in 0..<whole.count {
      let capture = try DecodedCapture(Array(whole[..<count]), as: form)
      let texts = Fixture.texts(capture).filter { !$0.hasPrefix("UNFINISHED") }
      #expect(all.starts(with: texts), "\(form) cut to \(count)")
      #expect(Fixture.problems(capture).count <= 1, "\(form) cut to \(count)")
      #expect(!capture.isSound || texts.count > 0)
    }
  }

  @Test(arguments: 0..<4) func howAFileIsSplitMakesNoDifference(_ index: Int) throws {
    let (form, whole) = Self.files[index]
    for size in [1, 2, 3, 7, 64] {
      let capture = try DecodedCapture(whole, by: size)
      #expect(capture.form == form)
      #expect(capture.entries == (try DecodedCapture(whole)).entries)
    }
  }

  @Test(arguments: 0..<4) func everyByteMayBeAnyOther(_ index: Int) throws {
    let (form, whole) = Self.files[index]
    for place in whole.indices {
      for value: UInt8 in [0x00, 0x7F, 0xFF] {
        var bytes = whole
        bytes[place] = value
        // Decoding must end without a trap, and every reported problem must have a position.
        let capture = try DecodedCapture(bytes, as: form)
        #expect(Fixture.problems(capture).allSatisfy { $0.hasPrefix("byte ") })
      }
    }
  }

  @Test func aWrongBeginningIsToldWithItsBytes() throws {
    let wrong: [UInt8] = Array(repeating: 0xAB, count: 40)
    func problem(_ form: CaptureForm) throws -> [String] { Fixture.problems(try DecodedCapture(wrong, as: form)) }
    #expect(try problem(.pcap) == ["byte 0: not a pcap file: it begins with ab ab ab ab"])
    #expect(try problem(.pcapng) == ["byte 0: not a pcapng file: it begins with ab ab ab ab"])
    #expect(try problem(.btsnoop) == ["byte 0: not a btsnoop file: it begins with ab ab ab ab ab ab ab ab"])
    #expect(try problem(.packetlogger) == ["byte 0: not a PacketLogger file: its first record is impossible"])
  }

  @Test func absurdLengthsEndTheReadingAtTheirPlace() throws {
    var pcap = Fixture.pcap(.little, Array(Fixture.vectors.prefix(2)))
    pcap.replaceSubrange(54..<58, with: [0xFF, 0xFF, 0xFF, 0x7F])
    let capture = try DecodedCapture(pcap)
    #expect(Fixture.texts(capture) == ["DETECT"])
    #expect(
      Fixture.problems(capture) == [
        "byte 46: a record of 2147483647 bytes exceeds the limit of 8388608; the rest is not read"
      ])
    for count in [0, 8, 13, Int(UInt32.max)] {
      var bytes = Fixture.section(.little)
      bytes += Fixture.number(6, 4, .little) + Fixture.number(count, 4, .little) + [UInt8](repeating: 0, count: 64)
      let problems = Fixture.problems(try DecodedCapture(bytes))
      #expect(problems.count == 1)
      #expect(problems.first?.hasPrefix("byte 28: a block has the impossible length \(count);") == true)
    }
  }

  @Test func packetsOfAnInterfaceThatIsNotThereAreProblems() throws {
    let bytes = Fixture.section(.big) + Fixture.enhanced(.big, on: 3, at: 0, [1])
    #expect(
      Fixture.problems(try DecodedCapture(bytes)) == [
        "byte 28: a packet refers to interface 3, but the section has only 0"
      ])
  }
}

@Suite struct GunzipTests {
  static let text: [UInt8] =
    (0..<400).map { UInt8($0 * $0 / 7 % 23 + 65) } + Array(repeatElement(Array("easim ".utf8), count: 2_000).joined())
  static let dynamic = [
    "1f8b0808000000000000612e74787400edce3b92c2301045d1adcc565a3f644b6e618996638209262062ff5563aad80301f70527bcf5",
    "44c4f990f25a5b3797561d926a978b5adc2ce9b1f4d85c3dca2c47150d7b9e5b18c58f1aad2ddeae2539dbb5e4e865da6df473e36653",
    "7ccc45f7b358aee69766b10e5f46d866de83ca3be85aeccba1c9b6687a915e930c5dcf626f75cd297827af7dd3c1dffbf3eff1838888",
    "8888888888888888888888888888888888888888f859ff011180024d70300000",
  ].joined()
  static func stored(_ bytes: [UInt8]) -> [UInt8] {
    // This is the gzip checksum, computed one bit at a time.
    let check = ~bytes.reduce(UInt32.max) { sum, byte in
      (0..<8).reduce(sum ^ UInt32(byte)) { value, _ in value >> 1 ^ (value & 1 == 1 ? 0xEDB8_8320 : 0) }
    }
    let count = Fixture.number(bytes.count, 2, .little)
    let header: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 1]
    return header + count + count.map { ~$0 } + bytes + Fixture.number(Int(check), 4, .little)
      + Fixture.number(bytes.count, 4, .little)
  }

  private static func unpack(_ bytes: [UInt8], size: Int = .max) throws(CaptureProblem) -> [UInt8] {
    let gunzip = Gunzip()
    var out: [UInt8] = []
    for start in stride(from: 0, to: bytes.count, by: min(size, bytes.count)) {
      let part = Array(bytes[start..<min(start &+ min(size, bytes.count), bytes.count)])
      if let problem = gunzip.append(part, { out += $0 }) { throw problem }
    }
    if let problem = gunzip.finish({ out += $0 }) { throw problem }
    return out
  }

  @Test(arguments: [1, 2, 5, 100, 100_000]) func everyMemberIsUnpackedHoweverItIsSplit(_ size: Int) throws {
    #expect(try Self.unpack(Hex.parse(Self.dynamic), size: size) == Self.text)
    let members = Self.stored([1, 2, 3]) + Self.stored([4])
    for padding in [[], [0, 0, 0], [0x1F, 0]] as [[UInt8]] {
      #expect(try Self.unpack(members + padding, size: size) == [1, 2, 3, 4])
    }
    // The file ends in the middle of a gzip member.
    for beginning in [[0x1F], [0x1F, 0x8B], [0x1F, 0x8B, 0x08]] as [[UInt8]] {
      #expect(throws: CaptureProblem.self) { try Self.unpack(members + beginning, size: size) }
    }
  }

  @Test func everyTruncationAndEveryWrongByteIsAnErrorOrTheSameBytes() throws {
    let packed = try Hex.parse(Self.dynamic)
    for count in 3..<packed.count {
      #expect(throws: CaptureProblem.self) { try Self.unpack(Array(packed[..<count])) }
    }
    for place in 10..<packed.count {
      var bytes = packed
      bytes[place] ^= 0x55
      do throws(CaptureProblem) {
        let found = try Self.unpack(bytes)
        #expect(found == Self.text)
      } catch { #expect(error.message.contains("gzip")) }
    }
  }

  @Test func aPackedCaptureIsDecodedAsTheOneInIt() throws {
    let plain = Fixture.pcapng()
    let packed = Self.stored(plain)
    #expect(try DecodedCapture(packed).entries == (try DecodedCapture(plain)).entries)
    let cut = try DecodedCapture(Array(packed.dropLast(2)))
    #expect(Fixture.problems(cut).last?.hasSuffix("the gzip file is truncated") == true)
    #expect(!cut.isSound)
  }
}
