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
    // The header contains the magic number of version 2, the total length of 66 bytes, and flags for full speed and
    // high speed.
    let head: [UInt8] = [3, 0, 0, 0, 66, 0, 0, 0, 3, 0, 0, 0]
    #expect(FunctionFSImage.descriptors(shape) == head + [3, 0, 0, 0, 3, 0, 0, 0] + fullSpeed + highSpeed)
    var slow = shape
    slow.speed = .full
    #expect(FunctionFSImage.descriptors(slow) == FunctionFSImage.descriptors(shape))
  }

  @Test func theStringIsTheOneThatTheInterfaceIsNamedBy() {
    let head: [UInt8] = [2, 0, 0, 0, 32, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0]
    #expect(FunctionFSImage.strings == head + [0x09, 0x04] + Array("iAP Interface".utf8) + [0])
  }

  @Test func eventsAreReadOneBehindTheOther() {
    let nothing = [UInt8](repeating: 0, count: 8)
    let (toDevice, toHost): ([UInt8], [UInt8]) = ([0x40, 0x51, 1, 0, 2, 0, 0, 0], [0xC0, 0x53, 0, 0, 0, 0, 4, 0])
    let events: [([UInt8], UInt8, FunctionFSEvent)] = [
      (nothing, 0, .other), (nothing, 2, .enable), (toDevice, 4, .setup(hostReads: false)),
      (toHost, 4, .setup(hostReads: true)), (nothing, 5, .suspend), (nothing, 6, .resume), (nothing, 3, .disable),
      (nothing, 1, .unbind), (nothing, 9, .other),
    ]
    let bytes = events.flatMap { (setup, kind, _) -> [UInt8] in setup + [kind, 0, 0, 0] }
    #expect(FunctionFSEvent.read(bytes[...]) == events.map(\.2))
    #expect(FunctionFSEvent.read(bytes.dropLast()) == events.dropLast().map(\.2), "a piece of an event is none")
  }
}
