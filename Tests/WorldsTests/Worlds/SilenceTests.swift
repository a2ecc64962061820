import AccessoryCables
import AccessoryCore
import AccessoryHost
import AccessoryProfiles
import AccessorySessions
import AccessorySimulator
import Certificates
import IAP2
import LinuxIO
import Testing

/// Tests what happens if either role falls silent in any phase. If one side is waiting for the other, the cable must be
/// closed, or the silence reported, within a time limit. A side may be silent for any length of time while the other
/// side is not waiting for it.
@Suite struct SilenceTests {
  enum End: String, CaseIterable {
    case accessory
    case device
  }

  enum Outcome {
    case closed
    /// The silence is reported, but the cable stays connected, because real devices do not disconnect silent
    /// accessories.
    case reported
    case nothing
  }

  struct Example: CustomStringConvertible, Sendable {
    let end: End
    let phase: PeerPhase
    var description: String { "\(end.rawValue) in \(phase)" }
  }

  /// Each side's phases. A device is never in the phase `stopped`, because it starts to listen again.
  static let examples = End.allCases.flatMap { end in
    PeerPhase.allCases.filter { end == .accessory || $0 != .stopped }.map { Example(end: end, phase: $0) }
  }

  static func outcome(_ example: Example) -> Outcome {
    switch (example.phase, example.end) {
    case (.stopped, _), (.detection, _), (.synchronization, _): .closed
    case (.authentication, .accessory), (.identification, .accessory), (.refused, .accessory): .closed
    case (.authentication, .device), (.identification, .device): .reported
    case (.owner, _), (.ready, _), (.refused, .device): .nothing
    }
  }

  /// Both ends of a cable that is not part of a world, with handshake timeouts. The cable can be cut without either
  /// side noticing.
  final class Rig {
    let loop = VirtualLoop()
    let device: Device
    let accessory: SimulatedAccessory
    let wire: Wire
    let port = HandPort()
    private let log = Log()
    var texts: [String] { log.texts }

    final class Log {
      var texts: [String] = []
    }

    /// Both ends of a line. Once the line has been cut, neither side notices anything that the other does, not even
    /// when it closes.
    struct Wire {
      let ends: [SeverableChannel]
      func sever() { for end in ends { end.sever() } }
      func close() { ends[1].close() }
    }

    final class HandPort: Port {
      let place = "the test's port"
      var onEvent: ((PortEvent) -> Void)?
      func open(_ onEvent: @escaping (PortEvent) -> Void) { self.onEvent = onEvent }
      func close() { onEvent = nil }
    }

    init(
      quirk: String? = nil, refuses: Bool = false, isDedicated: Bool = false,
      handshakeTimeouts: HandshakeTimeouts = HandshakeTimeouts(),
      adjust: (inout DeviceSettings) -> Void = { _ in }
    ) throws {
      let log = log
      var settings = DeviceSettings(authenticator: StubAuthenticator(seed: 1))
      adjust(&settings)
      device = Device(settings: settings, on: loop) { log.add($0) }
      var profile = try ProfileLibrary().profile("echo")
      if let quirk { profile.apply(try Quirk(quirk)) }
      accessory = SimulatedAccessory(
        profile, at: port, authenticator: StubAuthenticator(seed: 1), on: loop, handshakeTimeouts: handshakeTimeouts
      ) { log.add($0) }
      let pair = LoopbackChannel.makePair(on: loop, latency: .milliseconds(10))
      let ends = [SeverableChannel(around: pair.left, on: loop), SeverableChannel(around: pair.right, on: loop)]
      wire = Wire(ends: ends)
      try accessory.plugIn()
      let (left, right) = (Cable(main: wire.ends[0]), Cable(main: wire.ends[1]))
      port.onEvent?(.cable(isDedicated ? left.dedicated : left, from: "the test"))
      device.plugIn(isDedicated ? right.dedicated : right, at: "the test", refusesSignatures: refuses)
    }

    func phase(of end: End) -> PeerPhase? {
      end == .accessory ? accessory.phase : device.phases.first
    }
  }

  func rig(for example: Example) throws -> Rig {
    switch (example.phase, example.end) {
    case (.stopped, _): try Rig { $0.peer.link.refusesDetection = true }
    case (.owner, _): try Rig(quirk: "authentication,never")
    case (.refused, _): try Rig(refuses: true)
    case (.detection, _), (.synchronization, _), (.authentication, _), (.identification, _), (.ready, _): try Rig()
    }
  }

