import IAP2
import Testing

/// Tests sessions from the side of the device, which opens sessions and chooses their numbers.
@Suite struct DeviceSessionTests {
  /// Creates a ready device that has opened session 1. The device's next packet is number 7, and the accessory's is
  /// number 4.
  private func opened(_ change: (inout DevicePeer.Settings) -> Void = { _ in }) -> OneEnd<DeviceRole> {
    var end = OneEnd.readyDevice(change)
    _ = end.peer.openSession(protocolNamed: "com.example.echo", now: end.now)
    end.says()
    return end
  }

  private func status(_ id: UInt16, _ value: UInt8, sequence: UInt8) -> String {
    Sheet.packet(0x40, sequence, 6, session: 1, Sheet.status(id, value))
  }

  @Test func aSessionIsOpenedByItsProtocolsNumberAndLiveAtOnce() {
    var end = OneEnd.readyDevice()
    #expect(end.peer.openSession(protocolNamed: "com.example.echo", now: end.now) == .link(1))
    #expect(end.says() == [Sheet.packet(0x40, 6, 3, session: 1, "40400011ea000005000001000600010001")])
    #expect(end.peer.core.isOpen(1) == true)
    #expect(end.writes(Array("hello".utf8), to: 1) == 5)
    #expect(end.says() == [Sheet.packet(0x40, 7, 3, session: 2, "000168656c6c6f")])
  }

  @Test func numbersGoUpFromTheFirstAndAreNotUsedTwice() {
    var end = OneEnd.readyDevice { $0.firstSession = 0xFFFE }
    let routes = (0..<4).map { _ in end.peer.openSession(protocolNamed: "com.example.echo", now: end.now) }
    #expect(routes == [.link(0xFFFE), .link(0xFFFF), .link(0), .link(1)])
    end.peer.core.closeSession(0xFFFF)
    #expect(end.peer.openSession(protocolNamed: "com.example.echo", now: end.now) == .link(2))
  }

  @Test func anUnknownProtocolOpensNothing() {
    var end = OneEnd.readyDevice()
    #expect(end.peer.openSession(protocolNamed: "com.example.other", now: end.now) == nil)
    #expect(end.says() == [])
  }

  @Test func aProtocolWithANativeTransportGoesBesideTheLink() {
    let native = Sheet.identification.replacing(
      Sheet.parameter(
        10, Sheet.parameter(0, "01") + Sheet.parameter(1, Sheet.text("com.example.echo")) + Sheet.parameter(2, "01")),
      with: Sheet.parameter(
        10, Sheet.parameter(0, "01") + Sheet.parameter(1, Sheet.text("com.example.echo")) + Sheet.parameter(3, "0000")))
    var end = OneEnd.readyDevice(identification: native)
    #expect(end.peer.openSession(protocolNamed: "com.example.echo", now: end.now) == .native(component: 0))
    // The device sends no EA00, so no session is opened on the link.
    #expect(end.says() == [])
  }

  /// A session that the link cannot carry is not opened, and the reason is reported.
  @Test func nothingOpensOnALinkWithoutASessionForIt() {
    var end = OneEnd.readyDevice(offer: Sheet.parameters(sessions: "010001"))
    #expect(end.peer.openSession(protocolNamed: "com.example.echo", now: end.now) == nil)
    #expect(end.says() == [])
    #expect(
      end.told() == [
        .malformed("com.example.echo cannot be opened: the accessory's SYN declares no External Accessory session")
      ])
  }

  @Test func closedBeforeAnythingCameIsRefused() {
    var end = opened()
    end.receives(status(1, 1, sequence: 4))
    #expect(end.told() == [.sessionEnded(1, .refused)])
  }

  @Test func closedAfterwardsIsClosed() {
    var confirmed = opened()
    confirmed.receives(status(1, 0, sequence: 4))
    confirmed.receives(status(1, 1, sequence: 5))
    #expect(confirmed.told() == [.sessionConfirmed(1), .sessionEnded(1, .closedByAccessory)])
    var used = opened()
    used.receives(Sheet.packet(0x40, 4, 6, session: 2, "000161"))
    used.receives(status(1, 1, sequence: 5))
    #expect(used.told() == [.sessionReadable(1), .sessionEnded(1, .closedByAccessory)])
    #expect(used.reads(1) == [0x61])
  }

  @Test func aStatusNobodyKnowsIsTold() {
    var end = opened()
    let short = Sheet.message(0xEA03, "0005000001" + "0005000100")
    end.receives(status(1, 2, sequence: 4), Sheet.packet(0x40, 5, 6, session: 1, short))
    let message = "EA03 StatusExternalAccessoryProtocolSession"
    #expect(
      end.told() == [
        .malformed("\(message) has status 2; the known values are 0 (OK) and 1 (close)"),
        .malformed("\(message): parameter 0 has 1 bytes instead of 2, at byte 0: 01"),
      ])
    #expect(end.peer.core.isOpen(1) == true)
  }

  @Test func theStatusOfASessionClosedMeanwhileIsNoMatter() {
    var end = opened()
    end.peer.core.closeSession(1)
    end.says()
    _ = end.told()
    end.receives(status(1, 0, sequence: 4), status(1, 1, sequence: 5))
    #expect(end.told() == [])
  }

  @Test func closingSaysSoAndMoreDataIsStray() {
    var end = opened()
    end.peer.core.closeSession(1)
    #expect(end.says() == [Sheet.packet(0x40, 7, 3, session: 1, "4040000cea01000600000001")])
    #expect(end.told() == [.sessionEnded(1, .closedByDevice)])
    end.receives(Sheet.packet(0x40, 4, 6, session: 2, "00016161"))
    #expect(end.told() == [.strayData(session: 1, bytes: 2)])
  }

  // MARK: Settling

  @Test func theFirstDataWaitsForTheSettlingTime() {
    var end = opened { $0.firstWriteDelay = 200 }
    #expect(end.writes([1, 2, 3], to: 1) == 0)
    #expect(end.passes(199) == [])
    #expect(end.told() == [])
    end.passes(1)
    #expect(end.told() == [.sessionWritable(1)])
    #expect(end.writes([1, 2, 3], to: 1) == 3)
    #expect(end.says().count == 1)
  }

  @Test func theFirstDataWaitsNoLongerThanForTheAccessorysConfirmation() {
    var end = opened { $0.firstWriteDelay = 10_000 }
    #expect(end.writes([1, 2, 3], to: 1) == 0)
    end.receives(Sheet.packet(0x40, 4, 6, session: 1, Sheet.status(1, 0)))
    #expect(Set(end.told().map { "\($0)" }) == ["sessionConfirmed(1)", "sessionWritable(1)"])
    #expect(end.writes([1, 2, 3], to: 1) == 3)
  }

  @Test func aSessionThatIsClosedWhileItSettlesLeavesNoDeadline() {
    var end = opened { $0.firstWriteDelay = 10_000 }
    end.receives(Sheet.packet(0x40, 4, 6, session: 1, Sheet.status(1, 1)))
    end.passes(5_000)
    #expect(end.peer.core.deadline == nil)
  }
}
