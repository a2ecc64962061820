import AccessoryCore
import Testing

@testable import AccessoryUSB

/// Tests native transport on a USB/IP server. The client sends bytes written by hand. Interface 1 carries `a.b` on
/// endpoints 83 and 03, and interface 2 carries `c.d` on endpoints 84 and 04.
@Suite struct NativeInterfaceTests {
  let rig = USBIPRig(natives: ["a.b", "c.d"])

  static func choose(_ alternate: UInt8, _ interface: UInt8 = 1) -> [UInt8] {
    [0x01, 0x0B, alternate, 0x00, interface, 0x00, 0x00, 0x00]
  }

  func beginning() throws -> USBIPClient {
    let client = try rig.importing()
    client.send(USBIPBytes.submit(2, incoming: true, endpoint: 1, length: 512))
    try rig.settle()
    #expect(client.take() == [] && rig.cables.count == 1)
    return client
  }

  func opening() throws -> (client: USBIPClient, accessory: AccessoryEnd) {
    let client = try beginning()
    client.send(USBIPBytes.control(3, Self.choose(1)))
    try rig.settle()
    #expect(client.take() == USBIPBytes.answer(3, status: 0, count: 0))
    return (client, try #require(rig.sides.last).end)
  }

  @Test func theListHasAnInterfaceForEachWithoutItsAlternates() throws {
    let client = rig.connect()
    client.send(USBIPServerTests.listRequest)
    try rig.settle()
    #expect(
      client.take().suffix(15) == [1, 1, 3, 0xFF, 0xF0, 0x00, 0, 0xFF, 0xF0, 0x01, 0, 0xFF, 0xF0, 0x01, 0])
  }

