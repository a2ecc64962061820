import IAP2
import Testing

/// After a single read, a peer must not have stored more than a small multiple of the bytes that it read.
@Suite struct FloodTests {
  /// The shortest input that causes an event is a six-byte message.
  private func expectFewEvents(_ end: inout OneEnd<AccessoryRole>, for bytes: Int, _ what: Comment) {
    #expect(end.told().count <= bytes / 6 + 2, what)
  }

  private func packet(_ sequence: UInt8, _ payload: [UInt8], session: UInt8 = 1) -> [UInt8] {
    Sheet.bytes(0x40, sequence, 0, session: session, payload)
  }

  @Test func anEventIsSmall() {
    // If events stored identifications inline, every event would be as large as an identification.
    #expect(MemoryLayout<PeerEvent>.stride <= 72)
  }

  private static let patterns: [[UInt8]] = [
    [0x40], [0x41], [0x40, 0], [0x40, 0x40, 0, 0], [0x40, 0x40, 0, 6, 0xFF, 0xFF], [0x40, 0x40, 0, 7, 0xFF, 0xFF],
  ]

  @Test(arguments: patterns)
  func aPacketFullOfMessagesOrTheirRuins(_ pattern: [UInt8]) {
    let payload = (0..<60_000).map { pattern[$0 % pattern.count] }
    var end = OneEnd.accessory()
    end.receives(bytes: packet(0x41, payload))
    expectFewEvents(&end, for: payload.count, "control session")
  }

  @Test func aReadFullOfPacketsForNobody() {
    var end = OneEnd.accessory()
    var bytes: [UInt8] = []
    for index in 0..<5_000 { bytes += packet(UInt8(truncatingIfNeeded: 0x41 + index), [0, 9, 1], session: 2) }
    end.receives(bytes: bytes)
    expectFewEvents(&end, for: bytes.count, "stray data")
  }

  @Test func aReadFullOfFalseBeginnings() {
    for pattern: [UInt8] in [[0xFF], [0xFF, 0x5A], [0xFF, 0x55], [0xFF, 0x55, 1], [0xFF, 0x5A, 0], [1, 0]] {
      var end = OneEnd.accessory()
      end.receives(bytes: (0..<60_000).map { pattern[$0 % pattern.count] })
      #expect(end.told().count <= 16)
    }
  }

  @Test func aReadFullOfDetection() {
    var end = OneEnd.listening()
    let answers = end.receives(bytes: (0..<60_000).map { Sheet.unhex(Sheet.detection)[$0 % 6] })
    // Each detection sequence is answered once, and no event is reported.
    #expect(answers.count == 10_000)
    #expect(end.told() == [])
  }

  @Test func aReadFullOfLinksThatBeginAnew() {
    var end = OneEnd.listening()
    var bytes: [UInt8] = []
    for index in 0..<2_000 {
      bytes += Sheet.bytes(0x80, UInt8(truncatingIfNeeded: index), 0, Sheet.unhex(Sheet.parameters()))
      bytes += Sheet.unhex(Sheet.detection)
    }
    end.receives(bytes: bytes)
    #expect(end.told().count <= 2_000)
  }

  /// Packets that arrive while earlier ones are missing are kept if their sequence numbers are within the window. Each
  /// packet is kept only once, even if it arrives several times.
  @Test func packetsAheadOfAGapAreBoundedByTheWindow() {
    var end = OneEnd.accessory { $0.parameters.maximumOutstandingPackets = 4 }
    for _ in 0..<100 {
      for sequence: UInt8 in 0x42...0x60 {
        end.receives(bytes: packet(sequence, [0x40, 0x40, 0, 6, 0, sequence]))
      }
    }
    #expect(end.told() == [])
    end.receives(bytes: packet(0x41, [0x40, 0x40, 0, 6, 0, 0x41]))
    #expect(end.told().count == 4)
  }

  /// If a message with a declared length of 65,535 bytes arrives byte by byte, only one copy of it is stored.
  @Test func aMessageThatNeverEndsIsBoundedByItsLength() {
    var end = OneEnd.accessory()
    end.receives(bytes: packet(0x41, [0x40, 0x40, 0xFF, 0xFF, 0, 1]))
    var sequence: UInt8 = 0x41
    for _ in 0..<700 {
      sequence &+= 1
      end.receives(bytes: packet(sequence, [UInt8](repeating: 0, count: 100)))
    }
    let told = end.told()
    #expect(told.contains { if case .message(let message) = $0 { message.body.count == 65_529 } else { false } })
  }

  /// A peer that sends requests without acknowledging gets a limited number of answers.
  @Test func answersThatAreNotAcknowledgedAreBounded() {
    var end = OneEnd.readyDevice()
    let answer = ControlMessage(.powerUpdate) { $0.blob(99, [UInt8](repeating: 1, count: 60)) }
    var sent = 0
    while sent < 1_000_000, end.peer.core.sendIfRoom(answer) { sent += 1 }
    #expect(sent * 60 <= PeerCore.answerLimit)
    #expect(sent * 100 >= PeerCore.answerLimit)
  }
}
