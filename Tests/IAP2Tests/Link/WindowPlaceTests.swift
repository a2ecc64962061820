import IAP2
import Testing

/// Sequence numbers wrap every 256 packets, which must not affect the window.
@Suite struct WindowPlaceTests {
  /// Covers every distance between two sequence numbers near the wrap-around.
  @Test(arguments: [UInt8(0xFD), 0xFE, 0xFF, 0x00, 0x7F, 0x80])
  func theWindowWorksWhereverItLies(_ first: UInt8) {
    var end = OneEnd.accessory(device: first) {
      $0.parameters.maximumOutstandingPackets = 127
      $0.parameters.maximumCumulativeAcknowledgements = 127
    }
    // The whole window arrives in reverse order, so every packet except the first in sequence arrives while earlier
    // ones are missing.
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