  @Test(arguments: examples) func noPeerIsWaitedForWithoutEnd(_ example: Example) throws {
    let rig = try rig(for: example)
    #expect(
      try rig.loop.run(until: { rig.phase(of: example.end) == example.phase }, limit: .seconds(60)),
      "the phase is reached")
    let outcome = Self.outcome(example)
    // Bytes in transit arrive first, so the line is idle when it is cut.
    if outcome == .nothing { try rig.loop.advance(by: .seconds(5)) }
    rig.wire.sever()
    // Twice the longest limit, plus the time after which a link gives up.
    try rig.loop.advance(by: HandshakeTimeouts.usual * 20 + .seconds(120))
    switch outcome {
    case .closed:
      #expect(rig.phase(of: example.end) == nil)
      #expect(
        rig.texts.contains {
          $0.hasPrefix("closed the cable: the \(example.end == .accessory ? "device" : "accessory") did not")
        })
    case .reported:
      #expect(rig.texts.contains { $0.contains("never answered") } || rig.phase(of: example.end) == nil)
    case .nothing:
      #expect(rig.phase(of: example.end) == example.phase)
    }
  }

  @Test(arguments: PeerPhase.allCases) func aLimitOfAPhaseIsItsOwnSetting(_ phase: PeerPhase) {
    var handshakeTimeouts = HandshakeTimeouts.unlimited
    switch phase {
    case .detection, .stopped: handshakeTimeouts.detection = .seconds(7)
    case .synchronization: handshakeTimeouts.link = .seconds(7)
    case .authentication: handshakeTimeouts.authentication = .seconds(7)
    case .identification: handshakeTimeouts.identification = .seconds(7)
    case .refused: handshakeTimeouts.refusal = .seconds(7)
    case .owner, .ready: handshakeTimeouts = HandshakeTimeouts(.seconds(7))
    }
    let isLimited = ![.owner, .ready].contains(phase)
    #expect(handshakeTimeouts.limit(of: phase) == (isLimited ? .seconds(7) : nil))
    #expect(HandshakeTimeouts.unlimited.limit(of: phase) == nil)
  }

  @Test func aDeviceThatNeverSpeaksIsSentAwayAndTheNextOneIsServed() throws {
    let rig = try Rig()
    rig.wire.sever()
    try rig.loop.advance(by: HandshakeTimeouts.usual - .milliseconds(1))
    #expect(rig.accessory.phase == .detection)
    let second = LoopbackChannel.makePair(on: rig.loop)
    rig.port.onEvent?(.cable(Cable(main: second.left), from: "a second device"))
    #expect(rig.texts.last == "refused a second device: another device is already connected")
    try rig.loop.advance(by: .milliseconds(1))
    #expect(rig.accessory.phase == nil)
    #expect(rig.texts.contains("closed the cable: the device did not take part in detection within 30s"))
    let third = LoopbackChannel.makePair(on: rig.loop)
    rig.port.onEvent?(.cable(Cable(main: third.left), from: "a third device"))
    rig.device.plugIn(Cable(main: third.right), at: "the test")
    #expect(try rig.loop.run(until: { rig.accessory.phase == .ready }, limit: .seconds(5)))
  }

  @Test func aDeviceThatHasRefusedTheAccessoryAndStaysIsSentAwayAfterAWhile() throws {
    let rig = try Rig(refuses: true)
    #expect(try rig.loop.run(until: { rig.accessory.phase == .refused }, limit: .seconds(60)))
    try rig.loop.advance(by: HandshakeTimeouts.usual * 10 - .seconds(1))
    #expect(rig.accessory.phase == .refused)
    try rig.loop.advance(by: .seconds(1))
    #expect(rig.accessory.phase == nil)
    #expect(rig.texts.contains("closed the cable: the device did not leave after its refusal within 5m"))
  }

  @Test func aDeviceThatOnlyKeepsTheLinkUpIsSentAway() throws {
    let rig = try Rig()
    rig.wire.close()
    try rig.loop.advance(by: .seconds(1))
    let pair = LoopbackChannel.makePair(on: rig.loop)
    rig.port.onEvent?(.cable(Cable(main: pair.left), from: "one that never challenges"))
    let mute = MuteOwner()
    let connection = Connection(peer: DevicePeer(), cable: Cable(main: pair.right), on: rig.loop)
    connection.start(mute)
    #expect(try rig.loop.run(until: { mute.hasCertificate }, limit: .seconds(5)))
    #expect(rig.accessory.phase == .authentication)
    let start = rig.loop.now
    #expect(try rig.loop.run(until: { rig.accessory.phase == nil }, limit: .seconds(60)))
    #expect(rig.loop.now - start <= HandshakeTimeouts.usual)
    #expect(rig.texts.contains("closed the cable: the device did not finish authentication within 30s"))
  }

  @Test func answeringDetectionAgainAndAgainBuysNoTime() throws {
    let rig = try Rig()
    // The accessory's SYNs are lost, so it starts over after ten of them, and the device answers detection again.
    let pair = LoopbackChannel.makePair(on: rig.loop)
    rig.wire.sever()
    try rig.loop.advance(by: .seconds(60))
    let answerer = DetectionAnswerer(pair.right)
    rig.port.onEvent?(.cable(Cable(main: pair.left), from: "one that knows detection alone"))
    let start = rig.loop.now
    #expect(try rig.loop.run(until: { answerer.end != nil }, limit: .seconds(600)))
    #expect(rig.loop.now - start <= HandshakeTimeouts.usual + HandshakeTimeouts.usual)
    #expect(answerer.answers > 1)
  }

  @Test(arguments: [true, false]) func betweenFixedEndsOrWithoutHandshakeTimeoutsSilenceHasNoLimit(
    isDedicated: Bool
  ) throws {
    let rig = try Rig(isDedicated: isDedicated, handshakeTimeouts: isDedicated ? HandshakeTimeouts() : .unlimited)
    rig.wire.sever()
    try rig.loop.advance(by: .seconds(3_600))
    #expect(rig.accessory.phase == .detection && rig.device.phases == (isDedicated ? [.detection] : []))
  }

  /// Commands set this limit, so that a link that is not established in time counts as a refusal.
  @Test func aDeviceCanLimitFixedEndsToo() throws {
    let rig = try Rig(isDedicated: true) { settings in
      settings.handshakeTimeouts.detection = .seconds(2)
      settings.handshakeTimeouts.coversDedicated = true
    }
    rig.wire.sever()
    try rig.loop.advance(by: .seconds(3))
    #expect(rig.device.phases == [])
    let sentence = "the link never came up: the accessory did not take part in detection within 2s"
    #expect(rig.texts.contains(sentence))
  }

  @Test func noiseIsReportedAtMostTenTimesInTenSeconds() throws {
    let rig = try Rig()
    try rig.loop.advance(by: .seconds(1))
    let pair = LoopbackChannel.makePair(on: rig.loop)
    rig.wire.close()
    try rig.loop.advance(by: .seconds(1))
    rig.port.onEvent?(.cable(Cable(main: pair.left), from: "one that makes noise"))
    let noise = [UInt8](repeating: 0x41, count: 4_096)
    pair.right.start(DetectionAnswerer(nil))
    for _ in 0..<500 {
      #expect(pair.right.send(noise.span.bytes) == noise.count)
      try rig.loop.advance(by: .milliseconds(1))
    }
    try rig.loop.advance(by: .seconds(11))
    #expect(rig.texts.filter { $0.contains("belong to no packet") }.count == ReportLimit.most)
    let counts = rig.texts.filter { $0.hasPrefix("and ") }
    #expect(
      counts.count == 1 && counts[0].contains("more warnings about bytes and messages from the other end in the last"))
  }
}

