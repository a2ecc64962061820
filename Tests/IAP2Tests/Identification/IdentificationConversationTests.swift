import IAP2
import Testing

/// Tests the exchange of messages in identification: when it is requested, accepted, refused once or twice, updated,
/// withdrawn, or never answered.
@Suite struct IdentificationConversationTests {
  private static let refusable = Sheet.identification.replacing(
    Sheet.parameter(3, Sheet.text("0001")), with: Sheet.parameter(3, Sheet.text(" ")))

  private func asking(_ change: (inout DevicePeer.Settings) -> Void = { _ in }) -> OneEnd<DeviceRole> {
    var end = OneEnd.device {
      $0.order = .identificationFirst
      change(&$0)
    }
    _ = end.told()
    return end
  }

  private func says(_ sequence: UInt8, _ message: UInt16, _ body: String = "", ack: UInt8 = 1) -> String {
    Sheet.packet(0x40, sequence, ack, session: 1, Sheet.message(message, body))
  }

  // MARK: The device

  @Test func anAcceptedIdentificationIsToldAndAnswered() {
    var end = asking()
    let answer = end.receives(says(1, 0x1D01, Sheet.identification))
    // The device answers with 1D02, immediately followed by AA00.
    #expect(
      answer == [
        Sheet.packet(0x40, 2, 1, session: 1, "404000061d02"), Sheet.packet(0x40, 3, 1, session: 1, "40400006aa00"),
      ])
    guard case .identified(let judged)? = end.told().first else {
      Issue.record("the identification is told")
      return
    }
    #expect(judged.identification == .example)
    #expect(judged.verdict.isAccepted)
    #expect(end.peer.identification == .example)
    #expect(end.peer.isReady == false)
  }

  @Test func aRefusedOneIsAnsweredWithWhatIsWrongAndMayComeAgain() {
    var end = asking()
    #expect(
      end.receives(says(1, 0x1D01, Self.refusable)) == [Sheet.packet(0x40, 2, 1, session: 1, "4040000a1d0300040003")])
    #expect(end.peer.identification == nil)
    #expect(
      end.receives(says(2, 0x1D01, Sheet.identification, ack: 2)).first
        == Sheet.packet(0x40, 3, 2, session: 1, "404000061d02"))
    #expect(end.peer.identification == .example)
  }

  @Test func afterTheSecondRefusalTheDeviceStopsListening() {
    var end = asking()
    end.receives(says(1, 0x1D01, Self.refusable))
    #expect(
      end.receives(says(2, 0x1D01, Self.refusable, ack: 2)) == [
        Sheet.packet(0x40, 3, 2, session: 1, "4040000a1d0300040003")
      ])
    _ = end.told()
    end.receives(says(3, 0x1D01, Sheet.identification, ack: 3))
    #expect(end.told() == [.malformed("1D01 IdentificationInformation arrived unrequested")])
    #expect(end.peer.isReady == false)
    #expect(end.passes(22).count == 1)
    #expect(end.peer.core.deadline == nil)
  }

  @Test func anAccessoryThatNeverIdentifiesIsToldOnce() {
    var end = asking { $0.answerTimeout = 5_000 }
    end.receives(Sheet.packet(0x40, 0, 1))
    #expect(end.peer.core.deadline == .milliseconds(5_000))
    end.passes(5_000)
    #expect(end.told() == [.answerTimedOut(.identification)])
    #expect(end.peer.core.deadline == nil)
    // An identification that arrives late is still accepted.
    end.receives(says(1, 0x1D01, Sheet.identification))
    #expect(end.peer.identification == .example)
  }

  @Test func aRefusedAccessoryThatNeverTriesAgainIsToldToo() {
    var end = asking { $0.answerTimeout = 5_000 }
    end.passes(4_000)
    end.receives(says(1, 0x1D01, Self.refusable))
    end.receives(Sheet.packet(0x40, 1, 2))
    _ = end.told()
    end.passes(4_999)
    #expect(end.told() == [])
    end.passes(1)
    #expect(end.told() == [.answerTimedOut(.identification)])
  }

  @Test func anUpdateChangesNamesAndVersionsAndNothingElse() {
    var end = asking()
    end.receives(says(1, 0x1D01, Sheet.identification))
    _ = end.told()
    end.receives(
      says(
        2, 0x1D06,
        Sheet.parameter(0, Sheet.text("New")) + Sheet.parameter(4, Sheet.text("2"))
          + Sheet.parameter(6, Sheet.text("de"))))
    var expected = Identification.example
    expected.name = "New"
    expected.firmwareVersion = "2"
    expected.currentLanguage = "de"
    #expect(end.told() == [.identificationUpdated(expected)])
    #expect(end.peer.identification == expected)
  }

  @Test func anUpdateThatCannotBeReadChangesNothing() {
    var end = asking()
    end.receives(says(1, 0x1D01, Sheet.identification))
    _ = end.told()
    end.receives(says(2, 0x1D06, Sheet.parameter(0, Sheet.text("New")) + Sheet.parameter(1, "ff00")))
    #expect(
      end.told() == [
        .malformed("1D06 IdentificationInformationUpdate: parameter 1 is not UTF-8, at byte 8: ff 00")
      ])
    #expect(end.peer.identification == .example)
  }

  @Test func anUpdateBeforeTheIdentificationIsNotTaken() {
    var end = asking()
    end.receives(says(1, 0x1D06, Sheet.parameter(0, Sheet.text("New"))))
    #expect(
      end.told() == [
        .malformed("1D06 IdentificationInformationUpdate arrived before the identification was accepted")
      ])
  }

  @Test func takingAnIdentificationBackIsTold() {
    var end = asking()
    end.receives(says(1, 0x1D05))
    #expect(end.told() == [.identificationCancelled])
  }

  // MARK: The accessory

  @Test func theAccessoryIdentifiesWheneverItIsAsked() {
    var end = OneEnd.accessory()
    for sequence: UInt8 in 1...2 {
      let answer = end.receives(Sheet.packet(0x40, 0x40 + sequence, 0, session: 1, "404000061d00"))
      #expect(
        answer == [
          Sheet.packet(0x40, sequence, 0x40 + sequence, session: 1, Sheet.message(0x1D01, Sheet.identification))
        ])
      #expect(end.told() == [.identificationSent])
    }
  }

  @Test func anAccessoryMayKeepItsOwnerWaitingOrForEver() {
    var end = OneEnd.accessory()
    end.peer.identifiesAtOnce = false
    #expect(end.receives(Sheet.packet(0x40, 0x41, 0, session: 1, "404000061d00")) == [])
    #expect(end.told() == [.identificationRequested])
    end.peer.identify(as: .example)
    #expect(end.says().count == 1)
    #expect(end.told() == [.identificationSent])
  }

  @Test func acceptanceAndRefusalAreTold() {
    var end = OneEnd.accessory()
    end.receives(Sheet.packet(0x40, 0x41, 0, session: 1, "404000061d02"))
    end.receives(Sheet.packet(0x40, 0x42, 0, session: 1, "4040000e1d030004000300040007"))
    end.receives(Sheet.packet(0x40, 0x43, 0, session: 1, "40400014 1d03 00080006ea00ae01 00060006aa00"))
    #expect(
      end.told() == [
        .identificationAccepted, .identificationRejected([3: [], 7: []]),
        .identificationRejected([6: [.startExternalAccessorySession, .powerUpdate, .requestAuthenticationCertificate]]),
      ])
  }
}
