import BenchmarkFloors
import IAP2

// One step of a state machine: the work for one small packet between the read system call and the session, or between
// the app's write and the write system call. Steps are measured in rounds of as many packets as the window allows. The
// time for acknowledging a round does not count.

extension Figure {
  private static let payload = 16
  private static let round = 96

  /// Receiving a small data packet: finding it, checking it, delivering it to the session's inbox, and deciding whether
  /// to acknowledge it.
  static var receiveStep: Figure {
    Figure(
      name: "step.receive",
      summary: "one small packet received: scanned, judged, delivered to the session, the acknowledgement decided",
      unit: "ns", floor: "the same packets checked, judged and copied in C", target: .valueAtMost(60)
    ) { plan in
      try measure(plan) {
        try steps(rounds: $0).receive
      } floor: { rounds in
        var packets = [UInt8](repeating: 0, count: (payload + 12) * round)
        return try (0..<rounds).map { _ in
          _ = floor_build(&packets, payload + 2, round)
          return try Stopwatch.time {
            let arrived = floor_receive(packets, payload + 2, round)
            if arrived != payload * round { throw MeasuringError.failed("the floor lost packets") }
          }
        }
      }
    }
  }

  /// Building a small data packet: writing it from the app, numbering it, and appending it to the packets to send.
  static var buildStep: Figure {
    Figure(
      name: "step.build", summary: "one small packet built: written to the session, numbered, given out to be sent",
      unit: "ns", floor: "the same packets built in C", target: .valueAtMost(60)
    ) { plan in
      try measure(plan) {
        try steps(rounds: $0).build
      } floor: { rounds in
        var packets = [UInt8](repeating: 0, count: (payload + 12) * round)
        return (0..<rounds).map { _ in Stopwatch.time { _ = floor_build(&packets, payload + 2, round) } }
      }
    }
  }

  /// Measures the nanoseconds per packet in the median round. The median is used because rounds are so short that a
  /// single interruption distorts a round.
  private static func measure(
    _ plan: MeasuringPlan, _ ours: (Int) throws -> [Double], floor: (Int) throws -> [Double]
  ) throws -> Measurement {
    let rounds = try max(100, Stopwatch.repetitions(for: plan.seconds) { _ = try ours($0) })
    func nanoseconds(_ seconds: [Double]) -> Double { Measurement.Series(seconds).median * 1e9 / Double(round) }
    return Measurement(try plan.pairs({ nanoseconds(try ours(rounds)) }, { nanoseconds(try floor(rounds)) }))
  }

  /// Returns how many seconds it took to build and to receive each round's packets.
  private static func steps(rounds: Int) throws -> (build: [Double], receive: [Double]) {
    var pair = try PeerPair(maximumPacket: 65_535)
    let bytes = [UInt8](repeating: 7, count: payload)
    let session = pair.session
    var packets: [UInt8] = []
    var (build, receive): ([Double], [Double]) = ([], [])
    for _ in 0..<rounds {
      packets.removeAll(keepingCapacity: true)
      var sent = 0
      build.append(
        Stopwatch.time {
          for _ in 0..<round {
            _ = pair.device.core.write(bytes.span.bytes, to: session)
            if pair.device.core.nextTransmit(into: &packets, now: pair.now) { sent += 1 }
          }
        })
      let length = packets.count / round
      guard sent == round, packets.count == length * round, length == payload + 12 else {
        throw MeasuringError.failed("\(sent) of \(round) packets were sent")
      }
      receive.append(
        Stopwatch.time {
          for index in 0..<round {
            let start = index * length
            pair.accessory.receive(packets.span.bytes.extracting(start..<start + length), now: pair.now)
          }
        })
      pair.settle()
      guard pair.device.core.unacknowledged(session) == 0 else { throw MeasuringError.failed("packets were lost") }
    }
    return (build, receive)
  }
}
