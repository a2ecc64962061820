import IAP2
import Testing

/// Tests sessions from the accessory's side. The device opens a session, and the accessory accepts it, refuses it or
/// does not answer.
@Suite struct AccessorySessionTests {
  private func start(_ id: UInt16, protocolID: UInt8 = 1, sequence: UInt8) -> String {
    Sheet.packet(0x40, sequence, 0, session: 1, Sheet.startSession(protocolID: protocolID, session: id))
  }

  private func stop(_ id: UInt16, sequence: UInt8) -> String {
    Sheet.packet(0x40, sequence, 0, session: 1, Sheet.stopSession(id))
  }

  private func data(_ id: UInt8, _ hex: String, sequence: UInt8) -> String {
    Sheet.packet(0x40, sequence, 0, session: 2, "00" + Sheet.hex([id]) + hex)
  }

  private func status(_ id: UInt16, _ value: UInt8, sequence: UInt8, ack: UInt8) -> String {
    Sheet.packet(0x40, sequence, ack, session: 1, Sheet.status(id, value))
  }

  @Test func anAcceptedSessionIsConfirmedOnlyWhereThatIsDeclared() {
    var end = OneEnd.accessory()
    end.receives(start(1, sequence: 0x41))
    #expect(end.told() == [.sessionRequested(id: 1, protocolID: 1)])
    #expect(end.peer.core.isOpen(1) == false)
    end.peer.acceptSession(1, reportingStatus: true)
    #expect(end.says() == [status(1, 0, sequence: 1, ack: 0x41)])
    #expect(end.peer.core.isOpen(1) == true)
    end.receives(start(2, sequence: 0x42))
    end.peer.acceptSession(2, reportingStatus: false)
    #expect(end.says() == [])
    #expect(end.peer.core.isOpen(2) == true)
  }

  @Test func aRefusalIsStatusOne() {
    var end = OneEnd.accessory()
    end.receives(start(0x0100, sequence: 0x41))
    end.peer.refuseSession(0x0100)
    #expect(end.says() == [status(0x0100, 1, sequence: 1, ack: 0x41)])
    #expect(end.peer.core.isOpen(0x0100) == false)
    // The status is sent only once.
    end.peer.refuseSession(0x0100)
    end.peer.acceptSession(0x0100, reportingStatus: true)
    #expect(end.says() == [])
  }

  @Test func silenceIsAnAnswerToo() {
    var end = OneEnd.accessory()
    end.receives(start(1, sequence: 0x41))
    end.peer.ignoreSession(1)
    _ = end.told()
    end.receives(data(1, "6162", sequence: 0x42))
    #expect(end.told() == [.strayData(session: 1, bytes: 2)])
    #expect(end.says() == [])
  }

  @Test func severalSessionsShareTheLinkAndAreToldApart() {
    var end = OneEnd.accessory()
    for (index, id) in [UInt16(1), 5, 7].enumerated() { end.opens(id, sequence: 0x41 + UInt8(index)) }
    end.receives(data(5, "6161", sequence: 0x44), data(1, "62", sequence: 0x45), data(5, "63", sequence: 0x46))
    #expect(end.told() == [.sessionReadable(5), .sessionReadable(1)])
    #expect(end.reads(5) == Array("aac".utf8))
    #expect(end.reads(1) == Array("b".utf8))
    #expect(end.reads(7) == [])
    #expect(end.writes([0x78], to: 7) == 1)
    #expect(end.says().contains(Sheet.packet(0x40, 1, 0x46, session: 2, "000778")))
  }

  @Test func dataRightBehindTheRequestWaitsForTheAnswer() {
    var end = OneEnd.accessory()
    end.receives(start(1, sequence: 0x41) + data(1, "68656c6c6f", sequence: 0x42))
    #expect(end.told() == [.sessionRequested(id: 1, protocolID: 1)])
    end.peer.acceptSession(1, reportingStatus: false)
    #expect(end.told() == [.sessionReadable(1)])
    #expect(end.reads(1) == Array("hello".utf8))
  }

