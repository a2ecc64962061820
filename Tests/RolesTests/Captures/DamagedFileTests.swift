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
      let decoder = CaptureDecoder()
      var lines: [String] = []
      for start in stride(from: 0, to: whole.count, by: size) {
        try decoder.append(Array(whole[start..<min(start + size, whole.count)])) { lines.append($0.line) }
      }
      try decoder.finish { lines.append($0.line) }
      #expect(decoder.form == form)
      #expect(lines == (try DecodedCapture(whole)).entries.map(\.line))
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
  static let fixed = [
    "1f8b080000000000000073747474727671f3f0f2f10f0a7572f3f20b7674f3097274f70b75f50d75f30bf70c72f577f209f70ef30ef7",
    "71f47309f408f37509f6760ef6710df5f7740e0df076730a0df4f3f67075760c0b0d090e0282e090d0304767570f6fbf40a089de01a1",
    "ce9efea1ae3ec1cedec12ebe611e812e7e8e50039dfc5d833cc3fddc427d5d43fddc1d837cdc1c83fdbc802606f9fb7879b8b9383b39",
    "82c04872606a627166aec228394a8e92a3e428394a8e92a3e428394a8e92a3e428394a8e92a3e428394a8e92a3e428394a8e92a3e428",
    "394a8e92a3e428394a8e92a3e428394a8e92a3e428394a8e92a3e428394a8e92a3e428394a0e2c09001180024d70300000",
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
      try gunzip.append(Array(bytes[start..<min(start &+ min(size, bytes.count), bytes.count)])) { out += $0 }
    }
    try gunzip.finish()
    return out
  }

  @Test(arguments: [1, 2, 5, 100, 100_000]) func everyKindOfBlockIsUnpackedHoweverItIsSplit(_ size: Int) throws {
    #expect(try Self.unpack(Hex.parse(Self.dynamic), size: size) == Self.text)
    #expect(try Self.unpack(Hex.parse(Self.fixed), size: size) == Self.text)
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
    for packed in [try Hex.parse(Self.dynamic), try Hex.parse(Self.fixed)] {
      for count in 1..<packed.count {
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
