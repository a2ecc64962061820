import Testing

@testable import AccessoryUSB

/// Tests a USB/IP server's answers to a client that imports a device, and the kernel's table of attached devices.
@Suite struct PlugTests {
  /// A device: "1-1" on bus 1, device number 2, high speed, 1209:0001, with one interface.
  static let record: [UInt8] =
    [UInt8](repeating: 0, count: 256) + Array("1-1".utf8) + [UInt8](repeating: 0, count: 29)
    + [0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0x12, 0x09, 0x00, 0x01, 0x01, 0x00, 0, 0, 0, 1, 1, 1]

  /// Reads from an answer that ends after these bytes, and requires that no byte is left.
  static func read<Result>(
    _ answer: [UInt8], by reader: ((Int) throws(PlugProblem) -> [UInt8]) throws(PlugProblem) -> Result
  ) throws -> Result {
    var rest = answer[...]
    let result = try reader { count throws(PlugProblem) in
      guard rest.count >= count else { throw .failed("the answer ends") }
      defer { rest = rest.dropFirst(count) }
      return Array(rest.prefix(count))
    }
    #expect(rest.isEmpty, "what follows is the kernel's")
    return result
  }

  @Test func aListIsReadToItsEnd() throws {
    let whole = [0x01, 0x11, 0x00, 0x05, 0, 0, 0, 0, 0, 0, 0, 1] + Self.record + [0xFF, 0xF0, 0x00, 0]
    let offer = try #require(try Self.read(whole, by: USBIPAnswers.list).first)
    #expect(offer.busID == "1-1")
    #expect(offer.deviceID == 0x0001_0002)
    #expect(offer.configurationCount == 1 && offer.interfaces == [.iAP])
    #expect(offer.speed == 3 && offer.vendor == 0x1209 && offer.product == 1)
    let imported = try Self.read([0x01, 0x11, 0x00, 0x03, 0, 0, 0, 0] + Self.record, by: USBIPAnswers.imported)
    #expect(imported.busID == "1-1")
  }

  /// A host may have several addresses, and trying the first one can use up the whole time limit. The system would
  /// interpret a timeout of zero as no limit.
  @Test func noAddressIsTriedWhenTheTimeIsUp() {
    let problem = #expect(throws: PlugProblem.self) {
      try USBIPSocket(host: "127.0.0.1", port: 1, limit: .zero)
    }
    #expect(problem?.description == "Connection timed out")
  }

  @Test(
    arguments: [
      ([0x01, 0x11, 0x00, 0x03, 0, 0, 0, 2], "another client uses it"),
      ([0x01, 0x11, 0x00, 0x03, 0, 0, 0, 4], "no such device"),
      ([0x01, 0x11, 0x00, 0x03, 0, 0, 0, 1], "the server refused the request (status 1)"),
      ([0x01, 0x11, 0x00, 0x05, 0, 0, 0, 0], "the server answered a different request (code 5)"),
    ] as [([UInt8], String)]) func aRefusalSaysWhy(bytes: [UInt8], reason: String)
  {
    #expect(throws: PlugProblem.failed(reason)) { try Self.read(bytes, by: USBIPAnswers.imported) }
  }

  @Test func theServersOwnAnswersAreReadBack() throws {
    let shape = USBAccessoryShape(manufacturer: "Lawaken", name: "Glasses", serial: "A1")
    let list = USBIPHandshake.listing((1...3).map { USBIPExport(shape, number: $0) })
    #expect(try Self.read(list, by: USBIPAnswers.list).map(\.busID) == ["1-1", "1-2", "1-3"])
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
        description: "this kernel has no virtual USB host controller: \(KernelModule.virtualHost.remedy)")
    ) { try VirtualHostController(folder: "/nonexistent/vhci_hcd.0") }
  }
}

@Suite struct PlugRulesTests {
  let rules = PlugRules { _ in .trusted }