  @Test func dataOfARefusedRequestIsToldAsDropped() {
    var end = OneEnd.accessory()
    end.receives(start(1, sequence: 0x41) + data(1, "68656c6c6f", sequence: 0x42))
    _ = end.told()
    end.peer.refuseSession(1)
    #expect(end.told() == [.strayData(session: 1, bytes: 5)])
  }

  /// If an app opens a session, writes and closes it in quick succession, everything can arrive in one read, before the
  /// accessory accepts the session.
  @Test func aSessionThatIsOverBeforeItIsAcceptedEndsLikeAnyOther() {
    var end = OneEnd.accessory()
    end.receives(start(1, sequence: 0x41) + data(1, "68656c6c6f", sequence: 0x42) + stop(1, sequence: 0x43))
    #expect(end.told() == [.sessionRequested(id: 1, protocolID: 1), .sessionEnded(1, .closedByDevice)])
    end.peer.acceptSession(1, reportingStatus: true)
    #expect(end.peer.core.isOpen(1) == false)
    // Bytes that had already arrived can still be read, but the end of the session is not reported.
    #expect(end.reads(1) == Array("hello".utf8))
    #expect(end.reads(1) == [])
    #expect(end.told() == [])
  }

  @Test func aRequestThatTheLinkTookAlongEndsWithIt() {
    var end = OneEnd.accessory()
    end.receives(start(1, sequence: 0x41))
    _ = end.told()
    end.receives(Sheet.packet(0x10, 0x41, 0))
    #expect(end.told() == [.sessionEnded(1, .linkDown(.reset)), .linkDown(.reset)])
    end.peer.acceptSession(1, reportingStatus: true)
    #expect(end.peer.core.isOpen(1) == false)
  }

  @Test func theDeviceClosesAndWhatHadArrivedCanStillBeRead() {
    var end = OneEnd.accessory()
    end.opens(1, sequence: 0x41)
    end.receives(data(1, "6162", sequence: 0x42) + stop(1, sequence: 0x43))
    #expect(end.told() == [.sessionReadable(1), .sessionEnded(1, .closedByDevice)])
    #expect(end.peer.core.isOpen(1) == false)
    #expect(end.writes([1], to: 1) == 0)
    #expect(end.reads(1) == [0x61, 0x62])
  }

  @Test func theAccessoryClosesByStatusOne() {
    var end = OneEnd.accessory()
    end.opens(1, sequence: 0x41)
    end.peer.core.closeSession(1)
    #expect(end.says() == [status(1, 1, sequence: 1, ack: 0x41)])
    #expect(end.told() == [.sessionEnded(1, .closedByAccessory)])
    end.peer.core.closeSession(1)
    #expect(end.says() == [])
    end.receives(data(1, "61", sequence: 0x42))
    #expect(end.told() == [.strayData(session: 1, bytes: 1)])
  }

  @Test func whatWasWrittenBeforeAnAccessoryClosesGoesOutBeforeIt() {
    var end = OneEnd.accessory(answer: Sheet.parameters(window: 1))
    end.opens(1, sequence: 0x41)
    end.passes(22)
    #expect(end.writes([1], to: 1) == 1)
    end.says()
    #expect(end.writes([2], to: 1) == 1)
    end.peer.core.closeSession(1)
    #expect(end.receives(Sheet.packet(0x40, 0x41, 1)) == [Sheet.packet(0x40, 2, 0x41, session: 2, "000102")])
    #expect(end.receives(Sheet.packet(0x40, 0x41, 2)) == [status(1, 1, sequence: 3, ack: 0x41)])
  }

  @Test func aNumberMayBeUsedAgain() {
    var end = OneEnd.accessory()
    end.opens(1, sequence: 0x41)
    end.receives(data(1, "6161", sequence: 0x42) + stop(1, sequence: 0x43))
    #expect(end.reads(1) == [0x61, 0x61])
    end.opens(1, sequence: 0x44)
    // Reading the old session's bytes late does not affect the number of unread bytes of the new session.
    end.peer.core.consume(100, of: 1)
    end.receives(data(1, "62", sequence: 0x45))
    #expect(end.told() == [.sessionReadable(1)])
    #expect(end.reads(1) == [0x62])
  }

