import AccessoryCore
import AccessoryFaults
import AccessoryFormats
import AccessoryHost
import AccessoryLoad
import AccessoryProfiles
import AccessorySimulator
import AccessoryWorlds
import BenchmarkFloors
import LinuxIO

// Shows whether bytes that are sent at a given rate arrive at that rate, in real time. The rates are 7,500 bytes per
// second, as reported for apps over Bluetooth, and 100 KB/s. The time is measured from the first arrival to the last,
// so that delays before the first byte do not count.

extension Figure {
  static var pacings: [Figure] {
    Pace.allCases.flatMap { pace in [7_500, 100_000].map { pacing(pace, $0) } }
  }

  /// The part of easim that limits the rate.
  private enum Pace: String, CaseIterable {
    case burst
    case source
    case line

    var summary: String {
      switch self {
      case .burst: "`burst --size 100 --rate`"
      case .source: "a source in chunks of 100 bytes"
      case .line: "a writer that never rests, behind `--fault rate`"
      }
    }
  }

  private static func pacing(_ pace: Pace, _ rate: Int) -> Figure {
    // The transfer takes at least a second, so that 1 % of its time exceeds the delay of a late timer.
    let seconds = 1.0
    return Figure(
      name: "pacing.\(pace.rawValue).\(rate)",
      summary: "\(pace.summary) at \(rate) bytes a second: the rate at which they arrive", unit: "B/s",
      floor: "chunks of 100 bytes sent over a socketpair in C, each at its time by clock_nanosleep",
      target: .valueNear(Double(rate), within: 0.01)
    ) { plan in
      var plan = plan
      // The figures take real time, so there are seven pairs instead of eleven.
      plan.pairs = min(plan.pairs, 7)
      return Measurement(
        try plan.pairs(
          { try measure(pace, rate, seconds: seconds) },
          {
            var arrived = 0.0
            let code = floor_pace(100, Double(rate), Int(seconds * Double(rate) / 100), &arrived)
            if code != 0 { throw MeasuringError.system("pace the floor", code: code) }
            return arrived
          }))
    }
  }

  private static func measure(_ pace: Pace, _ rate: Int, seconds: Double) throws -> Double {
    let loop = try EpollLoop(seed: 1)
    let meter = ArrivalMeter()
    let total = Int(seconds * Double(rate))
    if pace == .burst { return try burst(rate, total, meter, loop) }
    let cable = LoopbackChannel.makePair(on: loop)
    let behavior: any AccessoryBehavior =
      pace == .line
      ? ReaderBehavior(heard: meter.note)
      : SourceBehavior(Behavior.Source(rate: rate, chunk: 100, total: total))
    let accessory = EchoAccessory(
      maximumPacket: 4_096, playing: behavior, cable: Cable(main: cable.left), on: loop)
    var channel: any Channel = cable.right
    if pace == .line {
      // The rate is limited in one direction only, so that the handshake and acknowledgements are not delayed.
      let fault = try Fault("rate,bytes=\(rate),direction=out,after=100ms")
      channel = FaultChannel(around: channel, [fault], random: SeededRandom(seed: 1), on: loop)
    }
    let device = EchoDevice(maximumPacket: 4_096, burst: 10_000, cable: Cable(main: channel), on: loop)
    device.heard = meter.note
    accessory.start()
    device.start()
    loop.run(until: { device.isReady || device.failure != nil }, limit: .seconds(10))
    if pace == .line {
      loop.run(limit: .milliseconds(120))
      device.stream(total)
    }
    loop.run(until: { meter.total >= total || device.failure != nil }, limit: .seconds(60))
    if let failure = device.failure { throw MeasuringError.failed(failure) }
    device.close()
    loop.run(until: { accessory.isOver }, limit: .seconds(10))
    return try meter.rate()
  }

  private static func burst(_ rate: Int, _ total: Int, _ meter: ArrivalMeter, _ loop: EpollLoop) throws -> Double {
    var plan = BurstPlan()
    plan.payload = .unique(size: 100)
    plan.pace = .rate(burstsPerSecond: Double(rate) / 100)
    plan.extent = .bursts(total / 100)
    plan.verification = .nothing
    plan.inFlight = 100
    let runs = try BurstWorlds(1, plan, on: loop, behavior: ReaderBehavior(heard: meter.note))
    try runs.attach { loop.run(until: $0, limit: .seconds(60)) }
    try runs.play { loop.run(until: $0, limit: .seconds(60)) }
    runs.tearDown()
    loop.run(limit: .milliseconds(20))
    return try meter.rate()
  }
}

/// Records when bytes arrive, and how many.
private final class ArrivalMeter {
  private var first = 0.0
  private var last = 0.0
  private var firstCount = 0
  private(set) var total = 0

  func note(_ count: Int) {
    if count == 0 { return }
    last = Stopwatch.now
    if total == 0 { (first, firstCount) = (last, count) }
    total += count
  }

  /// Bytes per second between the first arrival and the last.
  func rate() throws(MeasuringError) -> Double {
    guard last > first else { throw .failed("nothing arrived that has a rate") }
    return Double(total - firstCount) / (last - first)
  }
}
