import IAP2

// Compares receiving a stream one byte at a time, which is the worst case, with receiving the same stream as a whole.

extension Figure {
  private static let streamSize = 10_000_000

  static var splits: [Figure] {
    [2_048, 65_535].flatMap { packet in [splitScanner(packet: packet), splitPeer(packet: packet)] }
  }

  private static func splitScanner(packet: UInt16) -> Figure {
    Figure(
      name: "split.scanner.\(packet)",
      summary: "the scanner fed 10 MB one byte at a time, packets of up to \(packet) bytes", unit: "ms",
      floor: "the scanner fed the same 10 MB whole", target: .ratioAtMost(20)
    ) { plan in
      let (stream, packets) = try stream(packet: packet)
      return Measurement(
        try plan.pairs({ try scan(stream, packets, step: 1) }, { try scan(stream, packets, step: stream.count) }))
    }
  }

  private static func splitPeer(packet: UInt16) -> Figure {
    Figure(
      name: "split.peer.\(packet)",
      summary: "a peer fed 10 MB one byte at a time, packets of up to \(packet) bytes", unit: "ms",
      floor: "the same peer fed the same 10 MB in reads of 128 KiB", target: .ratioAtMost(20)
    ) { plan in
      let (stream, _) = try stream(packet: packet)
      return Measurement(
        try plan.pairs(
          { try receive(stream, packet: packet, step: 1) }, { try receive(stream, packet: packet, step: 128 * 1024) }))
    }
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

  private static func scan(_ stream: [UInt8], _ packets: Int, step: Int) throws -> Double {
    var scanner = PacketScanner()
    var found = 0
    let seconds = Stopwatch.busyTime {
      for start in stride(from: 0, to: stream.count, by: step) {
        let part = stream.span.bytes.extracting(start..<min(start + step, stream.count))
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
      for start in stride(from: 0, to: stream.count, by: step) {
        let part = stream.span.bytes.extracting(start..<min(start + step, stream.count))
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
