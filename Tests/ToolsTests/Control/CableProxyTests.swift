import AccessoryCables
import AccessoryCore
import AccessoryFormats
import AccessoryProfiles
import AccessorySessions
import AccessorySimulator
import AccessoryWorlds
import LinuxIO
import TestSupport
import Testing

@testable import AccessoryControl

@Suite struct CableProxyTests {
  @Test func authenticationAndIdentificationPassEndToEnd() throws {
    let rig = try ProxyRig()
    try rig.plugIn()
    #expect(rig.happened("authentication succeeded", "connect"), "\(rig.names)")
    #expect(rig.proxy.counts.attachments == 1 && rig.proxy.counts.fromAccessory > 500)
  }

  @Test func beingPluggedInIsPassedOnBothWays() throws {
    let rig = try ProxyRig()
    try rig.loop.advance(by: .seconds(1))
    #expect(!rig.devicePort.isOpen, "without an accessory there is nothing to connect to")
    try rig.plugIn()
    rig.accessory.unplug("test")
    try rig.loop.advance(by: .seconds(1))
    #expect(!rig.devicePort.isOpen && !rig.proxy.hasDevice)
    #expect(rig.happened("disconnect"))
    try rig.plugIn()
    #expect(rig.proxy.counts.attachments == 2)
    #expect(rig.events.count { $0.kind == .connect } == 2)

    // When the device disconnects, the proxy also closes the accessory's cable, and then dials the accessory again.
    rig.world.device.unplugAll()
    try rig.loop.advance(by: .milliseconds(5))
    #expect(!rig.proxy.hasAccessory)
    try rig.loop.advance(by: .seconds(5))
    #expect(rig.proxy.counts.attachments == 3 && rig.proxy.hasDevice)
  }

  @Test func aSecondDeviceIsRefused() throws {
    let rig = try ProxyRig()
    try rig.plugIn()
    let pair = LoopbackChannel.makePair(on: rig.loop)
    let recorder = pair.right.startRecording()
    rig.devicePort.onEvent?(.cable(Cable(main: pair.left), from: "a second device"))
    try rig.loop.advance(by: .seconds(1))
    #expect(recorder.end == .closedByPeer && rig.proxy.hasDevice)
    #expect(rig.events.contains { $0.kind == .warning("refused a second device: another device is already connected") })
  }

  @Test func aPlaceThatCannotBeOpenedEndsTheProxy() throws {
    let rig = try ProxyRig()
    rig.devicePort.error = TransportError.inUse(.unix(path: "/tmp/p.sock"), pid: 7)
    try rig.accessory.plugIn()
    rig.finder.arrive()
    try rig.loop.advance(by: .seconds(1))
    #expect(rig.proxy.failure?.contains("7") == true && !rig.proxy.hasAccessory)
  }
}

@Suite struct JoinedCableTests {
  private let loop = VirtualLoop(seed: 5)
  private let accessory: (left: any Channel, right: any Channel)
  private let device: (left: any Channel, right: any Channel)

  init() {
    let pairs = (
      LoopbackChannel.makePair(on: loop, latency: .milliseconds(3), capacity: 5_000),
      LoopbackChannel.makePair(on: loop, bytesPerSecond: 100_000, capacity: 2_000)
    )
    accessory = (pairs.0.left, pairs.0.right)
    device = (pairs.1.left, pairs.1.right)
  }

  private func send(
    _ bytes: [UInt8], on channel: any Channel, _ recorder: ChannelRecorder, then: @escaping () -> Void = {}
  ) {
    var rest = bytes[...]
    func more() {
      while !rest.isEmpty {
        let taken = channel.send(Array(rest.prefix(777)))
        if taken == 0 { return }
        rest = rest.dropFirst(taken)
      }
      recorder.onWritable = nil
      then()
    }
    recorder.onWritable = more
    more()
  }

