import AccessoryFormats
import TestSupport
import Testing

@testable import IAP2

/// Checks that no operation changes the packets already on the tape.
@Suite struct PacketTapeTests {
  private struct Written {
    var tape = PacketTape()
    var packets: [(place: Int, bytes: [UInt8])] = []
    var (turns, moves, growths) = (0, 0, 0)

    mutating func append(_ bytes: [UInt8]) {
      let newest = packets.last?.place ?? 0
      let place = place(bytes.count)
      if place < newest { turns += 1 }
      packets.append((place, bytes))
      write(packets.count - 1)
    }

    private mutating func place(_ count: Int) -> Int {
      if let place = tape.reserve(count) { return place }
      grow(by: count)
      return tape.reserve(count) ?? -1
    }

    private mutating func grow(by count: Int) {
      tape.grow(by: count)
      growths += 1
      var place = 0
      for index in packets.indices {
        packets[index].place = place
        place += packets[index].bytes.count
      }
    }

    mutating func extendNewest(_ more: [UInt8]) {
      let newest = packets.count - 1
      let (place, count) = (packets[newest].place, packets[newest].bytes.count)
      if !tape.extendNewest(by: more.count) {
        if let moved = tape.moveNewest(at: place, count: count, extendedBy: more.count) {
          packets[newest].place = moved
          moves += 1
        } else {
          grow(by: more.count)
          #expect(tape.extendNewest(by: more.count) == true)
        }
      }
      let start = packets[newest].place + count
      tape.withMutable(start..<start + more.count) { $0.copyBytes(from: more) }
      packets[newest].bytes += more
    }

    private mutating func write(_ index: Int) {
      let (place, bytes) = packets[index]
      tape.withMutable(place..<place + bytes.count) { $0.copyBytes(from: bytes) }
    }

    mutating func drop(_ count: Int) {
      packets.removeFirst(count)
      if let oldest = packets.first { tape.forget(before: oldest.place) } else { tape.clear() }
    }

    var isWhole: Bool {
      packets.allSatisfy { packet in
        tape.with(packet.place..<packet.place + packet.bytes.count) { $0.withUnsafeBytes { [UInt8]($0) } }
          == packet.bytes
      }
    }
  }

  @Test func packetsStayWhatTheyWere() {
    var (turns, moves, growths) = (0, 0, 0)
    for seed: UInt64 in 1...50 {
      let written = write(seed: seed)
      turns += written.turns
      moves += written.moves
      growths += written.growths
    }
    #expect(turns > 0 && moves > 0 && growths > 0, "every way is tried")
  }

  private func write(seed: UInt64) -> Written {
    var random = SeededRandom(seed: seed)
    var written = Written()
    for _ in 0..<600 {
      let limit = random.chance(5) ? 200 : 30
      switch random.below(5) {
      case 0, 1: written.append(random.bytes(1 + random.below(limit * 10)))
      case 2: if !written.packets.isEmpty { written.extendNewest(random.bytes(1 + random.below(limit * 10))) }
      default: if !written.packets.isEmpty { written.drop(1 + random.below(min(3, written.packets.count))) }
      }
      #expect(written.isWhole, "seed \(seed)")
    }
    return written
  }

  @Test func packetsLieOneBehindTheOther() {
    var tape = PacketTape()
    tape.grow(by: 1_000)
    #expect(tape.reserve(400) == 0)
    #expect(tape.reserve(400) == 400)
    #expect(tape.reserve(400) == nil)
  }

  @Test func whatFindsNoRoomBehindTheNewestGoesToTheFront() {
    var tape = PacketTape()
    tape.grow(by: 1_000)
    #expect(tape.reserve(400) == 0)
    #expect(tape.reserve(400) == 400)
    tape.forget(before: 400)
    #expect(tape.reserve(399) == 0)
    // The newest packet must not extend up to the oldest packet on the tape, because a full tape would then look like
    // an empty one.
    #expect(tape.extendNewest(by: 1) == false)
    #expect(tape.reserve(1) == nil)
  }

  @Test func aRunContinuesAtTheFront() {
    var queue = SendQueue()
    queue.restart(after: 0)
    func write() {
      let bytes = [UInt8](repeating: 7, count: 90)
      _ = queue.append(
        session: 1, owner: SendQueue.linkItself, prefix: .none, bytes: bytes.span.bytes, maximumPayload: 500)
    }
    func takeAll(window: Int) -> [[UInt8]] {
      let run = queue.takeRun(atMost: .max, window: window, acknowledgement: 0, now: Instant(nanoseconds: 0))
      var parts: [[UInt8]] = []
      queue.show(run) { first, rest in
        parts = [first.withUnsafeBytes { [UInt8]($0) }, rest.withUnsafeBytes { [UInt8]($0) }]
      }
      return parts
    }
    for _ in 0..<5 { write() }
    #expect(takeAll(window: 4).map(\.count) == [400, 0])
    #expect(queue.acknowledge(upTo: 4) == 4)
    // The buffer holds 512 bytes. The fifth packet is at the end of the buffer, and the next two packets are at the
    // front.
    for _ in 0..<2 { write() }
    let parts = takeAll(window: 4)
    #expect(parts.map(\.count) == [100, 200])
    #expect([parts[0][5], parts[1][5], parts[1][105]] == [5, 6, 7], "the sequence numbers")
    #expect(!queue.canTransmit(window: 4))
  }

  @Test func theNewestMovesToTheFrontToGetLonger() {
    var tape = PacketTape()
    tape.grow(by: 1_000)
    #expect(tape.reserve(900) == 0)
    #expect(tape.reserve(30) == 900)
    tape.withMutable(900..<930) { $0.copyBytes(from: (0..<30).map(UInt8.init)) }
    tape.forget(before: 900)
    #expect(tape.extendNewest(by: 100) == false)
    #expect(tape.moveNewest(at: 900, count: 30, extendedBy: 100) == 0)
    #expect(tape.with(0..<30) { $0.withUnsafeBytes { [UInt8]($0) } } == (0..<30).map(UInt8.init))
  }
}
