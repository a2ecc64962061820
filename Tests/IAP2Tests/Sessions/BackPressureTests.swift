import IAP2
import Testing

/// An unread session's packets are no longer acknowledged. The accessory ends the unread session, but no other session,
/// before the device gives up on the link.
@Suite struct BackPressureTests {
  /// Returns an accessory that acknowledges each packet and has sessions 1 and 2 open. The device's next packet is
  /// number 43 (hex). The device retransmits a packet up to 4 times, once per second. The device gives up after 4 s,
  /// and 3 s is three quarters of that time.
  private func accessory(bound: Int = 10) -> OneEnd<AccessoryRole> {
    var end = OneEnd.accessory {
      $0.sessionReceiveBound = bound
      $0.parameters = LinkParameters(
        retransmissionTimeout: 1_000, maximumRetransmissions: 4, maximumCumulativeAcknowledgements: 1)
    }
    end.opens(1, sequence: 0x41)
    end.opens(2, sequence: 0x42)
    return end
  }

  private func data(_ id: UInt8, _ count: Int, sequence: UInt8) -> String {
    Sheet.packet(0x40, sequence, 0, session: 2, "00" + Sheet.hex([id] + [UInt8](repeating: id, count: count)))
  }

  private func ack(_ number: UInt8, sequence: UInt8 = 0) -> String { Sheet.packet(0x40, sequence, number) }

  @Test func acknowledgementsStopAtTheBoundAndGoOnWhenItIsRead() {
    var end = accessory()
    #expect(end.receives(data(1, 9, sequence: 0x43)) == [ack(0x43)])
    #expect(end.receives(data(1, 1, sequence: 0x44)) == [ack(0x44)])
    #expect(end.receives(data(1, 1, sequence: 0x45)) == [])
    #expect(end.receives(data(2, 1, sequence: 0x46)) == [])
    #expect(end.told() == [.sessionReadable(1), .sessionReadable(2)])
    #expect(end.reads(1).count == 11)
    #expect(end.says() == [ack(0x46)])
    #expect(end.peer.core.deadline == nil)
    #expect(end.receives(data(1, 1, sequence: 0x47)) == [ack(0x47)])
  }

  /// If a session is read immediately, the device must not have to wait for a timeout.
  @Test func theAcknowledgementOfThePacketThatFillsASessionIsNotLost() {
    var end = OneEnd.accessory { $0.sessionReceiveBound = 10 }
    end.opens(1, sequence: 0x41)
    end.passes(22)
    // After the first of three packets, the acknowledgement waits for a timer. Although the packet fills the session,
    // the acknowledgement must not be delayed any further.
    let filled = end.receives(data(1, 10, sequence: 0x42))
    #expect(end.reads(1).count == 10)
    let rest = end.says() + end.passes(100)
    #expect((filled + rest).contains { $0.hasSuffix(ack(0x42)) })
    #expect(end.peer.core.deadline == nil)
  }

  @Test func bytesHandedOverCountUntilTheReaderIsDoneWithThem() {
    var end = accessory()
    end.receives(data(1, 10, sequence: 0x43))
    var inbox: [UInt8] = []
    end.peer.core.takeInbox(1, &inbox)
    #expect(inbox.count == 10)
    #expect(end.receives(data(1, 1, sequence: 0x44)) == [])
    end.peer.core.consume(1, of: 1)
    #expect(end.says() == [])
    end.peer.core.consume(1, of: 1)
    #expect(end.says() == [ack(0x44)])
  }

  @Test func dataOnTheWayBackDoesNotAcknowledgeWhatIsHeld() {
    var end = accessory()
    end.receives(data(1, 10, sequence: 0x43), data(2, 1, sequence: 0x44))
    #expect(end.writes([9], to: 2) == 1)
    #expect(end.says() == [Sheet.packet(0x40, 1, 0x43, session: 2, "000209")])
    #expect(end.reads(1).count == 10)
    #expect(end.says() == [ack(0x44, sequence: 1)])
  }

  @Test func repetitionsOfWhatIsHeldAreNotAcknowledgedAndOfWhatWasBeforeAre() {
    var end = accessory()
    end.receives(data(1, 10, sequence: 0x43), data(2, 1, sequence: 0x44))
    _ = end.told()
    #expect(end.receives(data(2, 1, sequence: 0x44)) == [])
    // This packet has already been acknowledged, so the acknowledgement must have been lost.
    #expect(end.receives(data(1, 10, sequence: 0x43)) == [ack(0x43)])
    #expect(end.told() == [])
  }

