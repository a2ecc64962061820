import AccessoryCore
import AccessoryHost
import AccessoryProfiles
import AccessorySessions
import AccessorySimulator
import AccessoryWorlds
import IAP2
import LinuxIO
import TestSupport
import Testing

/// Tests sessions on native transport. Apps and accessories use such sessions in the same way as sessions on the link.
@Suite struct NativeTransportTests {
  static let frames = NativeTransportRig.frames
  static let tenK = (0..<10_240).map { UInt8(truncatingIfNeeded: $0) }

  @Test func bytesGoBesideTheLinkAndComeBack() throws {
    let rig = try NativeTransportRig()
    let stream = try rig.open()
    #expect(stream.write(Self.tenK) == Self.tenK.count)
    try rig.pass(.seconds(1))
    #expect(stream.received == Self.tenK)
    #expect(stream.session.unacknowledged == 0)
    stream.session.close()
    try rig.pass(.seconds(1))
    let all = "(10240 read, 10240 written)"
    #expect(rig.sessions(.device) == ["open 0 \(Self.frames)", "close 0 \(Self.frames): the device closed it \(all)"])
    #expect(rig.sessions(.accessory) == rig.sessions(.device))
    #expect(!rig.world.transcript.contains { $0.contains("session=1 EA0") || $0.contains("session=2") })
    let side = rig.world.transcript.filter { $0.contains(" SIDE ") }.map { $0.split(separator: " ", maxSplits: 1)[1] }
    #expect(
      side == [
        "D SIDE com.example.camera.frames 10240 bytes 00 01 02 03 04 05 06 07 …",
        "A SIDE com.example.camera.frames 10240 bytes 00 01 02 03 04 05 06 07 …",
        "D closed SIDE com.example.camera.frames",
      ])
  }

  @Test func aSessionOverTheLinkGoesOnBesideIt() throws {
    let rig = try NativeTransportRig()
    let (native, linked) = (try rig.open(), try rig.open(NativeTransportRig.control))
    native.write(Self.tenK)
    linked.write([1, 2, 3])
    try rig.pass(.seconds(1))
    #expect(native.received == Self.tenK && linked.received == [1, 2, 3])
    #expect(linked.session.id == 1 && linked.session.hasAcknowledgements && !native.session.hasAcknowledgements)
    native.session.close()
    try rig.pass(.seconds(1))
    #expect(linked.session.isOpen)
  }

  @Test func itIsOpenedAgainInTheVeryTurnThatClosesIt() throws {
    let rig = try NativeTransportRig()
    let first = try rig.open()
    first.write([1])
    first.session.close()
    let second = try rig.open()
    second.write([2])
    try rig.pass(.seconds(1))
    #expect(first.received == [] && first.end == .closedByDevice)
    #expect(second.received == [2] && second.session.isOpen, "nothing of the first comes out of the second")
  }

  @Test func aSideChannelCarriesOneSessionAtATime() throws {
    var rules = AppSettings()
    rules.rules.ignoreInfoPlist()
    let rig = try NativeTransportRig()
    let stream = try rig.open()
    let other = rig.world.device.makeApp(rig, settings: rules)
    let seen = try #require(other.accessories.first)
    #expect(
      throws: AppSessionError.refused(.noNativeChannel(protocolName: Self.frames, .inUse)),
      performing: { try other.openSession(with: seen, protocolName: Self.frames) })
    #expect(stream.session.isOpen)
  }

  // MARK: Ends

  @Test func theAccessoryClosesIt() throws {
    let rig = try NativeTransportRig(quirks: ["session,close,delay=100ms"])
    let stream = try rig.open()
    stream.write([7])
    try rig.pass(.seconds(1))
    #expect(stream.end == .closedByAccessory && stream.received == [7])
    #expect(stream.write([1]) == 0)
    #expect(
      rig.sessions(.accessory).last == "close 0 \(Self.frames): the accessory closed it (1 read, 1 written)")
  }

  @Test func aSessionThatIsRefusedEndsAndOneThatIsIgnoredStays() throws {
    let refusing = try NativeTransportRig(quirks: ["session,refuse,times=1"])
    let refused = try refusing.open()
    try refusing.pass(.seconds(1))
    #expect(refused.end == .refused)
    #expect(refusing.sessions(.accessory) == [])
    let second = try refusing.open()
    second.write([1])
    try refusing.pass(.seconds(1))
    #expect(second.received == [1])

    let ignoring = try NativeTransportRig(quirks: ["session,ignore"])
    let ignored = try ignoring.open()
    var taken = 0
    while case let count = ignored.write(Self.tenK), count > 0 { taken += count }
    try ignoring.pass(.seconds(100))
    #expect(ignored.end == nil && taken > 10_240 && ignored.session.unacknowledged == taken)
    ignoring.camera.unplug()
    try ignoring.pass(.seconds(1))
    #expect(ignored.end != nil)
  }

  @Test(arguments: [false, true]) func theCableGoesWithTheSession(isPulled: Bool) throws {
    let rig = try NativeTransportRig()
    let stream = try rig.open()
    stream.write(Self.tenK)
    if isPulled { rig.world.pull(rig.camera) } else { rig.camera.unplug() }
    try rig.pass(.seconds(5))
    guard case .channelEnded = stream.end else {
      Issue.record("the session ended with \(String(describing: stream.end))")
      return
    }
    #expect(rig.world.device.cableCount == 0)
    #expect(stream.session.unacknowledged == Self.tenK.count, "none of it had arrived")
    let closings = [TimelineEvent.Side.accessory, .device].map { rig.sessions($0).count { $0.hasPrefix("close") } }
    #expect(closings[1] == 1 && closings[0] == rig.sessions(.accessory).count - closings[0])
  }

  @Test func aDeviceThatIsLeftBelievingSendsOnAndNothingArrives() throws {
    let rig = try NativeTransportRig()
    let stream = try rig.open()
    rig.world.pull(rig.camera, unnoticed: true)
    #expect(stream.write(Self.tenK) == Self.tenK.count)
    try rig.pass(.milliseconds(100))
    #expect(stream.end == nil && stream.received == [])
  }

  @Test func aLinkThatIsResetTakesThemDownToo() throws {
    let rig = try NativeTransportRig()
    let stream = try rig.open()
    try rig.pass(.milliseconds(100))
    rig.world.device.resetLinks(serial: "EW8-0001")
    try rig.pass(.seconds(2))
    #expect(stream.end != nil)
    let again = try rig.open()
    again.write([5])
    try rig.pass(.seconds(1))
    #expect(again.received == [5])
  }

  @Test(arguments: [false, true]) func nothingIsLeftOfASession(isClosed: Bool) throws {
    weak var session: Session?
    weak var stream: Stream?
    do {
      let rig = try NativeTransportRig()
      let opened = try rig.open()
      (session, stream) = (opened.session, opened)
      opened.write(Self.tenK)
      if isClosed { opened.session.close() }
      rig.world.tearDown()
      try rig.loop.runUntilQuiet()
      #expect(rig.loop.nextDeadline == nil)
    }
    #expect(session == nil && stream == nil)
  }

  // MARK: Back-pressure

  @Test func aReaderThatSleepsHoldsBackItsOwnSessionAlone() throws {
    let rig = try NativeTransportRig()
    let (asleep, linked) = (try rig.open(), try rig.open(NativeTransportRig.control))
    asleep.reads = false
    var written = 0
    for _ in 0..<1_000 {
      written += asleep.write(Self.tenK)
      try rig.pass(.milliseconds(10))
    }
    // When two inboxes, both directions of the cable and the buffer of the waiting echo are full, no more bytes are
    // accepted.
    #expect((200_000...2_000_000).contains(written))
    let taken = written
    #expect(asleep.write(Self.tenK) == 0)
    linked.write([1])
    try rig.pass(.seconds(60))
    #expect(linked.received == [1], "nobody else waits")
    #expect(asleep.end == nil)
    asleep.reads = true
    asleep.readAll()
    try rig.pass(.seconds(1))
    #expect(asleep.received.count == taken && asleep.roomCalls > 0)
    #expect(asleep.received.indices.allSatisfy { asleep.received[$0] == UInt8(truncatingIfNeeded: $0 % 10_240) })
  }

  // MARK: Oddities

  @Test func stalenessAndFaultsAreAsOnEveryChannel() throws {
    let stale = try NativeTransportRig(quirks: ["stale-bytes,count=4"])
    let first = try stale.open()
    first.write([1, 2, 3, 4, 5, 6])
    try stale.pass(.seconds(1))
    first.session.close()
    let second = try stale.open()
    try stale.pass(.seconds(1))
    #expect(second.received == [3, 4, 5, 6])

    let lossy = try NativeTransportRig(faults: ["loss,chance=100%,in,after=3s"])
    let stream = try lossy.open()
    stream.write([1])
    try lossy.pass(.seconds(4))
    stream.write([2])
    try lossy.pass(.milliseconds(100))
    #expect(stream.received == [1], "a transfer is what gets lost")
  }

  @Test func quirksOfSessionsActOnNativeTransportToo() throws {
    let pieces = try NativeTransportRig(quirks: [
      "reply-chunking,split,size=100,gap=1ms", "fails-after-first-transaction",
    ])
    let stream = try pieces.open()
    stream.write(Self.tenK)
    try pieces.pass(.seconds(5))
    #expect(stream.received == Self.tenK)
    stream.write([1])
    try pieces.pass(.seconds(5))
    #expect(stream.received == Self.tenK && stream.end == nil)

    let small = try NativeTransportRig(quirks: ["drops-beyond,bytes=5", "ends-sessions,min=2s,max=2s"])
    let short = try small.open()
    short.write([1, 2, 3, 4, 5, 6, 7])
    try small.pass(.seconds(1))
    #expect(short.received == [1, 2, 3, 4, 5])
    try small.pass(.seconds(2))
    #expect(short.end == .closedByAccessory)

    let wedged = try NativeTransportRig(quirks: ["wedges-after,opens=1"])
    let silent = try wedged.open()
    silent.write([1])
    try wedged.pass(.seconds(5))
    #expect(silent.received == [] && silent.end == nil)
  }

  @Test func aCutBehindBytesOfTheSessionPullsTheCable() throws {
    let rig = try NativeTransportRig(faults: ["cut,bytes=5000,out"])
    let stream = try rig.open()
    stream.write(Self.tenK)
    try rig.pass(.seconds(1))
    #expect(rig.world.device.cableCount == 0 && !rig.camera.isAttached)
    guard case .channelEnded = stream.end else {
      Issue.record("the session ended with \(String(describing: stream.end))")
      return
    }
    #expect(rig.world.events.contains { if case .fault = $0.kind { true } else { false } })
  }

  @Test func aDeviceThatOpensWhatIsNotOfferedIsTurnedAway() throws {
    // During the first half of a flicker no protocols are offered, even if the USB descriptors declare some.
    let port = try PairPort(accessoryHasNativeChannels: true, deviceHasNativeChannels: true)
    let side = try #require(try port.nativeChannels?.open("com.example.camera.audio"))
    let recorder = ChannelRecorder()
    side.start(recorder)
    try port.loop.advance(by: .seconds(1))
    #expect(recorder.end == .closedByPeer)
    #expect(
      port.warnings.last
        == "the device opened the native transport of com.example.camera.audio, which is not offered: refused")
    port.unplug()
  }

  // MARK: Cables without native channels

  @Test func whereACableHasNoSidesTheLinkCarriesThemAndAWarningSaysSo() throws {
    let port = try PairPort(accessoryHasNativeChannels: false, deviceHasNativeChannels: false)
    #expect(
      port.warnings == [
        "com.example.camera.frames: sessions use the link instead of native transport, because this cable has no "
          + "native channels"
      ])
    let stream = Stream(try port.open())
    stream.write(Self.tenK)
    try port.loop.advance(by: .seconds(1))
    #expect(stream.received == Self.tenK && stream.session.hasAcknowledgements)
    port.unplug()
  }

  @Test func aHostOnACableWithoutSidesRefusesWithTheReason() throws {
    let port = try PairPort(accessoryHasNativeChannels: true, deviceHasNativeChannels: false)
    do {
      _ = try port.open()
      Issue.record("it was opened")
    } catch let error as AppSessionError {
      #expect(
        "\(error)".contains(
          "com.example.camera.frames uses native transport instead of the link, and this cable has no native "
            + "channels"
        ))
    }
    port.unplug()
  }
}