  private func noise(_ count: Int, _ seed: UInt64) -> [UInt8] {
    var random = SeededRandom(seed: seed)
    return (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) }
  }

  @Test func bytesPassUnchangedInBothDirectionsAtTheSlowerPace() throws {
    let cable = JoinedCable(accessory.right, on: loop) { _, _ in }
    let (atAccessory, atDevice) = (accessory.left.startRecording(), device.right.startRecording())
    cable.join(device.left)
    let (one, two) = (noise(200_000, 1), noise(150_000, 2))
    send(one, on: accessory.left, atAccessory)
    send(two, on: device.right, atDevice)
    try loop.advance(by: .seconds(30))
    #expect(atDevice.bytes == one && atAccessory.bytes == two)
    #expect(cable.counts == (200_000, 150_000))
  }

  @Test func whatComesBeforeTheDeviceIsHeldAndOneDetectionSequenceOfMany() throws {
    let cable = JoinedCable(accessory.right, on: loop) { _, _ in }
    let atAccessory = accessory.left.startRecording()
    let detection: [UInt8] = [0xFF, 0x55, 0x02, 0x00, 0xEE, 0x10]
    accessory.left.send([1, 2] + detection)
    for _ in 0..<30 {
      accessory.left.send(Array(detection.prefix(2)))
      accessory.left.send(Array(detection.dropFirst(2)))
      try loop.advance(by: .seconds(1))
    }
    accessory.left.send([3])
    try loop.advance(by: .seconds(1))
    let atDevice = device.right.startRecording()
    cable.join(device.left)
    try loop.advance(by: .seconds(1))
    #expect(atDevice.bytes == [1, 2] + detection + [3])
    accessory.left.send(detection + detection)
    device.right.send(detection + detection)
    try loop.advance(by: .seconds(1))
    #expect(atDevice.bytes == [1, 2] + detection + [3] + detection + detection)
    #expect(atAccessory.bytes == detection + detection)
  }

  @Test func anAccessoryThatSendsWithoutADeviceHasToWait() throws {
    let cable = JoinedCable(accessory.right, on: loop) { _, _ in }
    let all = noise(JoinedCable.mostHeld * 2, 3)
    let atAccessory = accessory.left.startRecording()
    send(all, on: accessory.left, atAccessory)
    try loop.advance(by: .seconds(30))
    #expect(cable.counts.accessory < JoinedCable.mostHeld + 10_000)
    let atDevice = device.right.startRecording()
    cable.join(device.left)
    try loop.advance(by: .seconds(30))
    #expect(atDevice.bytes == all)
  }

  @Test(arguments: [true, false]) func anOrderlyEndDeliversTheRestFirst(isAccessory: Bool) throws {
    var ends: [Cable.End] = []
    let cable = JoinedCable(accessory.right, on: loop) { end, _ in ends.append(end) }
    let (atAccessory, atDevice) = (accessory.left.startRecording(), device.right.startRecording())
    cable.join(device.left)
    let all = noise(50_000, 4)
    if isAccessory {
      send(all, on: accessory.left, atAccessory) { accessory.left.close() }
    } else {
      send(all, on: device.right, atDevice) { device.right.close() }
    }
    try loop.advance(by: .seconds(30))
    let other = isAccessory ? atDevice : atAccessory
    #expect(other.bytes == all && other.end == .closedByPeer)
    #expect(ends == [isAccessory ? .accessory : .device])
  }

  @Test func anEndThatTakesNothingIsNotWaitedForForever() throws {
    var ends = 0
    let cable = JoinedCable(accessory.right, on: loop) { _, _ in ends += 1 }
    let (atAccessory, atDevice) = (accessory.left.startRecording(), device.right.startRecording())
    device.right.pauseReading()
    cable.join(device.left)
    send(noise(4_000, 4), on: accessory.left, atAccessory) { accessory.left.close() }
    try loop.advance(by: .seconds(1))
    #expect(ends == 0)
    try loop.advance(by: JoinedCable.closingTime)
    #expect(ends == 1)
    withExtendedLifetime(atDevice) {}
  }
}

