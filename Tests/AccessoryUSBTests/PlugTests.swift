import Testing

@testable import AccessoryUSB

/// What a USB/IP server answers to somebody who wants a device, and the kernel's table of what is plugged in.
@Suite struct PlugTests {
  /// "1-1", bus 1, device 2, high speed, 1209:0001, one interface.
  static let record: [UInt8] =
    [UInt8](repeating: 0, count: 256) + Array("1-1".utf8) + [UInt8](repeating: 0, count: 29)
    + [0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0x12, 0x09, 0x00, 0x01, 0x01, 0x00, 0, 0, 0, 1, 1, 1]

  @Test func aListIsReadOnceItIsWholeAndNotBefore() throws {
    let whole = [0x01, 0x11, 0x00, 0x05, 0, 0, 0, 0, 0, 0, 0, 1] + Self.record + [0xFF, 0xF0, 0x00, 0]
    for count in 0..<whole.count { #expect(try USBIPAnswers.list(Array(whole[..<count])) == nil) }
    let offer = try #require(try USBIPAnswers.list(whole)?.first)
    #expect(offer.busID == "1-1")
    #expect(offer.deviceID == 0x0001_0002)
    #expect(offer.speed == 3 && offer.vendor == 0x1209 && offer.product == 1)
    #expect(try USBIPAnswers.list([0x01, 0x11, 0x00, 0x05, 0, 0, 0, 0, 0, 0, 0, 0]) == [])
  }

  /// A host has several addresses, and the first may have taken all the time; for the system no time left is for ever.
  @Test func noAddressIsTriedWhenTheTimeIsUp() {
    let problem = #expect(throws: USBIPSocket.Problem.self) {
      try USBIPSocket(host: "127.0.0.1", port: 1, limit: .zero)
    }
    #expect(problem?.description == "Connection timed out")
  }

  @Test func aDeviceIsReadToItsLastByteAndNoFurther() throws {
    let answer = [0x01, 0x11, 0x00, 0x03, 0, 0, 0, 0] + Self.record
    #expect(USBIPAnswers.importSize([]) == 8)
    #expect(USBIPAnswers.importSize(Array(answer[..<8])) == 320)
    #expect(USBIPAnswers.importSize([0x01, 0x11, 0x00, 0x03, 0, 0, 0, 2]) == 8)
    #expect(try USBIPAnswers.imported(Array(answer.dropLast())) == nil)
    #expect(try USBIPAnswers.imported(answer)?.busID == "1-1")
  }

  @Test(
    arguments: [
      ([0x01, 0x11, 0x00, 0x03, 0, 0, 0, 2], "somebody else has it"),
      ([0x01, 0x11, 0x00, 0x03, 0, 0, 0, 4], "there is no such device"),
      ([0x01, 0x11, 0x00, 0x03, 0, 0, 0, 1], "the server refused it with status 1"),
      ([0x48, 0x54], "it does not speak USB/IP 1.1.1: its answer begins with 72, 84"),
      ([0x01, 0x11, 0x00, 0x05], "its answer is one to something else (code 5)"),
    ] as [([UInt8], String)]) func aRefusalSaysWhy(bytes: [UInt8], reason: String)
  {
    #expect(throws: USBIPAnswers.Problem(description: reason)) { try USBIPAnswers.imported(bytes) }
  }

  @Test func aListOfTheAbsurdIsAnErrorAtOnce() {
    #expect(throws: USBIPAnswers.Problem(description: "it says it has 4294967295 devices")) {
      try USBIPAnswers.list([0x01, 0x11, 0x00, 0x05, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF])
    }
  }

  @Test func theServersOwnAnswersAreReadBack() throws {
    let shape = USBAccessoryShape(manufacturer: "Lawaken", name: "Glasses", serial: "A1")
    let devices = (1...3).map { USBIPListedDevice(shape: shape, number: $0) }
    #expect(try USBIPAnswers.list(USBIPHandshake.listing(devices))?.map(\.busID) == ["1-1", "1-2", "1-3"])
    #expect(USBIPAnswers.importRequest("1-2") == USBIPBytes.importRequest("1-2"))
  }

  @Test func theKernelsTableTellsFreePortsFromUsedOnes() {
    let table = """
      hub port sta spd dev      sockfd local_busid
      hs  0000 006 003 00010002 000003 1-1
      hs  0001 004 000 00000000 000000 0-0
      ss  0008 004 000 00000000 000000 0-0
      """
    #expect(
      VirtualHostController.ports(table) == [
        .init(isSuperSpeed: false, number: 0, isFree: false), .init(isSuperSpeed: false, number: 1, isFree: true),
        .init(isSuperSpeed: true, number: 8, isFree: true),
      ])
    #expect(VirtualHostController.ports("nonsense\nhs x 004\n") == [])
  }

  @Test func withoutAControllerTheModuleIsNamed() {
    #expect(
      throws: VirtualHostController.Problem(
        description: "this kernel has no virtual USB host controller: sudo modprobe vhci-hcd")
    ) { try VirtualHostController(folder: "/nonexistent/vhci_hcd.0") }
  }
}