extension SilenceTests.Rig.Log {
  func add(_ event: TimelineEvent) {
    switch event.kind {
    case .warning(let text), .note(let text), .detach(let text): texts.append(text)
    case .refused(let refusal): texts.append(refusal.sentence)
    default: break
    }
  }
}

private final class MuteOwner: ConnectionOwner {
  private(set) var hasCertificate = false

  func connectionTold(_ event: PeerEvent) { if case .certificateReceived = event { hasCertificate = true } }
  func connectionSessionEnded(_ session: Session, _ end: SessionEnd) {}
  func connectionEnded(_ end: ChannelEnd) {}
}

private final class DetectionAnswerer: ChannelHandler {
  private(set) var answers = 0
  private(set) var end: ChannelEnd?

  init(_ channel: (any Channel)?) { channel?.start(self) }

  func channel(_ channel: any Channel, received bytes: RawSpan) {
    guard bytes.withUnsafeBytes({ Array($0) }).starts(with: [0xFF, 0x55]) else { return }
    answers += 1
    let detection: [UInt8] = [0xFF, 0x55, 0x02, 0x00, 0xEE, 0x10]
    _ = channel.send(detection.span.bytes)
  }
  func channelIsWritable(_ channel: any Channel) {}
  func channel(_ channel: any Channel, endedWith end: ChannelEnd) { self.end = end }
}