  @Test func theAlternateSettingIsTold() throws {
    let client = try beginning()
    for (sequence, setup, answer) in [
      (10, [0x81, 0x0A, 0, 0, 1, 0, 1, 0], [0]), (11, Self.choose(1), []), (12, [0x81, 0x0A, 0, 0, 1, 0, 1, 0], [1]),
      (13, [0x81, 0x0A, 0, 0, 2, 0, 1, 0], [0]), (14, [0x81, 0x0A, 0, 0, 0, 0, 1, 0], [0]),
      (15, [0x00, 0x09, 1, 0, 0, 0, 0, 0], []), (16, [0x81, 0x0A, 0, 0, 1, 0, 1, 0], [0]),
    ] as [(UInt32, [UInt8], [UInt8])] {
      client.send(USBIPBytes.control(sequence, setup))
      try rig.settle()
      #expect(
        client.take() == USBIPBytes.answer(sequence, status: 0, count: UInt32(answer.count), answer), "\(sequence)")
    }
    for (sequence, setup) in [(20, Self.choose(2)), (21, Self.choose(1, 3)), (22, [0x81, 0x0A, 0, 0, 3, 0, 1, 0])]
      as [(UInt32, [UInt8])]
    {
      client.send(USBIPBytes.control(sequence, setup))
      try rig.settle()
      #expect(client.take() == USBIPBytes.answer(sequence, status: -32, count: 0), "\(setup)")
    }
  }

  @Test func aSessionHasItsOwnEndpointsAndManyTransfersPending() throws {
    let (client, accessory) = try opening()
    #expect(rig.sides.map(\.name) == ["a.b"])
    for sequence in UInt32(30)..<33 {
      client.send(USBIPBytes.submit(sequence, incoming: true, endpoint: 3, length: 4))
    }
    client.send(USBIPBytes.submit(40, incoming: false, endpoint: 3, length: 2, data: [1, 2]))
    client.send(USBIPBytes.submit(41, incoming: false, endpoint: 3, length: 1, data: [3]))
    try rig.settle()
    #expect(
      client.take() == USBIPBytes.answer(40, status: 0, count: 2) + USBIPBytes.answer(41, status: 0, count: 1))
    #expect(accessory.received == [[1, 2], [3]])
    #expect(accessory.send([9, 8, 7, 6, 5]) == 5)
    #expect(accessory.send([4]) == 1)
    try rig.settle()
    #expect(
      client.take() == USBIPBytes.answer(30, status: 0, count: 4, [9, 8, 7, 6])
        + USBIPBytes.answer(31, status: 0, count: 1, [5]) + USBIPBytes.answer(32, status: 0, count: 1, [4]))
    #expect(rig.cables[0].received == [], "nothing of it is iAP2's")
  }

  @Test func twoSessionsAndTheLinkDoNotMeet() throws {
    let (client, first) = try opening()
    client.send(USBIPBytes.control(4, Self.choose(1, 2)))
    client.send(USBIPBytes.submit(5, incoming: false, endpoint: 4, length: 1, data: [44]))
    client.send(USBIPBytes.submit(6, incoming: false, endpoint: 3, length: 1, data: [33]))
    client.send(USBIPBytes.submit(7, incoming: false, endpoint: 2, length: 1, data: [22]))
    try rig.settle()
    #expect(rig.sides.map(\.name) == ["a.b", "c.d"])
    #expect(first.received == [[33]] && rig.sides[1].end.received == [[44]] && rig.cables[0].received == [[22]])
    client.send(USBIPBytes.control(8, Self.choose(0)))
    try rig.settle()
    #expect(first.end == .closedByPeer && rig.sides[1].end.end == nil && rig.cables[0].end == nil)
  }

  @Test func alternateZeroEndsTheSessionAndTheNextHasNothingOfIt() throws {
    let (client, accessory) = try opening()
    accessory.channel.pauseReading()
    client.send(USBIPBytes.submit(30, incoming: false, endpoint: 3, length: 1, data: [1]))
    #expect(accessory.send([5, 6, 7]) == 3)
    try rig.settle()
    #expect(client.take() == [])
    client.send(USBIPBytes.control(31, Self.choose(0)))
    try rig.settle()
    #expect(accessory.end == .closedByPeer)
    #expect(
      client.take() == USBIPBytes.answer(30, status: -32, count: 0) + USBIPBytes.answer(31, status: 0, count: 0),
      "what has no endpoint any more stays pending nowhere")
    client.send(USBIPBytes.submit(32, incoming: true, endpoint: 3, length: 4))
    client.send(USBIPBytes.control(33, Self.choose(1)))
    client.send(USBIPBytes.submit(34, incoming: true, endpoint: 3, length: 4))
    try rig.settle()
    #expect(
      client.take() == USBIPBytes.answer(32, status: -32, count: 0) + USBIPBytes.answer(33, status: 0, count: 0))
    #expect(rig.sides.count == 2 && rig.sides[1].end.received == [])
    client.send(USBIPBytes.control(35, Self.choose(1)))
    try rig.settle()
    #expect(rig.sides[1].end.end == .closedByPeer && rig.sides.count == 3, "chosen again is begun anew")
  }

  @Test func anAccessoryThatClosesHaltsBothEndpointsBehindItsLastBytes() throws {
    let (client, accessory) = try opening()
    #expect(accessory.send([1, 2, 3]) == 3)
    accessory.channel.close()
    try rig.settle()
    client.send(USBIPBytes.submit(30, incoming: true, endpoint: 3, length: 2))
    client.send(USBIPBytes.submit(31, incoming: true, endpoint: 3, length: 2))
    client.send(USBIPBytes.submit(32, incoming: true, endpoint: 3, length: 2))
    client.send(USBIPBytes.submit(33, incoming: false, endpoint: 3, length: 1, data: [1]))
    client.send(USBIPBytes.control(34, [0x02, 0x01, 0x00, 0x00, 0x83, 0x00, 0x00, 0x00]))
    client.send(USBIPBytes.submit(35, incoming: true, endpoint: 3, length: 2))
    try rig.settle()
    #expect(
      client.take() == USBIPBytes.answer(30, status: 0, count: 2, [1, 2])
        + USBIPBytes.answer(31, status: 0, count: 1, [3]) + USBIPBytes.answer(32, status: -32, count: 0)
        + USBIPBytes.answer(33, status: -32, count: 0) + USBIPBytes.answer(34, status: 0, count: 0)
        + USBIPBytes.answer(35, status: -32, count: 0), "a halt that was cleared is there again")
    #expect(client.end == nil && rig.cables[0].end == nil)
  }

  @Test func aSessionBeforeThereIsACableFindsItsEndpointsHalted() throws {
    let client = try rig.importing()
    client.send(USBIPBytes.control(3, Self.choose(1)))
    client.send(USBIPBytes.submit(4, incoming: true, endpoint: 3, length: 4))
    client.send(USBIPBytes.submit(5, incoming: false, endpoint: 3, length: 1, data: [1]))
    try rig.settle()
    #expect(
      client.take() == USBIPBytes.answer(3, status: 0, count: 0) + USBIPBytes.answer(4, status: -32, count: 0)
        + USBIPBytes.answer(5, status: -32, count: 0))
    #expect(rig.sides.isEmpty)
  }

  @Test(arguments: ["unplug", "leave", "configuration", "iAP2"])
  func whatEndsTheCableEndsItsSessions(how: String) throws {
    let (client, accessory) = try opening()
    switch how {
    case "unplug": rig.export.unplug()
    case "leave": client.channel.close()
    case "configuration": client.send(USBIPBytes.control(40, [0x00, 0x09, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00]))
    default: client.send(USBIPBytes.control(40, Self.choose(0, 0)))
    }
    try rig.settle()
    #expect(accessory.end != nil && rig.cables[0].end != nil)
  }
}