private final class ProxyRig {
  let loop = VirtualLoop(seed: 9)
  let world: World
  let accessory: SimulatedAccessory
  let accessoryPort = ProxyPort()
  let devicePort = ProxyPort()
  let finder: ProxyFinder
  let proxy: CableProxy
  private(set) var events: [TimelineEvent] = []

  init() throws {
    final class Log { weak var rig: ProxyRig? }
    let log = Log()
    world = World(on: loop)
    finder = ProxyFinder(accessoryPort, on: loop)
    proxy = CableProxy(on: loop) { [devicePort] _ in
      devicePort
    } report: {
      log.rig?.events.append($0)
    }
    let profile = try ProfileLibrary().profile("echo")
    accessory = world.add(profile, at: accessoryPort, authenticator: world.authenticator(for: profile))
    log.rig = self
    // A device connects as soon as an accessory appears.
    devicePort.opened = { [unowned self] in
      let pair = LoopbackChannel.makePair(on: loop)
      devicePort.onEvent?(.cable(Cable(main: pair.left), from: "a device"))
      world.device.plugIn(Cable(main: pair.right), at: "the proxy")
    }
    devicePort.loop = loop
    try proxy.start(Dialer(finder, for: proxy, on: loop, wanted: .one))
  }

  func plugIn() throws {
    try accessory.plugIn()
    finder.arrive()
    try loop.advance(by: .seconds(5))
    events += world.events.filter { !events.contains($0) }
  }

  var names: [String] {
    (events + world.events).map { event in
      if case .authentication(let step) = event.kind { "authentication \(step)" } else { event.kind.name }
    }
  }

  func happened(_ wanted: String...) -> Bool { wanted.allSatisfy(names.contains) }
}

/// A port whose cables the test supplies.
private final class ProxyPort: Port {
  let place = "a test"
  var loop: VirtualLoop?
  var opened: () -> Void = {}
  var error: (any Error)?
  private(set) var onEvent: ((PortEvent) -> Void)?
  var isOpen: Bool { onEvent != nil }

  func open(_ onEvent: @escaping (PortEvent) -> Void) throws {
    if let error { throw error }
    self.onEvent = onEvent
    loop?.schedule(after: .zero) { [weak self] in if self?.isOpen == true { self?.opened() } }
  }

  func close() { onEvent = nil }
}

private final class ProxyFinder: AccessoryFinder {
  let seesArrivals = false
  let pauses = RedialPauses(shortest: .milliseconds(20), longest: .milliseconds(500))
  private let port: ProxyPort
  private let loop: VirtualLoop
  private var onEvent: ((AccessoryChange) -> Void)?
  private let found = FoundAccessory(key: "a", identity: "a", address: .unix(path: "/a"))

  init(_ port: ProxyPort, on loop: VirtualLoop) { (self.port, self.loop) = (port, loop) }

  func start(_ onEvent: @escaping (AccessoryChange) -> Void) { self.onEvent = onEvent }

  private var hasArrived = false

  func arrive() {
    if !hasArrived { onEvent?(.arrived(found)) }
    hasArrived = true
  }

  func stop() {}

  private final class Attempt: Connecting { func cancel() {} }

  func connect(
    to accessory: FoundAccessory, completion: @escaping (Result<OpenedCable, TransportError>) -> Void
  ) -> any Connecting {
    loop.schedule(after: .zero) { [self] in
      guard let onEvent = port.onEvent else { return completion(.failure(.timedOut(found.address, after: .zero))) }
      let pair = LoopbackChannel.makePair(on: loop)
      onEvent(.cable(Cable(main: pair.left), from: "the proxy"))
      completion(.success(OpenedCable(Cable(main: pair.right))))
    }
    return Attempt()
  }
}