  @Test func aSleepingSessionIsEndedWithItsBytesAndItsNeighboursGoOn() {
    var end = accessory()
    end.receives(data(1, 10, sequence: 0x43), data(1, 3, sequence: 0x44), data(2, 1, sequence: 0x45))
    _ = end.told()
    #expect(end.peer.core.deadline == .milliseconds(3_000))
    #expect(end.passes(2_999) == [])
    // The packet that reports the end of the session to the device also acknowledges everything.
    #expect(end.passes(1) == ["3000 \(Sheet.packet(0x40, 1, 0x45, session: 1, Sheet.status(1, 1)))"])
    #expect(end.told() == [.sessionEnded(1, .notRead(bytes: 13))])
    #expect(SessionEnd.notRead(bytes: 13).description == "13 received bytes were never read")
    #expect(end.peer.core.isOpen(2) == true)
    end.receives(Sheet.packet(0x40, 0x45, 1))
    #expect(end.peer.core.deadline == nil)
    #expect(end.receives(data(2, 1, sequence: 0x46)) == [ack(0x46, sequence: 1)])
    #expect(end.reads(1).count == 13)
    #expect(end.reads(2).count == 2)
  }

  @Test func everySleepingSessionIsEndedAtOnce() {
    var end = accessory()
    end.receives(data(1, 10, sequence: 0x43), data(2, 12, sequence: 0x44))
    _ = end.told()
    end.passes(3_000)
    #expect(end.told() == [.sessionEnded(1, .notRead(bytes: 10)), .sessionEnded(2, .notRead(bytes: 12))])
    #expect(end.peer.core.deadline != .milliseconds(3_000))
  }

  /// Each session has its own time limit, so a session that fills late is not ended together with one that has never
  /// been read. When a session is ended, everything received so far is acknowledged, so the device's time limit starts
  /// again.
  @Test func aSessionThatFilledLaterHasItsOwnTime() {
    var end = accessory()
    end.receives(data(1, 10, sequence: 0x43))
    end.passes(2_500)
    end.receives(data(2, 10, sequence: 0x44))
    _ = end.told()
    #expect(end.passes(500) == ["3000 \(Sheet.packet(0x40, 1, 0x44, session: 1, Sheet.status(1, 1)))"])
    #expect(end.told() == [.sessionEnded(1, .notRead(bytes: 10))])
    #expect(end.receives(Sheet.packet(0x40, 0x44, 1)) == [])
    #expect(end.receives(data(2, 1, sequence: 0x45)) == [])
    #expect(end.peer.core.deadline == .milliseconds(5_500))
    #expect(end.reads(2).count == 11)
    #expect(end.says() == [ack(0x45, sequence: 1)])
    #expect(end.peer.core.isOpen(2) == true)
  }

  @Test func aReaderThatWakesLeavesASleeperItsTime() {
    var end = accessory()
    end.receives(data(1, 10, sequence: 0x43))
    end.passes(2_500)
    end.receives(data(2, 10, sequence: 0x44))
    #expect(end.reads(1).count == 10)
    // The first session has been read again, so its bytes are acknowledged. Everything after them is not acknowledged,
    // because the second session is still full.
    #expect(end.says() == [ack(0x44)])
    #expect(end.receives(data(1, 1, sequence: 0x45)) == [])
    #expect(end.peer.core.deadline == .milliseconds(5_500))
    _ = end.told()
    end.passes(3_000)
    #expect(end.told() == [.sessionEnded(2, .notRead(bytes: 10))])
  }

  /// Reading one session does not keep alive another session that is never read. Packets beyond twice the unread
  /// session's limit are never acknowledged, so they would end the link.
  @Test func aSleeperIsEndedInItsTimeWhateverItsNeighboursDo() {
    var end = accessory()
    end.receives(data(1, 10, sequence: 0x43))
    for round: UInt8 in 0..<5 {
      end.passes(500)
      end.receives(data(2, 10, sequence: 0x44 + round))
      #expect(end.reads(2).count == 10)
      end.says()
    }
    _ = end.told()
    end.passes(500)
    #expect(end.told() == [.sessionEnded(1, .notRead(bytes: 10))])
  }

  @Test func beyondTwiceTheBoundPacketsAreDroppedAsIfLost() {
    var end = accessory()
    end.receives(data(1, 10, sequence: 0x43), data(1, 10, sequence: 0x44))
    #expect(end.receives(data(1, 1, sequence: 0x45)) == [])
    #expect(end.peer.core.counters.refused == 1)
    // A later packet, for another session, arrives out of order and is kept.
    #expect(end.receives(data(2, 1, sequence: 0x46)) == [])
    #expect(end.reads(1).count == 20)
    #expect(end.says() == [ack(0x44)])
    // The retransmitted packet is accepted, and then the other session's packet is delivered.
    #expect(end.receives(data(1, 1, sequence: 0x45)) == [ack(0x46)])
    #expect(end.reads(1).count == 1)
    #expect(end.reads(2).count == 1)
  }

  @Test func aPacketOfAFullSessionAheadOfAGapIsNotKept() {
    var end = accessory()
    end.receives(data(1, 10, sequence: 0x43), data(1, 10, sequence: 0x44))
    end.receives(data(1, 5, sequence: 0x46), data(2, 5, sequence: 0x47))
    #expect(end.reads(1).count == 20)
    end.says()
    #expect(end.receives(data(1, 1, sequence: 0x45)) == [ack(0x45)])
    #expect(end.reads(1).count == 1)
    #expect(end.receives(data(1, 5, sequence: 0x46)) == [ack(0x47)])
    #expect(end.reads(2).count == 5)
  }

