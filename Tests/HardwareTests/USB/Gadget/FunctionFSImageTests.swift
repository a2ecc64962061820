import Testing

@testable import AccessoryUSB

/// Compares an accessory's description for FunctionFS, and the events that FunctionFS reports, with bytes written by
/// hand.
@Suite struct FunctionFSImageTests {
  let shape = USBAccessoryShape(manufacturer: "Lawaken", name: "Glasses", serial: "A1")

  @Test func theDescriptorsAreThoseOfBothSpeeds() {
    let fullSpeed: [UInt8] =
      [9, 4, 0, 0, 2, 0xFF, 0xF0, 0x00, 1] + [7, 5, 0x81, 2, 64, 0, 0] + [7, 5, 0x02, 2, 64, 0, 0]
    let highSpeed: [UInt8] =
      [9, 4, 0, 0, 2, 0xFF, 0xF0, 0x00, 1] + [7, 5, 0x81, 2, 0, 2, 0] + [7, 5, 0x02, 2, 0, 2, 0]
    // The header contains the magic number of version 2, the total length of 66 bytes, and flags for full speed, high
    // speed, all requests, and requests before the configuration.
    let head: [UInt8] = [3, 0, 0, 0, 66, 0, 0, 0, 0xC3, 0, 0, 0]
    #expect(FunctionFSImage.descriptors(shape) == head + [3, 0, 0, 0, 3, 0, 0, 0] + fullSpeed + highSpeed)
  }

  @Test func theDescriptorsOfAFullSpeedAccessoryAreTheSame() {
    var slow = shape
    slow.speed = .full
    #expect(FunctionFSImage.descriptors(slow) == FunctionFSImage.descriptors(shape))
  }

  @Test func theStringsAreThoseThatInterfacesAreNamedBy() {
    let head: [UInt8] = [2, 0, 0, 0, 32, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0]
    #expect(FunctionFSImage.strings(shape) == head + [0x09, 0x04] + Array("iAP Interface".utf8) + [0])
  }

  @Test func eventsAreReadOneBehindTheOther() {
    let setup: [UInt8] = [0x40, 0x51, 1, 0, 2, 0, 0, 0]
    let nothing = [UInt8](repeating: 0, count: 8)
    let bytes =
      nothing + [0, 0, 0, 0] + nothing + [2, 0, 0, 0] + setup + [4, 0, 0, 0] + nothing + [5, 0, 0, 0] + nothing
      + [6, 0, 0, 0] + nothing + [3, 0, 0, 0] + nothing + [1, 0, 0, 0] + nothing + [9, 0, 0, 0]
    #expect(
      FunctionFSEvent.read(bytes[...]) == [
        .bind, .enable, .setup(ControlEndpoint.Setup(setup[...])), .suspend, .resume, .disable, .unbind, .unknown(9),
      ])
  }

  @Test func aPieceOfAnEventIsNone() {
    #expect(FunctionFSEvent.read([]) == [])
    #expect(FunctionFSEvent.read([0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0]) == [])
    let whole: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0]
    #expect(FunctionFSEvent.read((whole + whole.dropLast())[...]) == [.enable])
  }
}
