import IAP2
import Testing

/// Numbers go round every 256 packets; nothing may ever notice.
@Suite struct LongSessionTests {
  @Test func aHundredThousandPacketsArriveInOrder() {
    var settings = LinkSettings()
    settings.parameters.maximumPacketLength = 64
    settings.parameters.maximumOutstandingPackets = 127
    settings.initialSequence = 0xFA
    var wire = Wire(accessory: settings)
    wire.isRecording = false
    wire.start()
    #expect(wire.device.openSession(protocolNamed: "com.example.echo", now: wire.now) == .link(1))
    wire.settle()
    wire.losesEvery = 997
    // 52 bytes fill a packet of 64; each begins with its number.
    let filling = [UInt8](repeating: 7, count: 48)
    var sent: UInt32 = 0
    var received: UInt32 = 0
    while sent < 100_000 {
      for _ in 0..<200 {
        let packet = withUnsafeBytes(of: sent.bigEndian) { Array($0) } + filling
        precondition(wire.device.core.write(packet.span.bytes, to: 1) == 52)
        sent += 1
      }
      var isQuiet = false
      while !isQuiet {
        wire.settle()
        var inbox: [UInt8] = []
        wire.accessory.core.takeInbox(1, &inbox)
        wire.accessory.core.consume(inbox.count, of: 1)
        for at in stride(from: 0, to: inbox.count, by: 52) {
          let number = inbox[at..<at + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
          if number != received {
            Issue.record("packet \(number) came instead of \(received)")
            return
          }
          received += 1
        }
        isQuiet = !wire.step()
      }
    }
    #expect(received == 100_000)
    #expect(wire.device.core.counters.sequenceWraps >= 390)
    #expect(wire.device.core.counters.retransmissions > 50)
    #expect(wire.device.core.counters.windowStalls > 0)
    #expect(wire.accessory.core.isOpen(1) == true)
    #expect(wire.deviceEvents.last == .ready || wire.deviceEvents.last == .sessionConfirmed(1))
  }

  /// Every distance between two numbers around the end of the range.
  @Test(arguments: [UInt8(0xFD), 0xFE, 0xFF, 0x00, 0x7F, 0x80])
  func theWindowWorksWhereverItLies(_ first: UInt8) {
    var settings = LinkSettings()
    settings.parameters.maximumOutstandingPackets = 127
    settings.parameters.maximumCumulativeAcknowledgements = 127
    var end = OneEnd.accessory(settings, device: first)
    // The whole window backwards: all but the first are ahead of the gap.
    for distance in stride(from: UInt8(127), through: 1, by: -1) {
      let body = Sheet.parameter(0, Sheet.hex([distance]))
      end.receives(Sheet.packet(0x40, first &+ distance, 0, session: 1, Sheet.message(0x4155, body)))
      if distance > 1 { #expect(end.told() == []) }
    }
    let told = end.told()
    #expect(told.count == 127)
    for (index, event) in told.enumerated() {
      #expect(event == .message(ControlMessage(MessageID(rawValue: 0x4155), body: [0, 5, 0, 0, UInt8(index + 1)])))
    }
    #expect(end.receives(Sheet.packet(0x40, first, 0, session: 1, "00")) == [Sheet.packet(0x40, 0, first &+ 127)])
  }
}
