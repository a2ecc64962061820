import BenchmarkFloors
import IAP2

// Receiving a stream one byte at a time, which is the worst case. The baseline stores the bytes one at a time in C; the
// second column shows the same stream received as a whole.

extension Figure {
  private static let streamSize = 10_000_000

  static var splits: [Figure] {
    [2_048, 65_535].flatMap { packet in [splitScanner(packet: packet), splitPeer(packet: packet)] }
  }

  private static func splitScanner(packet: UInt16) -> Figure {
    split("scanner", packet, whole: .max) { try scan($0, $1, step: $2) }
  }

  private static func splitPeer(packet: UInt16) -> Figure {
    split("peer", packet, whole: 48 * 1024) { stream, _, step in try receive(stream, packet: packet, step: step) }
  }

  /// A figure of a receiver whose `feed` takes a stream, the number of its packets, and the size of each part.
  private static func split(
    _ receiver: String, _ packet: UInt16, whole: Int, _ feed: @escaping ([UInt8], Int, Int) throws -> Double
  ) -> Figure {
    Figure(
      name: "split.\(receiver).\(packet)",
      summary: "a \(receiver) fed 10 MB one byte at a time, packets of up to \(packet) bytes", unit: "ms",
      floor: "the same bytes stored in C one at a time, with the counter in memory",
      bareFloor: "the same \(receiver) fed the same 10 MB in the largest reads", target: .ratioAtMost(3)
    ) { plan in
      let (stream, packets) = try stream(packet: packet)
      func inParts(_ step: Int) throws -> Double { try feed(stream, packets, min(step, stream.count)) }
      var measurement = Measurement(
        try plan.triples({ try inParts(1) }, { try keep(stream, packet) }, { try inParts(whole) }))
      // Serial lines deliver about this many bytes at a time.
      let pieces = try plan.pairs({ try inParts(16) }, { try inParts(whole) })
      measurement.notes = [("in parts of 16 bytes, to the largest reads:", .init(pieces.map { $0 / $1 }))]
      return measurement
    }
  }

  private static func keep(_ stream: [UInt8], _ packet: UInt16) throws -> Double {
    var found = 0
    let seconds = Stopwatch.busyTime { found = floor_keep(stream, stream.count, Int(packet)) }
    guard found == stream.count / Int(packet) else { throw MeasuringError.failed("the floor lost bytes") }
    return seconds * 1e3
  }

  /// Returns the bytes that a device sends for bursts of 10,000 bytes in a new session, and the number of packets.
  private static func stream(packet: UInt16) throws -> (bytes: [UInt8], packets: Int) {
    var pair = try PeerPair(maximumPacket: packet)
    let burst = [UInt8](repeating: 7, count: 10_000)
    let session = pair.session
    var stream: [UInt8] = []
    stream.reserveCapacity(streamSize + 65_535)
    var packets = 0
    while stream.count < streamSize {
      guard pair.device.core.write(burst.span.bytes, to: session) == burst.count else {
        throw MeasuringError.failed("the device takes no more")
      }
      let start = stream.count
      while pair.device.core.nextTransmit(into: &stream, now: pair.now) { packets += 1 }
      pair.accessory.receive(stream.span.bytes.extracting(start..<stream.count), now: pair.now)
      pair.settle()
    }
    return (stream, packets)
  }

  /// Calls `body` with the parts of a stream. The loop is part of what is measured, so it checks nothing.
  @inline(__always)
  private static func forParts(of stream: [UInt8], _ step: Int, _ body: (RawSpan) -> Void) {
    let bytes = stream.span.bytes
    var start = 0
    while start < bytes.byteCount {
      let end = min(start &+ step, bytes.byteCount)
      body(bytes.extracting(unchecked: Range(uncheckedBounds: (start, end))))
      start = end
    }
  }

  private static func scan(_ stream: [UInt8], _ packets: Int, step: Int) throws -> Double {
    var scanner = PacketScanner()
    var found = 0
    let seconds = Stopwatch.busyTime {
      forParts(of: stream, step) { part in
        var offset = 0
        while let piece = scanner.next(in: part, at: &offset) {
          if case .packet = piece { found += 1 }
        }
      }
    }
    guard found == packets else { throw MeasuringError.failed("\(found) of \(packets) packets were found") }
    return seconds * 1e3
  }

  private static func receive(_ stream: [UInt8], packet: UInt16, step: Int) throws -> Double {
    // A new pair is in the same state as the pair from which the stream was recorded.
    var pair = try PeerPair(maximumPacket: packet)
    let before = pair.accessory.core.counters.packetsReceived
    var inbox: [UInt8] = []
    let session = pair.session
    let now = pair.now
    var arrived = 0
    let seconds = Stopwatch.busyTime {
      forParts(of: stream, step) { part in
        pair.accessory.receive(part, now: now)
        while let event = pair.accessory.core.nextEvent() {
          guard case .sessionReadable = event else { continue }
          inbox.removeAll(keepingCapacity: true)
          pair.accessory.core.takeInbox(session, &inbox)
          pair.accessory.core.consume(inbox.count, of: session)
          arrived += inbox.count
        }
      }
    }
    let packets = pair.accessory.core.counters.packetsReceived - before
    guard arrived == stream.count - packets * (PacketHeader.overhead + 2) else {
      throw MeasuringError.failed("\(arrived) bytes arrived in \(packets) packets of \(stream.count) bytes")
    }
    return seconds * 1e3
  }
}
