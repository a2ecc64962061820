import Testing

@testable import AccessoryUSB

/// Checks that the server waits only a limited time for a client's next step. After that, other clients can use the
/// connection slot and the device.
@Suite struct USBIPDebtTests {
  let rig = USBIPRig()

  func client(owing debt: USBIPDebt) throws -> USBIPClient {
    switch debt {
    case .request: return rig.connect()
    case .answer:
      let client = rig.connect(capacity: 64)
      client.channel.pauseReading()
      client.send(USBIPServerTests.listRequest)
      return client
    case .firstTransfer:
      let client = rig.connect()
      client.send(USBIPBytes.importRequest("1-1"))
      return client
    case .restOfTransfer:
      let client = try rig.importing()
      client.send(Array(USBIPBytes.control(2, [0x80, 6, 0, 1, 0, 0, 18, 0]).prefix(20)))
      return client
    case .transferAnswers:
      let client = rig.connect(capacity: 512)
      client.send(USBIPBytes.importRequest("1-1"))
      try rig.loop.advance(by: .milliseconds(1))
      client.channel.pauseReading()
      for number in UInt32(1)..<20 {
        client.send(USBIPBytes.control(number, [0x80, 6, 0, 2, 0, 0, 255, 0]))
        try rig.loop.advance(by: .milliseconds(1))
      }
      return client
    }
  }

  @Test(arguments: USBIPDebt.allCases) func noDebtIsWaitedForWithoutEnd(_ debt: USBIPDebt) throws {
    let client = try client(owing: debt)
    try rig.pass(debt.limit - .seconds(2))
    #expect(client.end == nil && rig.complaints == [])
    try rig.pass(.seconds(4))
    client.channel.resumeReading()
    try rig.settle()
    #expect(client.end != nil)
    #expect(rig.complaints == ["closed the connection of the USB/IP client at the test: \(debt.problem)"])
    _ = try rig.importing()
  }

  @Test func aClientThatOwesNothingMayBeSilentForEver() throws {
    let client = try rig.importing()
    try rig.pass(.seconds(86_400))
    #expect(client.end == nil && rig.complaints == [])
  }

  @Test func aClientThatPaysSlowlyIsKept() throws {
    let client = rig.connect(capacity: 512)
    client.send(USBIPBytes.importRequest("1-1"))
    try rig.settle()
    _ = client.take()
    client.channel.pauseReading()
    let requests = (UInt32(1)..<40).flatMap { USBIPBytes.control($0, [0x80, 6, 0, 2, 0, 0, 255, 0]) }
    var sent = 0
    for _ in 0..<40 {
      let rest = Array(requests[sent...])
      sent += client.channel.send(rest.span.bytes)
      client.channel.resumeReading()
      try rig.loop.advance(by: .milliseconds(1))
      client.channel.pauseReading()
      try rig.pass(USBIPServer.transferPatience - .seconds(1))
    }
    #expect(client.end == nil && rig.complaints == [])
  }
}
