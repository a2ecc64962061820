import AccessoryFormats
import TestSupport
import Testing

@testable import IAP2

@Suite struct PacketTapeTests {
  /// Writes, sends and acknowledges at random, so that packets wrap around, grow in place, move to the front and make
  /// the tape grow.
  @Test func everythingIsSentOnceAndInOrderWhereverItLies() {
    var turns = 0
    for seed: UInt64 in 1...10 {
      var random = SeededRandom(seed: seed)
      var queue = SendQueue()
      queue.restart(after: 0)
      var (written, sent): ([UInt8], [UInt8]) = ([], [])
      var acknowledged: UInt8 = 0
      for _ in 0..<300 {
        let bytes = random.bytes(1 + random.below(random.chance(5) ? 200 : 60))
        switch random.below(5) {
        case 0...2:
          let taken = queue.append(
            session: 2, owner: .init(random.below(3)), prefix: .init(7, count: 2), bytes: bytes.span.bytes,
            maximumPayload: 150)
          written += bytes.prefix(taken)
        case 3 where queue.canTransmit(window: 20):
          let run = queue.takeRun(atMost: 600, window: 20, acknowledgement: 0, now: .origin)
          if !run.rest.isEmpty { turns += 1 }
          sent += Self.content(of: queue, run)
        default:
          acknowledged &+= UInt8(random.below(queue.inFlight + 1))
          queue.acknowledge(upTo: acknowledged)
        }
      }
      #expect(sent.count > 1_000 && written.starts(with: sent), "seed \(seed)")
    }
    #expect(turns > 0, "some runs wrap around")
  }

  /// Returns the session's bytes in a run, without headers, session numbers and checksums.
  private static func content(of queue: SendQueue, _ run: SendQueue.Run) -> [UInt8] {
    var content: [UInt8] = []
    queue.show(run) { first, rest in
      let parts = [first.withUnsafeBytes { [UInt8]($0) }, rest.withUnsafeBytes { [UInt8]($0) }]
      for case .packet(let packet) in scan(parts) { content += packet[11..<packet.count - 1] }
    }
    return content
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
}