@Suite struct USBIPLimitTests {
  let rig = USBIPRig()

  @Test func whatTheAccessoryHasNotTakenIsBoundedAndWhatIsMoreIsAnError() throws {
    let client = try rig.importing()
    client.send(USBIPBytes.submit(1, incoming: false, endpoint: 2, length: 1, data: [0]))
    try rig.settle()
    _ = client.take()
    let accessory = try #require(rig.cables.first)
    accessory.channel.pauseReading()
    let length = USBIPRequest.longestTransfer
    let most = UInt32(USBIPImport.mostHeld / length)
    for sequence in UInt32(2)..<2 + most + 2 {
      client.send(
        USBIPBytes.submit(
          sequence, incoming: false, endpoint: 2, length: UInt32(length), data: [UInt8](repeating: 7, count: length)))
      try rig.pass(.milliseconds(1))
    }
    #expect(
      client.take() == USBIPBytes.answer(2 + most, status: -12, count: 0)
        + USBIPBytes.answer(3 + most, status: -12, count: 0))
    client.send(USBIPBytes.unlink(100, victim: 2))
    client.send(
      USBIPBytes.submit(
        101, incoming: false, endpoint: 2, length: UInt32(length), data: [UInt8](repeating: 8, count: length)))
    try rig.settle()
    #expect(client.take() == USBIPBytes.unlinked(100, status: -104), "what was taken back makes room")
    accessory.channel.resumeReading()
    try rig.settle()
    #expect(accessory.received.count == 1 + Int(most) && client.end == nil)
    #expect(accessory.received.last?.first == 8)
  }

  @Test func aHostThatTakesItsReadsBackAndAsksForNothingIsGone() throws {
    let client = try rig.importing()
    for sequence in UInt32(10)..<12 { client.send(USBIPBytes.submit(sequence, incoming: true, endpoint: 1, length: 4)) }
    try rig.settle()
    client.send(USBIPBytes.unlink(20, victim: 10))
    client.send(USBIPBytes.unlink(21, victim: 11))
    try rig.pass(.seconds(4))
    #expect(rig.cables[0].end == nil)
    try rig.pass(.seconds(2))
    #expect(rig.cables[0].end == .lost("the host stopped reading"))
    #expect(client.end == nil, "it is still plugged in")
    client.send(USBIPBytes.submit(30, incoming: true, endpoint: 1, length: 4))
    try rig.settle()
    #expect(rig.cables.count == 2)
  }

  @Test func aHostThatReadsWithATimeLimitIsThereAndSoIsOneThatWaitsForItsReads() throws {
    let client = try rig.importing()
    for round in UInt32(0)..<20 {
      client.send(USBIPBytes.submit(100 + 2 * round, incoming: true, endpoint: 1, length: 4))
      try rig.pass(.seconds(1))
      client.send(USBIPBytes.unlink(101 + 2 * round, victim: 100 + 2 * round))
      try rig.pass(.milliseconds(100))
    }
    client.send(USBIPBytes.submit(200, incoming: true, endpoint: 1, length: 4))
    try rig.pass(.seconds(100))
    #expect(rig.cables.count == 1 && rig.cables[0].end == nil)
    // The accessory answers the client's read, and the client then stays silent while it processes the result.
    #expect(rig.cables[0].send([1]) == 1)
    try rig.pass(.seconds(100))
    #expect(rig.cables[0].end == nil)
  }

  /// While too many answers are waiting to be sent to the client, the client's requests are not read, so TCP slows the
  /// client down.
  @Test func aClientThatTakesNoAnswersIsNotReadEither() throws {
    let client = try rig.importing()
    client.channel.pauseReading()
    let requests = (0..<1_000).flatMap { _ in USBIPBytes.control(9, [0x80, 6, 0, 2, 0, 0, 255, 0]) }
    var taken = 0
    for _ in 0..<200 {
      let count = client.channel.send(requests.span.bytes)
      try rig.pass(.milliseconds(1))
      taken += count
      if count < requests.count { break }
    }
    #expect(taken < 8 << 20, "more than both directions of the connection and the answers that may wait")
    client.channel.resumeReading()
    try rig.settle()
    #expect(client.end == nil && rig.complaints.isEmpty)
    if taken % 48 > 0 { client.send(Array(requests[(taken % 48)..<48])) }
    try rig.settle()
    #expect(client.take().count == (taken + 47) / 48 * 80, "all of them are answered when it reads again")
    client.send(USBIPBytes.control(7, [0x80, 8, 0, 0, 0, 0, 1, 0]))
    try rig.settle()
    #expect(client.take() == USBIPBytes.answer(7, status: 0, count: 1, [1]))
  }
}
