import AccessoryCore
import AccessoryUSB
import Testing

/// Tests that clients and accessories on the same USB/IP server do not affect each other.
@Suite struct USBIPNeighbourTests {
  let rig = USBIPRig()

  @Test func aListLongerThanTheConnectionTakesAtOnceArrivesWhole() throws {
    for _ in 0..<400 {
      rig.server.makeExport(USBAccessoryShape(manufacturer: "", name: "", serial: "")).plugIn { _ in }
    }
    let cable = LoopbackChannel.makePair(on: rig.loop, capacity: 5_000)
    rig.server.accept(cable.right, from: "the test")
    let client = USBIPClient(cable.left)
    client.send([0x01, 0x11, 0x80, 0x05, 0, 0, 0, 0])
    try rig.settle()
    #expect(client.received.count == 12 + 401 * 316)
    #expect(client.end == .closedByPeer)
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
