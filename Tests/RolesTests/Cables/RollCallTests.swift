import AccessoryCore
import LinuxIO
import TestSupport
import Testing

@testable import AccessoryCables
@testable import easim

@Suite struct RollCallTests {
  private static let detection: [UInt8] = [0xFF, 0x55, 0x02, 0x00, 0xEE, 0x10]

  @Test func anAccessoryThatSendsTheDetectionSequenceIsThere() throws {
    let rig = try RollCallRig("a", "b")
    try rig.connect("a")
    try rig.connect("b")
    try rig.send("a", Self.detection)
    #expect(!rig.call.isOver)
    // The detection sequence follows the last bytes of an earlier session, and arrives in two parts.
    try rig.send("b", [0x00, 0xFF] + Self.detection.prefix(3))
    try rig.send("b", Array(Self.detection.dropFirst(3)))
    #expect(rig.call.isOver && rig.troubles == [nil, nil])
    #expect(rig.released == ["a", "b"], "nothing stays connected")
  }

  @Test func anAccessoryThatBeginsWithAPacketIsThere() throws {
    let rig = try RollCallRig("a")
    try rig.connect("a")
    try rig.send("a", [0xFF, 0x5A, 0x00])
    #expect(rig.call.isOver && rig.troubles == [nil])
  }

  @Test func aDeviceThatSaysNothingIsANearMiss() throws {
    let rig = try RollCallRig("a")
    try rig.connect("a")
    try rig.loop.advance(by: .milliseconds(4_999))
    #expect(!rig.call.isOver)
    try rig.loop.advance(by: .milliseconds(1))
    #expect(
      rig.troubles == ["the device connects but sends nothing for 5s, so it may use this service for another protocol"])
    #expect(rig.call.accessories[0].isNearMiss && rig.released == ["a"])
  }

  @Test func aDeviceThatSpeaksAnotherProtocolIsANearMissWithWhatItSends() throws {
    let rig = try RollCallRig("a")
    try rig.connect("a")
    try rig.send("a", Array("OK 123456\r\n".utf8))
    try rig.loop.advance(by: .seconds(5))
    #expect(
      rig.troubles == [
        "the device connects but sends 4f 4b 20 31 32 33 34 35 …, which is not iAP2, so it may use this service for "
          + "another protocol"
      ])
  }

  @Test func aDeviceThatNeverStopsIsGivenUpBeforeTheTimeIsUp() throws {
    let rig = try RollCallRig("a")
    try rig.connect("a")
    for _ in 0..<70 { try rig.send("a", Array(repeating: 0x20, count: 1_000)) }
    #expect(rig.call.isOver && rig.call.accessories[0].isNearMiss)
  }

  @Test func aDeviceThatClosesAndOneThatIsNotThereHaveTheirReasons() throws {
    let rig = try RollCallRig("a", "b", "c")
    try rig.connect("a")
    rig.remote["a"]?.close()
    rig.finder.answer("b", .failure(.nobodyThere(RollCallRig.address("b"), "it does not answer")))
    rig.finder.onEvent?(.left(rig.accessory("c"), reason: "removed"))
    try rig.loop.advance(by: .milliseconds(1))
    #expect(rig.call.isOver)
    #expect(rig.troubles[0]?.hasPrefix("it closed the cable before the iAP2 link was up") == true)
    #expect(rig.troubles[1...] == ["it does not answer", "was unplugged"])
  }

  @Test func aDeviceThatCannotBeUsedIsNotConnectedTo() throws {
    let rig = try RollCallRig("a", troubles: ["a": .unusable(RollCallRig.address("a"), "not paired")])
    #expect(rig.call.isOver && rig.finder.attempts.isEmpty && rig.troubles == ["not paired"])
  }

  @Test func whoeverHasNotAnsweredAtTheEndIsSaidToBeLate() throws {
    let rig = try RollCallRig("a", "b")
    try rig.connect("a")
    rig.call.stop(after: .seconds(25))
    #expect(rig.troubles == ["no answer within 25.0 s", "no answer within 25.0 s"])
    #expect(rig.released == ["a"] && rig.finder.cancelled == ["b"] && rig.finder.isStopped)
  }
}

private final class RollCallRig {
  let loop = VirtualLoop()
  let finder = HandFinder(seesArrivals: true)
  let call: RollCall
  private(set) var released: [String] = []
  private(set) var remote: [String: LoopbackChannel] = [:]
  private let sink = ChannelRecorder()

  static func address(_ key: String) -> Address { .local(directory: nil, serial: key) }

  func accessory(_ key: String) -> FoundAccessory {
    FoundAccessory(key: key, identity: key, address: Self.address(key))
  }

  init(_ keys: String..., troubles: [String: TransportError] = [:]) throws {
    let known = keys.map { key in
      var accessory = FoundAccessory(key: key, identity: key, address: Self.address(key))
      accessory.trouble = troubles[key]
      return accessory
    }
    call = RollCall(of: known, by: finder, on: loop)
    try call.start()
    for accessory in known { finder.onEvent?(.arrived(accessory)) }
  }

  var troubles: [String?] { call.accessories.map { $0.trouble?.detail } }

  func connect(_ key: String) throws {
    let pair = LoopbackChannel.makePair(on: loop)
    pair.right.start(sink)
    remote[key] = pair.right
    finder.answer(key, .success(OpenedCable(Cable(main: pair.left)) { [unowned self] in released.append(key) }))
  }

  func send(_ key: String, _ bytes: [UInt8]) throws {
    _ = remote[key]?.send(bytes.span.bytes)
    try loop.advance(by: .zero)
  }
}
