import IAP2
import Testing

/// Checks that no more is sent than the peer has announced it can receive, and that small writes share packets within
/// these limits.
@Suite struct WindowTests {
  private func accessory(window: Int = 127, length: Int = 65_535, bound: Int = 1 << 20) -> OneEnd<AccessoryRole> {
    var end = OneEnd.accessory(answer: Sheet.parameters(window: window, length: length)) { $0.sessionSendBound = bound }
    end.opens(1, sequence: 0x41)
    end.passes(22)
    return end
  }

  private func bytes(_ count: Int) -> [UInt8] { (0..<count).map { UInt8($0 % 251) } }

  private func data(_ sequence: UInt8, _ bytes: [UInt8], ack: UInt8 = 0x41) -> String {
    Sheet.packet(0x40, sequence, ack, session: 2, "0001" + Sheet.hex(bytes))
  }

  @Test func noMorePacketsAreInFlightThanThePeerCanTake() {
    var end = accessory(window: 3, length: 24)
    #expect(end.writes(bytes(120), to: 1) == 120)
    // A packet has 24 bytes. Framing takes 10, and the session's number takes 2, which leaves 12 for data.
    let all = bytes(120)
    let expected = [data(1, Array(all[0..<12])), data(2, Array(all[12..<24])), data(3, Array(all[24..<36]))]
    #expect(end.says() == expected)
    #expect(end.receives(Sheet.packet(0x40, 0x41, 1)) == [data(4, Array(bytes(120)[36..<48]))])
    #expect(end.receives(Sheet.packet(0x40, 0x41, 4)).count == 3)
    #expect(end.receives(Sheet.packet(0x40, 0x41, 7)).count == 3)
    #expect(end.receives(Sheet.packet(0x40, 0x41, 10)) == [])
    #expect(end.peer.core.deadline == nil)
    #expect(end.peer.core.counters.windowStalls > 0)
  }

  @Test func smallWritesThatWaitShareAPacketUpToThePeersLength() {
    var end = accessory(window: 1, length: 34)
    #expect(end.writes(bytes(1), to: 1) == 1)
    #expect(end.says().count == 1)
    for byte in bytes(50) { #expect(end.writes([byte], to: 1) == 1) }
    var packets: [String] = []
    for sequence: UInt8 in 1...3 { packets += end.receives(Sheet.packet(0x40, 0x41, sequence)) }
    #expect(
      packets == [
        data(2, Array(bytes(50)[0..<22])), data(3, Array(bytes(50)[22..<44])), data(4, Array(bytes(50)[44..<50])),
      ])
    #expect(packets.allSatisfy { $0.count / 2 <= 34 })
  }

  @Test func whatWasSentOnceIsNeverAddedTo() {
    var end = accessory(window: 127, length: 34)
    #expect(end.writes([1, 2, 3], to: 1) == 3)
    let first = end.says()
    #expect(end.writes([4], to: 1) == 1)
    #expect(end.says() == [data(2, [4])])
    #expect(end.passes(2_000).first == "2022 \(first[0])")
  }

  @Test func writesOfDifferentSessionsDoNotShareAPacket() {
    var end = accessory(window: 1)
    end.opens(2, sequence: 0x42)
    end.passes(22)
    #expect(end.writes([0], to: 1) == 1)
    end.says()
    #expect(end.writes([1], to: 1) == 1)
    #expect(end.writes([2], to: 2) == 1)
    #expect(end.writes([3], to: 1) == 1)
    #expect(end.receives(Sheet.packet(0x40, 0x42, 1)) == [data(2, [1], ack: 0x42)])
    #expect(
      end.receives(Sheet.packet(0x40, 0x42, 2)) == [Sheet.packet(0x40, 3, 0x42, session: 2, "000202")])
    #expect(end.receives(Sheet.packet(0x40, 0x42, 3)) == [data(4, [3], ack: 0x42)])
  }

  @Test func aWriteTakesWhatTheBoundAllowsHoweverItIsCut() {
    var end = accessory(window: 1, length: 34, bound: 100)
    #expect(end.writes([0], to: 1) == 1)
    end.says()
    var taken = 1
    for _ in 0..<200 { taken += end.writes([1], to: 1) }
    #expect(taken == 100)
    #expect(end.peer.core.unacknowledged(1) == 100)
    #expect(end.writes(bytes(10), to: 1) == 0)
  }

  @Test func theCountOfUnacknowledgedBytesComesBackToZero() {
    var end = accessory(window: 2, length: 34, bound: 1_000)
    var sent = 0
    for count in 1...20 { sent += end.writes(bytes(count), to: 1) }
    #expect(end.peer.core.unacknowledged(1) == sent)
    for sequence: UInt8 in 1...40 { end.receives(Sheet.packet(0x40, 0x41, sequence)) }
    #expect(end.peer.core.unacknowledged(1) == 0)
    #expect(end.peer.core.deadline == nil)
  }

  @Test func aWriterIsToldOfRoomAtHalfTheBound() {
    var end = accessory(window: 127, length: 34, bound: 88)
    #expect(end.writes(bytes(200), to: 1) == 88)
    #expect(end.says().count == 4)
    end.receives(Sheet.packet(0x40, 0x41, 1))
    #expect(end.told() == [])
    end.receives(Sheet.packet(0x40, 0x41, 2))
    #expect(end.told() == [.sessionWritable(1)])
    end.receives(Sheet.packet(0x40, 0x41, 4))
    #expect(end.told() == [])
  }

  @Test func theLongestPacketThereIs() {
    var end = accessory()
    #expect(end.writes(bytes(70_000), to: 1) == 70_000)
    let packets = end.says()
    #expect(packets.count == 2)
    #expect(packets[0].hasPrefix("ff5affff4001410225"))
    #expect(packets[0] == data(1, Array(bytes(70_000)[..<65_523])))
    #expect(packets[1] == data(2, Array(bytes(70_000)[65_523...])))
  }

  @Test func aControlMessageThatDoesNotFitGoesInSeveralPackets() {
    var end = accessory(length: 24)
    end.peer.core.send(ControlMessage(.deviceLanguageUpdate) { $0.text(0, "abcd") })
    let message = Sheet.message(0x4E0A, "00090000 6162636400")
    #expect(
      end.says() == [
        Sheet.packet(0x40, 1, 0x41, session: 1, String(message.prefix(28))),
        Sheet.packet(0x40, 2, 0x41, session: 1, String(message.dropFirst(28))),
      ])
    #expect(end.told() == [])
  }

  /// A coprocessor's certificate is at least 607 bytes long. A device that accepts only 64-byte packets still receives
  /// it.
  @Test(arguments: [24, 626]) func aCertificateReachesADeviceThatTakesShortPackets(_ length: Int) {
    var settings = DevicePeer.Settings()
    settings.link.parameters.maximumPacketLength = UInt16(length)
    var wire = Wire(device: settings)
    wire.start()
    #expect(wire.device.isReady == true)
  }

  @Test(arguments: [24, 48]) func aChallengeReachesAnAccessoryThatTakesShortPackets(_ length: Int) {
    var settings = LinkSettings()
    settings.parameters.maximumPacketLength = UInt16(length)
    var wire = Wire(accessory: settings)
    wire.start()
    #expect(wire.device.isReady == true)
  }
}