  // MARK: Invalid requests

  @Test func askingForAnOpenSessionIsTold() {
    var end = OneEnd.accessory()
    end.opens(1, sequence: 0x41)
    end.receives(start(1, protocolID: 2, sequence: 0x42))
    #expect(
      end.told() == [
        .malformed("EA00 StartExternalAccessoryProtocolSession requests session 1, which is already open")
      ])
    #expect(end.peer.core.isOpen(1) == true)
  }

  @Test func closingASessionThatIsNotOpenIsTold() {
    var end = OneEnd.accessory()
    end.receives(stop(9, sequence: 0x41))
    #expect(
      end.told() == [
        .malformed("EA01 StopExternalAccessoryProtocolSession closes session 9, which is not open")
      ])
  }

  @Test func strayDataIsDroppedAndAcknowledged() {
    var end = OneEnd.accessory { $0.parameters.maximumCumulativeAcknowledgements = 1 }
    #expect(end.receives(data(9, "616263", sequence: 0x41)) == [Sheet.packet(0x40, 0, 0x41)])
    #expect(end.told() == [.strayData(session: 9, bytes: 3)])
  }

  @Test func dataWithoutASessionNumberIsShown() {
    var end = OneEnd.accessory()
    end.receives(Sheet.packet(0x40, 0x41, 0, session: 2, "7f"))
    #expect(end.told() == [.malformed("External Accessory data must begin with a session number of 2 bytes: 7f")])
  }

  @Test func dataThatIsNothingButASessionNumberIsNothing() {
    var end = OneEnd.accessory()
    end.opens(1, sequence: 0x41)
    end.receives(data(1, "", sequence: 0x42))
    #expect(end.told() == [])
  }

  /// A device may request an External Accessory session on a link whose SYN declares no session that could carry its
  /// data.
  @Test func aRequestOnALinkWithoutSuchASessionIsTold() {
    var end = OneEnd.accessory(answer: Sheet.parameters(window: 127, sessions: "010001"))
    end.receives(start(1, sequence: 0x41))
    #expect(
      end.told() == [
        .malformed(
          "EA00 StartExternalAccessoryProtocolSession requests session 1 on a link without an External Accessory "
            + "session"
        )
      ])
  }

  @Test func aDeviceCannotAskForSessionsWithoutEnd() {
    var end = OneEnd.accessory { $0.parameters.maximumCumulativeAcknowledgements = 1 }
    var sequence: UInt8 = 0x40
    for id in UInt16(1)...300 {
      sequence &+= 1
      end.receives(start(id, sequence: sequence))
    }
    let told = end.told()
    let requests = told.filter { if case .sessionRequested = $0 { true } else { false } }
    #expect(requests.count == 256)
    #expect(
      told.last
        == .malformed("EA00 StartExternalAccessoryProtocolSession requests more than 256 sessions at once"))
  }

  /// The ended sessions are never read. The device must still be able to open new sessions, and old sessions must not
  /// accumulate.
  @Test func sessionsThatNobodyCollectsDoNotBlockNewOnes() {
    var end = OneEnd.accessory { $0.parameters.maximumCumulativeAcknowledgements = 1 }
    var sequence: UInt8 = 0x40
    func next() -> UInt8 {
      sequence &+= 1
      return sequence
    }
    for id in UInt16(1)...600 {
      end.receives(start(id, sequence: next()))
      end.peer.acceptSession(id, reportingStatus: false)
      end.receives(Sheet.packet(0x40, next(), 0, session: 2, Sheet.hex([UInt8(id >> 8), UInt8(id & 255), 1])))
      end.receives(stop(id, sequence: next()))
      #expect(end.told().contains(.sessionEnded(id, .closedByDevice)))
    }
    // The latest session can still be read, but the first session was dropped long ago.
    #expect(end.reads(600) == [1])
    #expect(end.reads(1) == [])
  }
}
