import AccessoryFormats
import Testing

@Suite struct ChecksumTests {
  @Test(
    arguments: [
      ("sum-8", 0xDD), ("sum-16", 0x01DD), ("negated-sum-8", 0x23), ("xor-8", 0x31), ("CRC-8/SMBUS", 0xF4),
      ("CRC-16/ARC", 0xBB3D), ("CRC-16/MODBUS", 0x4B37), ("CRC-16/USB", 0xB4C8), ("CRC-16/MAXIM-DOW", 0x44C2),
      ("CRC-16/XMODEM", 0x31C3), ("CRC-16/IBM-3740", 0x29B1), ("CRC-16/SPI-FUJITSU", 0xE5CC),
      ("CRC-16/GENIBUS", 0xD64E), ("CRC-16/KERMIT", 0x2189), ("CRC-16/IBM-SDLC", 0x906E), ("CRC-16/DNP", 0xEA82),
      ("CRC-32", 0xCBF4_3926), ("CRC-32/BZIP2", 0xFC89_1918), ("CRC-32/MPEG-2", 0x0376_E6E7),
      ("CRC-32/ISCSI", 0xE306_9283),
    ] as [(String, UInt32)]) func eachChecksumHasItsPublishedCheckValue(name: String, value: UInt32) throws
  {
    let checksum = try #require(FrameChecksum.named(name))
    #expect(checksum.value(of: Array("123456789".utf8)) == value)
  }

  @Test func allOfThemAreChecked() { #expect(FrameChecksum.all.count == 20) }

  @Test func nothingHasTheChecksumOfTheStart() {
    #expect(FrameChecksum.named("CRC-16/MODBUS")?.value(of: []) == 0xFFFF)
    #expect(FrameChecksum.named("CRC-32")?.value(of: []) == 0)
  }
}