  /// On a link without acknowledgements, only pausing the cable slows the other side down.
  @Test func withoutAcknowledgementsTheCableIsNotReadUntilTheSessionIs() {
    var end = silent(bound: 10)
    end.receives(data(1, 9, sequence: 0x42))
    #expect(end.peer.core.wantsCablePaused == false)
    #expect(end.receives(data(1, 4, sequence: 0x43)) == [])
    #expect(end.told() == [.sessionReadable(1)])
    #expect(end.peer.core.wantsCablePaused == true)
    #expect(end.reads(1).count == 13)
    #expect(end.peer.core.wantsCablePaused == false)
    #expect(end.peer.core.deadline == nil)
    #expect(end.peer.core.isOpen(1) == true)
  }

  @Test func withoutAcknowledgementsASessionThatIsNeverReadEndsAfterTenSeconds() {
    var end = silent(bound: 10)
    end.receives(data(1, 13, sequence: 0x42))
    _ = end.told()
    #expect(end.passes(9_999) == [])
    #expect(end.passes(1) == ["10000 \(Sheet.packet(0x40, 1, 0x42, session: 1, Sheet.status(1, 1)))"])
    #expect(end.told() == [.sessionEnded(1, .notRead(bytes: 13))])
    #expect(end.peer.core.wantsCablePaused == false)
    #expect(end.reads(1).count == 13)
  }

  /// Returns an accessory on a link without acknowledgements that has session 1 open. The device's next packet is
  /// number 42 (hex).
  private func silent(bound: Int) -> OneEnd<AccessoryRole> {
    var end = OneEnd.accessory {
      $0.sessionReceiveBound = bound
      $0.parameters = LinkParameters().withoutAcknowledgements
    }
    end.opens(1, sequence: 0x41)
    return end
  }

  @Test func theDeviceEndsASleepingSessionByItsOwnMessage() {
    var end = OneEnd.readyDevice(offer: Sheet.parameters(timeout: 1_000, repeats: 4, acks: 1)) {
      $0.link.sessionReceiveBound = 10
    }
    #expect(end.peer.openSession(protocolNamed: "com.example.echo", now: end.now) == .link(1))
    end.says()
    end.receives(Sheet.packet(0x40, 4, 6, session: 2, "0001" + String(repeating: "aa", count: 10)))
    _ = end.told()
    #expect(end.passes(3_000) == ["3000 \(Sheet.packet(0x40, 7, 4, session: 1, Sheet.stopSession(1)))"])
    #expect(end.told() == [.sessionEnded(1, .notRead(bytes: 10))])
  }

  /// A session that has been neither accepted nor refused must not exhaust memory.
  @Test func aRequestNobodyAnswersIsBoundedLikeASession() {
    var end = accessory()
    end.receives(Sheet.packet(0x40, 0x43, 0, session: 1, Sheet.startSession(protocolID: 1, session: 3)))
    end.receives(data(3, 10, sequence: 0x44))
    #expect(end.receives(data(2, 1, sequence: 0x45)) == [])
    _ = end.told()
    end.passes(3_000)
    #expect(end.told() == [.sessionEnded(3, .notRead(bytes: 10))])
    end.peer.acceptSession(3, reportingStatus: true)
    #expect(end.peer.core.isOpen(3) == false)
  }

  /// Each peer reads only one of two sessions. The link survives, and the session that is read completes.
  @Test func aSleepingNeighbourCostsTimeAndNothingElse() {
    var settings = LinkSettings()
    settings.sessionReceiveBound = 2_000
    settings.parameters = LinkParameters(
      maximumOutstandingPackets: 4, maximumPacketLength: 512, retransmissionTimeout: 1_000, maximumRetransmissions: 4)
    var wire = Wire(accessory: settings)
    wire.start()
    #expect(wire.device.openSession(protocolNamed: "com.example.echo", now: wire.now) == .link(1))
    #expect(wire.device.openSession(protocolNamed: "com.example.echo", now: wire.now) == .link(2))
    let asleep = [UInt8](repeating: 1, count: 10_000)
    let work = (0..<5_000).map { UInt8($0 % 251) }
    #expect(wire.device.core.write(asleep.span.bytes, to: 1) == 10_000)
    #expect(wire.device.core.write(work.span.bytes, to: 2) == 5_000)
    var done: [UInt8] = []
    for _ in 0..<200 {
      wire.settle()
      var inbox: [UInt8] = []
      wire.accessory.core.takeInbox(2, &inbox)
      wire.accessory.core.consume(inbox.count, of: 2)
      done += inbox
      if done.count == work.count || !wire.step() { break }
    }
    #expect(done == work)
    #expect(wire.device.core.isLinkUp == true)
    let ends = wire.deviceEvents.filter { if case .sessionEnded = $0 { true } else { false } }
    #expect(ends == [.sessionEnded(1, .refused)] || ends == [.sessionEnded(1, .closedByAccessory)])
    #expect(wire.accessoryEvents.contains { if case .sessionEnded(1, .notRead) = $0 { true } else { false } })
  }
}
