import AccessoryCables
import AccessoryCore
import AccessoryFormats
import AccessorySessions
import LinuxIO
import TestSupport
import Testing

@testable import AccessoryControl

/// `easim proxy` is tested with both ends in Tests/EasimTests/ProxyTests.swift.
@Suite struct CableProxyTests {
  private let loop = VirtualLoop(seed: 9)
  private let accessory = FoundAccessory(key: "a", identity: "a", address: .unix(path: "/a"))

  @Test func itHasOneDeviceAndPassesItsEndOn() throws {
    let port = MemoryPort(on: loop, nil, false)
    var warnings: [TimelineEvent.Kind] = []
    let proxy = CableProxy(on: loop) { _ in
      port
    } report: {
      warnings.append($0.kind)
    }
    let pair = LoopbackChannel.makePair(on: loop)
    let atAccessory = pair.right.startRecording()
    var reasons: [String] = []
    proxy.take(Cable(main: pair.left), of: accessory) { reasons.append($0.reason) }
    let first = try #require(port.connect()).cable.main
    let second = try #require(port.connect()).cable.main
    let (atFirst, atSecond) = (first.startRecording(), second.startRecording())
    try loop.advance(by: .seconds(1))
    #expect(atSecond.end == .closedByPeer)
    #expect(atFirst.end == nil && proxy.hasDevice)
    #expect(warnings.contains(.warning("refused the checker: another device is already connected")))

    first.close()
    try loop.advance(by: .seconds(1))
    #expect(atAccessory.end == .closedByPeer && reasons == ["the device disconnected"] && !proxy.hasAccessory)
    #expect(port.connect() == nil, "without an accessory there is nothing to connect to")
    #expect(proxy.counts.attachments == 1)
    withExtendedLifetime((pair, second)) {}
  }

  @Test func aPlaceThatCannotBeOpenedEndsTheProxy() throws {
    let proxy = CableProxy(on: loop) { _ in
      throw TransportError.inUse(.unix(path: "/tmp/p.sock"), pid: 7)
    } report: { _ in
    }
    proxy.take(Cable(main: LoopbackChannel.makePair(on: loop).left), of: accessory) { _ in }
    #expect(proxy.failure?.contains("7") == true && !proxy.hasAccessory)
  }
}

@Suite struct JoinedCableTests {
  private let loop = VirtualLoop(seed: 5)
  private let accessory: LoopbackCable
  private let device: LoopbackCable

  init() {
    accessory = LoopbackChannel.makePair(on: loop, latency: .milliseconds(3), capacity: 5_000)
    device = LoopbackChannel.makePair(on: loop, bytesPerSecond: 100_000, capacity: 2_000)
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
