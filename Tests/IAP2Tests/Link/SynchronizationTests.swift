import IAP2
import Testing

@Suite struct SynchronizationTests {
  // MARK: The accessory

  @Test func theAcknowledgementOfSynAckRepeatsTheNumberOfTheSyn() {
    var end = OneEnd.detected { $0.initialSequence = 0x63 }
    #expect(
      end.receives(Sheet.packet(0xC0, 0x1D, 0x63, Sheet.parameters(window: 127))) == [Sheet.packet(0x40, 0x63, 0x1D)])
    #expect(end.told().count == 1)
    #expect(end.peer.core.deadline == nil)
  }

  @Test func anUnansweredSynEndsInDetectionAfterTheLimit() {
    var end = OneEnd.detected { $0.synchronizationLimit = 3 }
    let syn = Sheet.packet(0x80, 0, 0, Sheet.parameters())
    #expect(end.passes(3_000) == ["1000 \(syn)", "2000 \(syn)", "3000 \(Sheet.detection)"])
    #expect(end.told() == [.linkDown(.unsynchronized(attempts: 3))])
    #expect(LinkEnd.unsynchronized(attempts: 3).description == "no answer to 3 SYN packets")
    // The next attempt has a new sequence number.
    #expect(end.receives(Sheet.detection) == [Sheet.packet(0x80, 1, 0, Sheet.parameters())])
  }

  @Test func anAnswerToAnotherSynIsIgnored() {
    var end = OneEnd.detected { $0.initialSequence = 7 }
    #expect(end.receives(Sheet.packet(0xC0, 0x1D, 6, Sheet.parameters(window: 127))) == [])
    #expect(end.receives(Sheet.packet(0x80, 0x1D, 7, Sheet.parameters(window: 127))) == [])
    #expect(end.peer.core.isLinkUp == false)
  }

  @Test func dataBeforeTheAnswerToSynIsIgnored() {
    var end = OneEnd.detected()
    #expect(end.receives(Sheet.packet(0x40, 1, 0, session: 1, Sheet.message(0xAA00))) == [])
    #expect(end.told() == [])
  }

  @Test func aRepeatedSynAckIsAcknowledgedAgain() {
    var end = OneEnd.detected()
    let answer = Sheet.packet(0xC0, 0x1D, 0, Sheet.parameters(window: 127))
    #expect(end.receives(answer) == [Sheet.packet(0x40, 0, 0x1D)])
    #expect(end.receives(answer) == [Sheet.packet(0x40, 0, 0x1D)])
    #expect(end.told().count == 1)
  }

  /// A device that receives a late copy of the accessory's SYN assumes that the accessory has restarted. If the
  /// accessory did not answer, both sides would wait forever.
  @Test func anAnswerToOurSynWithAnotherNumberMeansThatTheDeviceBeganAnew() throws {
    var end = OneEnd.accessory(device: 0x40)
    #expect(end.receives(Sheet.packet(0xC0, 0x77, 0, Sheet.parameters(window: 127))) == [Sheet.detection])
    #expect(end.told() == [.linkDown(.restarted)])
  }

  @Test func adoptingTakesTheDevicesValues() throws {
    var end = OneEnd.detected()
    end.receives(
      Sheet.packet(0xC0, 0x1D, 0, Sheet.parameters(window: 9, length: 512, timeout: 100, hold: 30, repeats: 5, acks: 2))
    )
    let agreement = try #require(end.told().first?.agreement)
    #expect(agreement.peerMaximumOutstandingPackets == 9)
    #expect(agreement.peerMaximumPacketLength == 512)
    #expect(agreement.maximumPayload == 502)
    #expect(agreement.maximumOutstandingPackets == 32)
    #expect(agreement.maximumPacketLength == 65_535)
    #expect(agreement.retransmissionTimeout == 100)
    #expect(agreement.cumulativeAcknowledgementTimeout == 30)
    #expect(agreement.maximumRetransmissions == 5)
    #expect(agreement.maximumCumulativeAcknowledgements == 2)
    #expect(!agreement.isZeroAcknowledgement)
  }

  @Test func aStrictAccessoryOffersTheDevicesValuesBackUntilBothAgree() {
    var end = OneEnd.detected { $0.settling = .offerAgain }
    let others = Sheet.parameters(window: 127, timeout: 100, hold: 30, repeats: 5, acks: 2)
    #expect(
      end.receives(Sheet.packet(0xC0, 0x1D, 0, others))
        == [Sheet.packet(0xC0, 1, 0x1D, Sheet.parameters(timeout: 100, hold: 30, repeats: 5, acks: 2))])
    #expect(end.peer.core.isLinkUp == false)
    #expect(end.receives(Sheet.packet(0xC0, 0x1E, 1, others)) == [Sheet.packet(0x40, 1, 0x1E)])
    #expect(end.peer.core.isLinkUp == true)
  }

  @Test func aStrictAccessoryGivesInToADeviceThatNeverAgrees() {
    var end = OneEnd.detected { $0.settling = .offerAgain }
    var rounds = 0
    while end.peer.core.isLinkUp == false, rounds < 50 {
      rounds += 1
      end.receives(Sheet.packet(0xC0, UInt8(rounds), UInt8(rounds - 1), Sheet.parameters(timeout: 100 + rounds)))
    }
    #expect(rounds == 5)
  }

  @Test func onlyTheSessionsThatBothKnowSurvive() throws {
    var end = OneEnd.detected {
      $0.parameters.sessions = [
        LinkSession(id: 1, kind: .control), LinkSession(id: 2, kind: .externalAccessory),
        LinkSession(id: 3, kind: .fileTransfer),
      ]
    }
    end.receives(Sheet.packet(0xC0, 0x1D, 0, Sheet.parameters(window: 127, sessions: "010001 030101 090201")))
    let agreement = try #require(end.told().first?.agreement)
    #expect(agreement.sessions.map(\.id) == [1, 3])
    #expect(agreement.session(.externalAccessory) == nil)
  }

  /// Without a control session that both sides have, the link would be up but useless.
  @Test func aDeviceWithAnotherControlSessionCannotBeUsed() throws {
    var end = OneEnd.detected()
    let answer = Sheet.parameters(window: 127, sessions: "0a0001 020201")
    #expect(end.receives(Sheet.packet(0xC0, 0x1D, 0, answer)) == [])
    let error = try #require(end.told().first?.linkEnd?.unusable)
    #expect(error.bytes == Sheet.unhex(answer))
    #expect(error.description.contains("control session"))
    #expect(end.peer.core.isLinkUp == false)
  }

  // MARK: The device

  @Test func theDeviceAnnouncesItsOwnWindowAndLengthAndEchoesTheRest() {
    var end = OneEnd.listening { $0.link.initialSequence = 0x54 }
    let offer = Sheet.parameters(
      window: 5, length: 1024, timeout: 5000, hold: 255, repeats: 30, acks: 3, sessions: "0a0002 0b0201 0c0102")
    let answer = Sheet.parameters(
      window: 127, timeout: 5000, hold: 255, repeats: 30, acks: 3, sessions: "0a0002 0b0201 0c0102")
    #expect(end.receives(Sheet.packet(0x80, 9, 0x10, offer)) == [Sheet.packet(0xC0, 0x54, 9, answer)])
  }

  @Test func aDeviceMayInsistOnItsOwnRecoveryValues() {
    var end = OneEnd.listening {
      $0.link.deviceAnswer = .ownRecovery
      $0.link.parameters.retransmissionTimeout = 1_500
      $0.link.parameters.cumulativeAcknowledgementTimeout = 73
    }
    let answer = Sheet.parameters(window: 127, timeout: 1500, hold: 73)
    #expect(end.receives(Sheet.packet(0x80, 9, 0, Sheet.parameters())) == [Sheet.packet(0xC0, 0, 9, answer)])
    #expect(end.receives(Sheet.packet(0xC0, 10, 0, answer)) == [Sheet.packet(0xC0, 1, 10, answer)])
    #expect(end.receives(Sheet.packet(0x40, 10, 1)).count == 1)
    #expect(end.peer.core.isLinkUp == true)
  }

  @Test func theNumberOfTheBareAckIsNotJudged() {
    var end = OneEnd.listening()
    end.receives(Sheet.packet(0x80, 9, 0, Sheet.parameters()))
    // One known accessory sends bare acknowledgements with the next unsent sequence number.
    #expect(end.receives(Sheet.packet(0x40, 10, 0)).count == 1)
    #expect(end.peer.core.isLinkUp == true)
  }

  @Test func anAcknowledgementOfSomethingElseDoesNotCompleteTheAnswer() {
    var end = OneEnd.listening()
    end.receives(Sheet.packet(0x80, 9, 0, Sheet.parameters()))
    #expect(end.receives(Sheet.packet(0x40, 9, 1)) == [])
    #expect(end.receives(Sheet.packet(0x00, 9, 0)) == [])
    #expect(end.peer.core.isLinkUp == false)
  }

  @Test func dataThatAcknowledgesTheSynAckCompletesTheAnswerAndIsDelivered() {
    var end = OneEnd.listening()
    end.receives(Sheet.packet(0x80, 9, 0, Sheet.parameters()))
    _ = end.told()
    end.receives(Sheet.packet(0x40, 10, 0, session: 1, Sheet.message(0x4E01)))
    let told = end.told()
    #expect(told.count == 2)
    #expect(told.last == .message(ControlMessage(MessageID(rawValue: 0x4E01))))
  }

  @Test func anotherSynIsAnsweredWithAnotherNumber() {
    var end = OneEnd.listening()
    end.receives(Sheet.packet(0x80, 9, 0, Sheet.parameters()))
    #expect(
      end.receives(Sheet.packet(0x80, 10, 0, Sheet.parameters()))
        == [Sheet.packet(0xC0, 1, 10, Sheet.parameters(window: 127))])
  }

  @Test func anUnacknowledgedSynAckIsRepeatedUntilTheLimit() {
    var end = OneEnd.listening { $0.link.synchronizationLimit = 3 }
    end.receives(Sheet.packet(0x80, 9, 0, Sheet.parameters()))
    let answer = Sheet.packet(0xC0, 0, 9, Sheet.parameters(window: 127))
    #expect(end.passes(10_000) == ["1000 \(answer)", "2000 \(answer)", "3000 \(Sheet.packet(0x10, 0, 0))"])
    #expect(end.told() == [.linkDown(.unsynchronized(attempts: 3))])
    #expect(end.peer.core.deadline == nil)
  }

  /// Each repeated SYN restarts the device's own timer, so the device must also count the repetitions.
  @Test func anAccessoryThatRepeatsItsSynForEverIsGivenUp() {
    var end = OneEnd.listening()
    var ends: [PeerEvent] = []
    for _ in 0..<10 {
      let sent = end.receives(Sheet.packet(0x80, 9, 0, Sheet.parameters()))
      #expect(sent == [Sheet.packet(0xC0, 0, 9, Sheet.parameters(window: 127))])
      end.passes(999)
      ends += end.told()
    }
    #expect(end.receives(Sheet.packet(0x80, 9, 0, Sheet.parameters())) == [Sheet.packet(0x10, 0, 0)])
    ends += end.told()
    #expect(ends == [.linkDown(.unsynchronized(attempts: 10))])
  }

  @Test func aLateCopyOfTheSynDoesNotEndTheLinkThatItMade() {
    var end = OneEnd.device(accessory: 9)
    _ = end.told()
    #expect(end.receives(Sheet.packet(0x80, 9, 0, Sheet.parameters())) == [])
    #expect(end.peer.core.isLinkUp == true)
    #expect(end.told() == [])
  }

  @Test func aNewSynOnALiveLinkBeginsAnew() {
    var end = OneEnd.device(accessory: 9)
    _ = end.told()
    #expect(
      end.receives(Sheet.packet(0x80, 0x30, 0, Sheet.parameters()))
        == [Sheet.packet(0xC0, 2, 0x30, Sheet.parameters(window: 127))])
    #expect(end.told() == [.linkDown(.restarted)])
    #expect(end.receives(Sheet.packet(0x40, 0x30, 2)) == [Sheet.packet(0x40, 3, 0x30, session: 1, "40400006aa00")])
  }
}
