import IAP2
import Testing

/// Tests RST and SLP, which only a device sends.
@Suite struct ResetAndSleepTests {
  @Test func aResetBringsTheAccessoryBackToSynWithAFreshNumber() {
    var end = OneEnd.accessory()
    end.peer.core.send(ControlMessage(MessageID(rawValue: 0x4E01)))
    #expect(end.says().count == 1)
    // The SYN had sequence number 0, and the message had number 1, so the next SYN has number 2.
    #expect(end.receives(Sheet.packet(0x10, 0x40, 0)) == [Sheet.packet(0x80, 2, 0, Sheet.parameters())])
    #expect(end.told() == [.linkDown(.reset)])
    #expect(
      end.receives(Sheet.packet(0xC0, 0x50, 2, Sheet.parameters(window: 127))) == [Sheet.packet(0x40, 2, 0x50)])
    #expect(end.told().count == 1)
  }

  /// Some devices answer every SYN with a reset, as Apple devices do if the control session has the number 0. The
  /// accessory must not retry as fast as the wire allows.
  @Test func aDeviceThatResetsEachSynIsAskedOncePerPeriodAndThenGivenUp() {
    var end = OneEnd.detected { $0.synchronizationLimit = 3 }
    #expect(end.receives(Sheet.packet(0x10, 0x40, 0)) == [])
    #expect(end.told() == [.linkDown(.reset)])
    #expect(end.passes(1_000) == ["1000 \(Sheet.packet(0x80, 1, 0, Sheet.parameters()))"])
    #expect(end.receives(Sheet.packet(0x10, 0x40, 0)) == [])
    #expect(end.passes(1_000) == ["2000 \(Sheet.packet(0x80, 2, 0, Sheet.parameters()))"])
    #expect(end.receives(Sheet.packet(0x10, 0x40, 0)) == [])
    #expect(end.passes(1_000) == ["3000 \(Sheet.detection)"])
    #expect(end.told().last == .linkDown(.unsynchronized(attempts: 3)))
  }

  @Test func aResetBeforeTheDeviceIsDetectedIsIgnored() {
    var end = OneEnd(AccessoryPeer(identification: .example))
    end.start()
    #expect(end.receives(Sheet.packet(0x10, 0x40, 0)) == [])
    #expect(end.told() == [])
    #expect(end.peer.core.deadline == .milliseconds(1_000))
  }

  @Test func sleepSilencesTheAccessoryUntilItIsStartedAgain() {
    var end = OneEnd.accessory()
    #expect(end.receives(Sheet.packet(0x08, 0x40, 0)) == [])
    #expect(end.told() == [.linkDown(.asleep)])
    #expect(end.peer.core.deadline == nil)
    #expect(end.receives(Sheet.detection, Sheet.packet(0xC0, 0x40, 0, Sheet.parameters())) == [])
    #expect(end.start() == [Sheet.detection])
  }

  @Test func aDeviceThatResetListensAgain() {
    var end = OneEnd.readyDevice()
    #expect(end.peer.openSession(protocolNamed: "com.example.echo", now: end.now) == .link(1))
    end.says()
    end.peer.resetLink(now: end.now)
    #expect(end.says() == [Sheet.packet(0x10, 6, 3)])
    #expect(end.told() == [.sessionEnded(1, .linkDown(.reset))])
    #expect(end.peer.isReady == false)
    #expect(end.peer.core.deadline == nil)
    #expect(end.receives(Sheet.packet(0x80, 4, 0, Sheet.parameters())).count == 1)
  }

  @Test func nothingCanBeSentAfterAResetAndNothingTraps() {
    var end = OneEnd.readyDevice()
    #expect(end.peer.openSession(protocolNamed: "com.example.echo", now: end.now) == .link(1))
    end.says()
    end.peer.resetLink(now: end.now)
    end.peer.core.send(ControlMessage(.deviceLanguageUpdate) { $0.text(0, "en") })
    end.peer.core.closeSession(1)
    #expect(end.writes([1], to: 1) == 0)
    #expect(end.peer.openSession(protocolNamed: "com.example.echo", now: end.now) == nil)
    end.peer.challenge([1], now: end.now)
    end.peer.concludeAuthentication(accepted: true, now: end.now)
    #expect(end.says() == [Sheet.packet(0x10, 6, 3)])
  }

  @Test func resettingALinkThatWasNeverStartedDoesNothing() {
    var end = OneEnd(DevicePeer())
    end.peer.resetLink(now: end.now)
    #expect(end.says() == [])
    #expect(end.start() == [])
    #expect(end.receives(Sheet.detection) == [Sheet.detection])
  }

  @Test func aResetGoesOutBeforeTheAnswerToAProbeBehindIt() {
    var end = OneEnd.device()
    end.peer.resetLink(now: end.now)
    let bytes = Sheet.unhex(Sheet.detection)
    end.peer.receive(bytes.span.bytes, now: end.now)
    #expect(end.says() == [Sheet.packet(0x10, 1, 0), Sheet.detection])
  }

  @Test func whatWasNotAcknowledgedIsForgottenWithTheLink() {
    var end = OneEnd.accessory()
    end.opens(1, sequence: 0x41)
    #expect(end.writes([UInt8](repeating: 1, count: 1_000), to: 1) == 1_000)
    #expect(end.peer.core.unacknowledged(1) == 1_000)
    end.peer.stop("unplugged")
    #expect(end.peer.core.unacknowledged(1) == 0)
    #expect(end.says() == [])
    #expect(end.told() == [.sessionEnded(1, .channelEnded("unplugged"))])
  }

  /// One manufacturer's hosts end the link when an accessory sends a reset. easim's device ignores the reset but
  /// reports it.
  @Test(arguments: [(UInt8(0x10), LinkEnd.reset), (0x08, .asleep)])
  func aResetOrSleepFromTheAccessoryIsReportedAndIgnored(_ control: UInt8, _ end: LinkEnd) {
    var device = OneEnd.device()
    _ = device.told()
    device.receives(Sheet.packet(control, 0, 0))
    #expect(device.told() == [.strayEnd(end)])
    #expect(device.peer.core.isLinkUp == true)
  }
}