  static func offer(_ kinds: [[UInt8]], configurations: UInt8 = 1) -> USBIPOffer {
    var offer = USBIPOffer(record: PlugTests.record, interfaces: kinds.flatMap { $0 + [0] })
    offer.configurationCount = configurations
    return offer
  }

  static func descriptors(_ kind: USBInterface.Kind, _ endpoints: [USBEndpoint]) throws -> USBDescriptors {
    let interface = USBInterface(number: 0, kind: kind, endpoints: endpoints).descriptor(namedBy: 0)
    let configuration = [9, 2, UInt8(9 + interface.count), 0, 1, 1, 0, 0xC0, 50] + interface
    return try USBDescriptors(
      reading: [18, 1, 0, 2, 0, 0, 0, 64, 0x09, 0x12, 1, 0, 0, 1, 0, 0, 0, 1] + configuration)
  }

  static let pair = [USBEndpoint(address: 0x81, packetSize: 512), USBEndpoint(address: 0x02, packetSize: 512)]

  @Test func aListThatSaysEnoughIsEnough() throws {
    #expect(throws: PlugProblem.noAccessory("its interfaces are 03/01/01, 03/01/02")) {
      try rules.check(Self.offer([[3, 1, 1], [3, 1, 2]]))
    }
    try rules.check(Self.offer([[3, 1, 1], [0xFF, 0xF0, 0]]))
    // The interface may belong to the other configuration, or no configuration may be selected.
    try rules.check(Self.offer([[3, 1, 1]], configurations: 2))
    try rules.check(Self.offer([]))
    try PlugRules(takesAnyDevice: true) { _ in .trusted }.check(Self.offer([[3, 1, 1]]))
  }

  @Test func theDescriptorsDecide() throws {
    try rules.check(try Self.descriptors(.iAP, Self.pair))
    #expect(throws: PlugProblem.noAccessory("interface 0 is FF/F0/00 and has no bulk OUT endpoint")) {
      try rules.check(try Self.descriptors(.iAP, [Self.pair[0]]))
    }
    #expect(throws: PlugProblem.noAccessory("its interfaces are 03/01/01")) {
      try rules.check(try Self.descriptors(.init(3, 1, 1), Self.pair))
    }
  }

  @Test func aConnectionThatDoesNotTellIsEnoughForAListAlone() throws {
    let unsure = PlugRules { _ in .unknown("whose?") }
    try unsure.check(3, isFinal: false)
    #expect(throws: PlugProblem.server("whose?")) { try unsure.check(3, isFinal: true) }
    let strict = PlugRules { _ in .refused("no") }
    #expect(throws: PlugProblem.server("no")) { try strict.check(3, isFinal: false) }
  }

  @Test func descriptorsAreAskedForAndReadAsUSBIPHasThem() throws {
    #expect(
      USBIPDescriptors.request(7, of: 0x0001_0002, .configuration, 1, length: 9)
        == USBIPBytes.submit(7, incoming: true, endpoint: 0, length: 9, setup: [0x80, 0x06, 0x01, 0x02, 0, 0, 9, 0]))
    func answer(_ bytes: [UInt8]) throws -> [UInt8] {
      try PlugTests.read(bytes) { read throws(PlugProblem) in
        try USBIPDescriptors.answer(to: 7, length: 9, read)
      }
    }
    #expect(try answer(USBIPBytes.answer(7, status: 0, count: 2, [1, 2])) == [1, 2])
    for (wrong, problem) in [
      (USBIPBytes.answer(8, status: 0, count: 0), "a different request"),
      (USBIPBytes.unlinked(7, status: 0), "a different request"),
      (USBIPBytes.answer(7, status: -32, count: 0), "refused"),
      (USBIPBytes.answer(7, status: 0, count: 10), "10 bytes"),
      (USBIPBytes.answer(7, status: 0, count: .max), "4294967295 bytes"),
    ] {
      let error = #expect(throws: PlugProblem.self) { try answer(wrong) }
      #expect(error?.description.contains(problem) == true)
    }
  }
}
