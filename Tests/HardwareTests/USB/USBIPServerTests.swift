import AccessoryCore
import Testing

@testable import AccessoryUSB

@Suite struct USBIPServerTests {
  let rig = USBIPRig()

  static let listRequest: [UInt8] = [0x01, 0x11, 0x80, 0x05, 0, 0, 0, 0]
  static let bulkIn: UInt32 = 1
  static let bulkOut: UInt32 = 2

  // MARK: Before importing a device

  @Test func theListShowsEachAccessoryWithItsInterface() throws {
    let client = rig.connect()
    client.send(Self.listRequest)
    try rig.settle()
    let bytes = client.take()
    #expect(Array(bytes.prefix(12)) == [0x01, 0x11, 0x00, 0x05, 0, 0, 0, 0, 0, 0, 0, 1])
    #expect(bytes.count == 12 + 312 + 4)
    #expect(Array(bytes[12 + 256..<12 + 260]) == Array("1-1\0".utf8))
    #expect(
      Array(bytes[(12 + 288)...]) == [
        0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0x12, 0x09, 0x00, 0x01, 0x01, 0x00, 0, 0, 0, 1, 1, 1,
        0xFF, 0xF0, 0x00, 0,
      ])
    #expect(client.end != nil, "a list is one answer")
  }

  @Test func whatIsUnpluggedIsNotListed() throws {
    rig.export.unplug()
    let client = rig.connect()
    client.send(Self.listRequest)
    try rig.settle()
    #expect(client.take() == [0x01, 0x11, 0x00, 0x05, 0, 0, 0, 0, 0, 0, 0, 0])
  }

  @Test func aRequestMayComeByteByByteAndWithTheNextOneBehindIt() throws {
    let client = rig.connect()
    for byte in USBIPBytes.importRequest("1-1") {
      client.send([byte])
      try rig.pass(.milliseconds(1))
    }
    #expect(client.take().prefix(8) == [0x01, 0x11, 0x00, 0x03, 0, 0, 0, 0])
    let glued = rig.server.makeExport(USBAccessoryShape(manufacturer: "", name: "", serial: ""))
    glued.plugIn { _ in }
    let hasty = rig.connect()
    hasty.send(USBIPBytes.importRequest(glued.busID) + USBIPBytes.control(9, [0x80, 8, 0, 0, 0, 0, 1, 0]))
    try rig.settle()
    #expect(hasty.take().suffix(49) == USBIPBytes.answer(9, status: 0, count: 1, [0])[...])
  }

  @Test func anUnknownDeviceAndOneInUseAreRefused() throws {
    let first = try rig.importing()
    for (busID, status) in [("1-1", UInt8(2)), ("1-9", 4), ("", 4)] {
      let client = rig.connect()
      client.send(USBIPBytes.importRequest(busID))
      try rig.settle()
      #expect(client.take() == [0x01, 0x11, 0x00, 0x03, 0, 0, 0, status])
      #expect(client.end != nil)
    }
    #expect(first.end == nil)
  }

  @Test(arguments: [
    ([0x01, 0x06, 0x80, 0x03, 0, 0, 0, 0], "the client speaks USB/IP version 0106, but easim speaks 0111"),
    (
      [0x01, 0x11, 0x80, 0x04, 0, 0, 0, 0],
      "the client requested the unknown operation 8004: expected 8003 (import) or 8005 (list)"
    ),
    (Array("GET / HTTP/1.1\r\n".utf8), "the client speaks USB/IP version 4745, but easim speaks 0111"),
  ]) func aClientThatSpeaksSomethingElseIsSentAway(bytes: [UInt8], complaint: String) throws {
    let other = try rig.importing()
    let client = rig.connect()
    client.send(bytes)
    try rig.settle()
    #expect(client.end != nil)
    #expect(rig.complaints == ["closed the connection of the USB/IP client at the test: \(complaint)"])
    #expect(other.end == nil, "the others are unharmed")
  }

  @Test(arguments: [false, true])
  func whoSendsNoRequestOrTakesNoAnswerIsSentAwayAndSoAreTooManyOfThem(hasAsked: Bool) throws {
    let waiting = (0..<USBIPServer.mostWaiting).map { _ in rig.connect(capacity: hasAsked ? 64 : 1 << 21) }
    for client in waiting where hasAsked {
      client.channel.pauseReading()
      client.send(Self.listRequest)
    }
    try rig.settle()
    let late = rig.connect()
    try rig.settle()
    #expect(late.end == nil)
    if !hasAsked { #expect(waiting.map { $0.end != nil } == [true] + waiting.dropFirst().map { _ in false }) }
    #expect(
      rig.complaints == [
        "closed the connection of the USB/IP client at the test: another client connected, and of 64 clients "
          + "without a device, this one had waited longest"
      ])
    try rig.pass(USBIPServer.patience)
    let debt = hasAsked ? USBIPDebt.answer : .request
    #expect(rig.complaints[1] == "closed the connection of the USB/IP client at the test: \(debt.problem)")
    try rig.pass(.seconds(30))
    #expect(rig.allComplaints == 1 + waiting.count)
    _ = try rig.importing()
  }

  @Test func aSlowClientGetsItsWholeAnswer() throws {
    let client = rig.connect(capacity: 64)
    client.send(Self.listRequest)
    try rig.settle()
    #expect(client.take().count == 12 + 312 + 4)
    #expect(client.end != nil)
    try rig.pass(USBIPServer.patience)
    #expect(rig.complaints == [])
  }

  // MARK: Control

  @Test func aKernelsEnumerationIsAnswered() throws {
    let client = rig.connect()
    client.send(USBIPBytes.importRequest("1-1"))
    try rig.settle()
    _ = client.take()
    let device = DescriptorTests.device
    let configuration = DescriptorTests.highSpeed
    let steps: [(setup: [UInt8], data: [UInt8])] = [
      ([0x80, 6, 0, 1, 0, 0, 64, 0], device), ([0x00, 5, 3, 0, 0, 0, 0, 0], []),
      ([0x80, 6, 0, 1, 0, 0, 18, 0], device), ([0x80, 6, 0, 2, 0, 0, 9, 0], Array(configuration.prefix(9))),
      ([0x80, 6, 0, 2, 0, 0, 255, 0], configuration), ([0x80, 6, 0, 3, 0, 0, 255, 0], [4, 3, 9, 4]),
      ([0x80, 6, 3, 3, 9, 4, 255, 0], [6, 3, 0x41, 0, 0x31, 0]), ([0x80, 0, 0, 0, 0, 0, 2, 0], [1, 0]),
      ([0x00, 9, 1, 0, 0, 0, 0, 0], []), ([0x80, 8, 0, 0, 0, 0, 1, 0], [1]), ([0x01, 11, 0, 0, 0, 0, 0, 0], []),
      ([0x81, 10, 0, 0, 0, 0, 1, 0], [0]), ([0x02, 1, 0, 0, 0x81, 0, 0, 0], []),
    ]
    for (index, step) in steps.enumerated() {
      let sequence = UInt32(index + 1)
      client.send(USBIPBytes.control(sequence, step.setup))
      try rig.settle()
      #expect(
        client.take() == USBIPBytes.answer(sequence, status: 0, count: UInt32(step.data.count), step.data),
        "\(step.setup)")
    }
  }

  @Test(
    arguments: [
      [0x80, 6, 0, 15, 0, 0, 64, 0], [0x80, 6, 9, 3, 0, 0, 64, 0], [0x80, 6, 1, 2, 0, 0, 64, 0],
      [0x00, 9, 7, 0, 0, 0, 0, 0], [0x01, 11, 1, 0, 0, 0, 0, 0], [0x01, 11, 0, 0, 5, 0, 0, 0],
      [0xC0, 0x51, 0, 0, 0, 0, 2, 0], [0x21, 9, 0, 2, 0, 0, 0, 0],
    ] as [[UInt8]]) func aRequestThatMakesNoSenseIsStalled(setup: [UInt8]) throws
  {
    let client = try rig.importing()
    client.send(USBIPBytes.control(7, setup))
    try rig.settle()
    #expect(client.take() == USBIPBytes.answer(7, status: -32, count: 0))
    #expect(client.end == nil)
  }

  // MARK: Bulk

  @Test func whatTheHostGivesArrivesAndWhatTheAccessorySendsAnswersTheRead() throws {
    let client = try rig.importing()
    client.send(USBIPBytes.submit(10, incoming: true, endpoint: Self.bulkIn, length: 512))
    client.send(USBIPBytes.submit(11, incoming: false, endpoint: Self.bulkOut, length: 3, data: [1, 2, 3]))
    try rig.settle()
    #expect(client.take() == USBIPBytes.answer(11, status: 0, count: 3))
    let accessory = try #require(rig.cables.first)
    #expect(accessory.received == [[1, 2, 3]])
    #expect(accessory.send([9, 8]) == 2)
    try rig.settle()
    #expect(client.take() == USBIPBytes.answer(10, status: 0, count: 2, [9, 8]))
  }

  @Test func manyPendingReadsAreAnsweredInOrderAndALongSendInPieces() throws {
    let client = try rig.importing()
    for sequence in UInt32(20)..<24 {
      client.send(USBIPBytes.submit(sequence, incoming: true, endpoint: Self.bulkIn, length: 4))
    }
    try rig.settle()
    #expect(client.take() == [])
    let accessory = try #require(rig.cables.first)
    #expect(accessory.send([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]) == 10)
    #expect(accessory.send([10]) == 1)
    try rig.settle()
    #expect(
      client.take() == USBIPBytes.answer(20, status: 0, count: 4, [0, 1, 2, 3])
        + USBIPBytes.answer(21, status: 0, count: 4, [4, 5, 6, 7]) + USBIPBytes.answer(22, status: 0, count: 2, [8, 9])
        + USBIPBytes.answer(23, status: 0, count: 1, [10]))
  }

  @Test func requestsMayBeCutAnywhere() throws {
    let client = try rig.importing()
    let requests =
      USBIPBytes.submit(10, incoming: true, endpoint: Self.bulkIn, length: 512)
      + USBIPBytes.submit(11, incoming: false, endpoint: Self.bulkOut, length: 3, data: [1, 2, 3])
      + USBIPBytes.submit(12, incoming: false, endpoint: Self.bulkOut, length: 2, data: [4, 5])
      + USBIPBytes.unlink(13, victim: 10)
    let answers =
      USBIPBytes.answer(11, status: 0, count: 3) + USBIPBytes.answer(12, status: 0, count: 2)
      + USBIPBytes.unlinked(13, status: -104)
    for cut in 0...requests.count {
      client.send(Array(requests[..<cut]))
      try rig.pass(.milliseconds(1))
      client.send(Array(requests[cut...]))
      try rig.pass(.milliseconds(1))
      #expect(client.take() == answers, "cut at \(cut)")
    }
    for byte in requests {
      client.send([byte])
      try rig.pass(.milliseconds(1))
    }
    #expect(client.take() == answers)
    let accessory = try #require(rig.cables.first)
    #expect(accessory.received == Array(repeating: [[1, 2, 3], [4, 5]], count: requests.count + 2).flatMap { $0 })
  }

  @Test func answersArriveWholeAndInOrderWhereTheConnectionTakesLittleAtATime() throws {
    let cable = LoopbackChannel.makePair(on: rig.loop, capacity: 400)
    rig.server.accept(cable.right, from: "the test")
    let client = USBIPClient(cable.left)
    client.send(USBIPBytes.importRequest("1-1"))
    try rig.settle()
    client.send(USBIPBytes.control(1, [0x00, 0x09, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00]))
    for sequence in UInt32(20)..<24 {
      client.send(USBIPBytes.submit(sequence, incoming: true, endpoint: Self.bulkIn, length: 1_000))
      try rig.settle()
    }
    _ = client.take()
    let accessory = try #require(rig.cables.first)
    let sends = (0..<4).map { [UInt8](repeating: 100 + $0, count: 700) }
    for bytes in sends { #expect(accessory.send(bytes) == 700) }
    client.send(USBIPBytes.submit(30, incoming: false, endpoint: Self.bulkOut, length: 1, data: [7]))
    try rig.settle()
    let reads = zip(UInt32(20)..., sends).map { USBIPBytes.answer($0, status: 0, count: 700, $1) }
    #expect(client.take() == reads.flatMap { $0 } + USBIPBytes.answer(30, status: 0, count: 1))
  }

  @Test func aLongSendFindsAllReadsThatWaitAndIsToldOfRoomForTheRest() throws {
    let client = try rig.importing()
    for sequence in UInt32(40)..<42 {
      client.send(USBIPBytes.submit(sequence, incoming: true, endpoint: Self.bulkIn, length: 16_384))
    }
    try rig.settle()
    let accessory = try #require(rig.cables.first)
    #expect(accessory.send([UInt8](repeating: 5, count: 200_000)) == 2 * 16_384 + 65_536)
    try rig.settle()
    #expect(client.take().count == 2 * (48 + 16_384) && accessory.writableCalls == 0)
    for sequence in UInt32(50)..<70 {
      client.send(USBIPBytes.submit(sequence, incoming: true, endpoint: Self.bulkIn, length: 16_384))
    }
    try rig.settle()
    #expect(accessory.writableCalls == 1)
    #expect(client.take().count == 4 * (48 + 16_384))
    #expect(accessory.send([UInt8](repeating: 6, count: 200_000)) == 200_000, "sixteen reads wait")
    try rig.settle()
    #expect(client.take().count { $0 == 6 } >= 200_000)
  }

  @Test func anAccessoryThatDoesNotReadLeavesTheHostsTransferPending() throws {
    let client = try rig.importing()
    client.send(USBIPBytes.submit(1, incoming: false, endpoint: Self.bulkOut, length: 1, data: [1]))
    try rig.settle()
    _ = client.take()
    let accessory = try #require(rig.cables.first)
    accessory.channel.pauseReading()
    client.send(USBIPBytes.submit(2, incoming: false, endpoint: Self.bulkOut, length: 1, data: [2]))
    try rig.settle()
    #expect(client.take() == [])
    accessory.channel.resumeReading()
    try rig.settle()
    #expect(client.take() == USBIPBytes.answer(2, status: 0, count: 1))
    #expect(accessory.received == [[1], [2]])
  }

  @Test func aPendingReadCanBeTakenBackAndADoneOneNot() throws {
    let client = try rig.importing()
    client.send(USBIPBytes.submit(30, incoming: true, endpoint: Self.bulkIn, length: 4))
    client.send(USBIPBytes.unlink(31, victim: 30))
    client.send(USBIPBytes.unlink(32, victim: 30))
    try rig.settle()
    #expect(client.take() == USBIPBytes.unlinked(31, status: -104) + USBIPBytes.unlinked(32, status: 0))
    let accessory = try #require(rig.cables.first)
    _ = accessory.send([1])
    try rig.settle()
    #expect(client.take() == [], "it was taken back")
  }

  @Test func anEndpointThatIsNotThereAndOneBeforeTheConfigurationStall() throws {
    let client = rig.connect()
    client.send(USBIPBytes.importRequest("1-1"))
    try rig.settle()
    _ = client.take()
    client.send(USBIPBytes.submit(1, incoming: true, endpoint: Self.bulkIn, length: 4))
    try rig.settle()
    #expect(client.take() == USBIPBytes.answer(1, status: -32, count: 0))
    client.send(USBIPBytes.control(2, [0x00, 9, 1, 0, 0, 0, 0, 0]))
    client.send(USBIPBytes.submit(3, incoming: true, endpoint: 5, length: 4))
    client.send(USBIPBytes.submit(4, incoming: true, endpoint: Self.bulkOut, length: 4))
    try rig.settle()
    #expect(
      client.take() == USBIPBytes.answer(2, status: 0, count: 0) + USBIPBytes.answer(3, status: -32, count: 0)
        + USBIPBytes.answer(4, status: -32, count: 0))
  }

  @Test func aHostThatBeginsAnewGetsANewCable() throws {
    let client = try rig.importing()
    client.send(USBIPBytes.submit(1, incoming: true, endpoint: Self.bulkIn, length: 4))
    try rig.settle()
    client.send(USBIPBytes.control(2, [0x01, 11, 0, 0, 0, 0, 0, 0]))
    client.send(USBIPBytes.submit(3, incoming: false, endpoint: Self.bulkOut, length: 1, data: [7]))
    try rig.settle()
    #expect(rig.cables.count == 2)
    #expect(rig.cables[0].end == .closedByPeer)
    #expect(rig.cables[1].received == [[7]])
  }

  // MARK: Ends

  @Test func unpluggingEndsTheConnectionAndPluggingInAgainTakesTheSameName() throws {
    let client = try rig.importing()
    client.send(USBIPBytes.submit(1, incoming: true, endpoint: Self.bulkIn, length: 4))
    try rig.settle()
    rig.export.unplug()
    try rig.settle()
    #expect(client.end != nil)
    #expect(rig.cables[0].end != nil)
    rig.plugIn()
    let again = try rig.importing()
    #expect(again.end == nil)
    #expect(rig.complaints == [])
  }

  @Test(arguments: [
    (
      USBIPBytes.number(9) + [UInt8](repeating: 0, count: 44),
      "the client sent the unknown command 9: expected 1 (submit) or 2 (unlink)"
    ),
    (
      USBIPBytes.submit(1, incoming: false, endpoint: 2, length: 0x7FFF_FFFF),
      "the client requested a transfer of 2147483647 bytes, but the limit is 1048576"
    ),
    (
      USBIPBytes.submit(1, incoming: true, endpoint: 99, length: 1),
      "the client requested endpoint 99, but the highest is 15"
    ),
    (
      USBIPBytes.submit(1, incoming: true, endpoint: 1, length: 1, packets: 3),
      "the client requested 3 isochronous packets, but there is no isochronous endpoint"
    ),
  ]) func aClientThatSendsNonsenseLosesTheDeviceWithAReason(bytes: [UInt8], complaint: String) throws {
    let client = try rig.importing()
    client.send(bytes)
    try rig.settle()
    #expect(client.end != nil)
    #expect(rig.complaints == ["closed the connection of the USB/IP client at the test: \(complaint)"])
    _ = try rig.importing()
  }

  @Test func transfersWithoutEndAreRefused() throws {
    let client = try rig.importing()
    for sequence in UInt32(1)...1_100 {
      client.send(USBIPBytes.submit(sequence, incoming: true, endpoint: Self.bulkIn, length: 4))
    }
    try rig.settle()
    #expect(client.end != nil)
    #expect(rig.complaints.first?.contains("the client has 1024 transfers pending") == true)
  }

  @Test func aClientThatGoesWrongLosesItsDeviceAndNobodyElseLosesTheirs() throws {
    let other = rig.server.makeExport(USBAccessoryShape(manufacturer: "", name: "", serial: ""))
    other.plugIn { _ in }
    let neighbour = rig.connect()
    neighbour.send(USBIPBytes.importRequest("1-2"))
    let client = try rig.importing()
    client.send(USBIPBytes.number(9) + [UInt8](repeating: 0, count: 44))
    try rig.settle()
    #expect(client.end == .closedByPeer)
    #expect(neighbour.end == nil)
    _ = neighbour.take()
    neighbour.send(USBIPBytes.control(1, [0x80, 0x08, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00]))
    try rig.settle()
    #expect(neighbour.take() == USBIPBytes.answer(1, status: 0, count: 1, [0x00]))
    _ = try rig.importing()
  }

  @Test func anAccessoryThatClosesItsCableIsUnpluggedAfterItsLastBytes() throws {
    let client = try rig.importing()
    client.send(USBIPBytes.submit(2, incoming: true, endpoint: 1, length: 512))
    try rig.settle()
    #expect(rig.cables[0].send([1, 2]) == 2)
    rig.cables[0].channel.close()
    try rig.settle()
    #expect(client.received == USBIPBytes.answer(2, status: 0, count: 2, [1, 2]))
    #expect(client.end == .closedByPeer)
    #expect(rig.cables[0].end == nil, "who closes hears nothing more")
  }
}
