import IAP2
import Testing

/// Tests framing. The control session is a stream of messages, each of which contains its own length.
@Suite struct ControlSessionTests {
  private func packet(_ sequence: UInt8, _ payload: String) -> String {
    Sheet.packet(0x40, sequence, 0, session: 1, payload)
  }

  private func message(_ number: UInt16, _ body: String = "") -> PeerEvent {
    .message(ControlMessage(MessageID(rawValue: number), body: Sheet.unhex(body)))
  }

  @Test func severalMessagesInOnePacketAreAllTaken() {
    var end = OneEnd.accessory()
    end.receives(packet(0x41, Sheet.message(0x4155) + Sheet.message(0x4E0D, "00070000656e00") + Sheet.message(0x4E0E)))
    #expect(end.told() == [message(0x4155), message(0x4E0D, "00070000656e00"), message(0x4E0E)])
  }

  @Test func aMessageSplitOverPacketsIsPutTogetherWhereverItIsCut() {
    let bytes = Sheet.message(0x4E0D, "00070000656e00") + Sheet.message(0x4E0E)
    for cut in stride(from: 2, to: bytes.count, by: 2) {
      var end = OneEnd.accessory()
      end.receives(packet(0x41, String(bytes.prefix(cut))), packet(0x42, String(bytes.dropFirst(cut))))
      #expect(end.told() == [message(0x4E0D, "00070000656e00"), message(0x4E0E)], "cut at \(cut / 2)")
    }
  }

  // MARK: Stray bytes

  @Test func bytesThatBeginNoMessageAreShownAndSteppedOver() {
    var end = OneEnd.accessory()
    end.receives(packet(0x41, "c0ffee" + Sheet.message(0x4155)))
    #expect(
      end.told() == [
        .malformed("the control session carries 3 bytes that are not the beginning of a message: c0 ff ee"),
        message(0x4155),
      ])
  }

  @Test func aMessageThatSaysItIsShorterThanItsHeaderIsNone() {
    for length in 0...5 {
      var end = OneEnd.accessory()
      end.receives(packet(0x41, "4040000\(length)4155" + Sheet.message(0x4E0E)))
      #expect(
        end.told() == [
          .malformed(
            "the control session carries 6 bytes that are not the beginning of a message: 40 40 00 0\(length) 41 55"),
          message(0x4E0E),
        ])
    }
  }

  @Test func falseBeginningsAreSteppedOverTogether() {
    var end = OneEnd.accessory()
    // Many single bytes 40, or many pairs 40 40 with impossible lengths, cause one report rather than thousands.
    let noise = String(repeating: "4001", count: 500) + String(repeating: "40400000", count: 500)
    end.receives(packet(0x41, noise + Sheet.message(0x4E0E)))
    let told = end.told()
    #expect(told.count == 2)
    #expect(told.last == message(0x4E0E))
    guard case .malformed(let text)? = told.first else { return }
    #expect(
      text.hasPrefix("the control session carries 3000 bytes that are not the beginning of a message: 40 01 40 01"))
    #expect(text.count < 200)
  }

  @Test func whatWasLeftUnfinishedIsForgottenWithTheLink() {
    var end = OneEnd.accessory()
    end.receives(packet(0x41, "404000"))
    end.receives(Sheet.packet(0x10, 0x41, 0))
    end.receives(Sheet.packet(0xC0, 0x50, 1, Sheet.parameters(window: 127)))
    _ = end.told()
    end.receives(packet(0x51, Sheet.message(0x4155)))
    #expect(end.told() == [message(0x4155)])
  }

  // MARK: Unreadable messages

  @Test(arguments: [
    ("0005000001", "parameter 1 (session) is missing, at byte 0: (nothing)"),
    ("0005000001" + "0009000100", "a parameter claims 9 bytes, but only 5 are left, at byte 5: 00 09 00 01 00"),
    ("000500000100060001000100060001 0002", "parameter 1 (session) occurs twice, at byte 11: 00 02"),
    ("000600000001" + "000600010001", "parameter 0 has 2 bytes instead of 1, at byte 0: 00 01"),
  ])
  func aSessionRequestThatCannotBeReadIsShown(_ body: String, _ problem: String) {
    var end = OneEnd.accessory()
    end.receives(packet(0x41, Sheet.message(0xEA00, body)))
    end.receives(packet(0x42, Sheet.message(0x4155)))
    #expect(
      end.told() == [.malformed("EA00 StartExternalAccessoryProtocolSession: \(problem)"), message(0x4155)])
  }
}
