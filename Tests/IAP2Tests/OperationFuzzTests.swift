import AccessoryCore
import AccessoryFormats
import IAP2
import TestSupport
import Testing

/// Feeds random bytes and calls to peers thousands of times. Nothing may trap, the peer must always become idle again,
/// and its memory use must stay proportional to the bytes received. Failing seeds are printed.
@Suite struct OperationFuzzTests {
  @Test func spoiledConversationsDisturbNeitherPeer() {
    let conversation = Conversation()
    for seed: UInt64 in 0..<1_000 {
      var random = SeededRandom(seed: seed)
      var accessory = Subject(AccessoryPeer(identification: .example))
      var device = Subject(DevicePeer())
      for packet in Self.spoil(conversation.toAccessory, &random) {
        accessory.handle(packet)
        if random.chance(30) { accessory.whim(&random) }
      }
      for packet in Self.spoil(conversation.toDevice, &random) {
        device.handle(packet)
        if random.chance(30) { device.whim(&random) }
      }
      accessory.pass(100_000)
      device.pass(100_000)
      if let problem = accessory.problem ?? device.problem {
        Issue.record("seed \(seed): \(problem)")
        return
      }
    }
  }

  /// Changes, omits, duplicates, moves and joins packets. Changed packets often get valid checksums so that the scanner
  /// accepts them.
  private static func spoil(_ packets: [[UInt8]], _ random: inout SeededRandom) -> [[UInt8]] {
    var spoiled: [[UInt8]] = []
    for packet in packets {
      var packet = packet
      switch random.below(20) {
      case 0: continue
      case 1: spoiled.append(packet)
      case 2...7 where packet.count > 9:
        for _ in 0...random.below(4) { packet[4 + random.below(packet.count - 4)] = random.byte() }
        let payload = packet.count > 10 ? Array(packet[9..<packet.count - 1]) : []
        packet = Sheet.bytes(packet[4], packet[5], packet[6], session: packet[7], payload)
      case 8: packet[random.below(packet.count)] ^= 1 << random.below(8)
      case 9: packet.insert(contentsOf: random.bytes(random.below(10)), at: random.below(packet.count))
      case 10: packet.removeLast(random.below(packet.count))
      case 11: if let last = spoiled.popLast() { packet = last + packet }
      case 12: if let last = spoiled.popLast() { spoiled += [packet, last] }
      default: break
      }
      spoiled.append(packet)
    }
    return spoiled
  }
}

private struct Conversation {
  var toAccessory: [[UInt8]] = []
  var toDevice: [[UInt8]] = []

  init() {
    var wire = Wire()
    wire.keepsBytes = true
    wire.start()
    _ = wire.device.openSession(protocolNamed: "com.example.echo", now: wire.now)
    _ = wire.device.openSession(protocolNamed: "com.example.echo", now: wire.now)
    wire.settle()
    let hello = Array("hello".utf8)
    for _ in 0..<5 {
      _ = wire.device.core.write(hello.span.bytes, to: 1)
      _ = wire.accessory.core.write(hello.span.bytes, to: 1)
      wire.settle()
      _ = wire.step()
    }
    wire.device.core.closeSession(1)
    wire.settle()
    toAccessory = wire.toAccessory
    toDevice = wire.toDevice
  }
}

private protocol Owned: PeerRole {
  static func answer(_ event: PeerEvent, _ peer: inout Peer<Self>, now: Instant)
  static func actOnWhim(_ random: inout SeededRandom, _ peer: inout Peer<Self>, now: Instant)
}

extension AccessoryRole: Owned {
  fileprivate static func answer(_ event: PeerEvent, _ peer: inout AccessoryPeer, now: Instant) {
    switch event {
    case .certificateRequested: peer.provideCertificate([UInt8](repeating: 0xCE, count: 607))
    case .challenged(let challenge): peer.provideResponse(challenge + challenge)
    case .sessionRequested(let id, _): peer.acceptSession(id, reportingStatus: true)
    default: break
    }
  }

  fileprivate static func actOnWhim(_ random: inout SeededRandom, _ peer: inout AccessoryPeer, now: Instant) {
    let id = UInt16(random.below(4))
    switch random.below(4) {
    case 0: peer.identify(as: .example)
    case 1: peer.refuseSession(id)
    case 2: peer.ignoreSession(id)
    default: peer.provideResponse(random.bytes(64))
    }
  }
}

extension DeviceRole: Owned {
  fileprivate static func answer(_ event: PeerEvent, _ peer: inout DevicePeer, now: Instant) {
    switch event {
    case .certificateReceived: peer.challenge([UInt8](repeating: 0x42, count: 32), now: now)
    case .responseReceived: peer.concludeAuthentication(accepted: true, now: now)
    case .ready: for _ in 0..<2 { _ = peer.openSession(protocolNamed: "com.example.echo", now: now) }
    default: break
    }
  }

  fileprivate static func actOnWhim(_ random: inout SeededRandom, _ peer: inout DevicePeer, now: Instant) {
    switch random.below(4) {
    case 0: peer.resetLink(now: now)
    case 1: peer.challenge(random.bytes(20), now: now)
    case 2: peer.concludeAuthentication(accepted: random.chance(50), now: now)
    default: _ = peer.openSession(protocolNamed: "com.example.echo", now: now)
    }
  }
}

private struct Subject<Role: Owned>: ~Copyable {
  private var end: OneEnd<Role>
  private(set) var problem: String?

  init(_ peer: consuming Peer<Role>) {
    end = OneEnd(peer)
    end.start()
  }

  mutating func handle(_ bytes: [UInt8]) {
    end.receives(bytes: bytes)
    settle(after: bytes.count)
  }

  /// Advances time. Traps if a deadline is still set after its timeout has been handled.
  mutating func pass(_ milliseconds: Int64) {
    end.passes(milliseconds)
    settle(after: 100_000)
  }

  /// Makes a random call, including calls that no sensible owner of a peer would make.
  mutating func whim(_ random: inout SeededRandom) {
    let id = UInt16(random.below(4))
    let bytes = random.bytes(random.below(300))
    switch random.below(12) {
    case 0...3: _ = end.writes(bytes, to: id)
    case 4: end.peer.core.closeSession(id)
    case 5: end.peer.core.consume(random.below(1_000), of: id)
    case 6: end.peer.core.send(ControlMessage(MessageID(rawValue: UInt16(random.below(65_536))), body: bytes))
    case 7:
      end.peer.stop("pulled")
      settle(after: 0)
      if end.peer.core.deadline != nil { problem = problem ?? "a stopped peer waits for something" }
      end.start()
    case 8: end.passes(Int64(random.below(3_000)))
    default: Role.actOnWhim(&random, &end.peer, now: end.now)
    }
    settle(after: 400)
  }

  private mutating func settle(after count: Int) {
    var events = 0
    for _ in 0..<100 {
      let told = end.told()
      events += told.count
      for event in told { hand(event) }
      if told.isEmpty, end.says().isEmpty { break }
    }
    if events > count / 3 + 50 { problem = problem ?? "\(events) events after \(count) bytes" }
    if let due = end.peer.core.deadline, due < end.now { problem = problem ?? "it still waits for what is past" }
  }

  private mutating func hand(_ event: PeerEvent) {
    switch event {
    case .sessionReadable(let id): _ = end.reads(id)
    case .sessionEnded(let id, _): _ = end.reads(id)
    default: Role.answer(event, &end.peer, now: end.now)
    }
  }
}
