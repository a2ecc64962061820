import BenchmarkFloors
import CLinux
import ExternalAccessory
import ExternalAccessorySimulation
import Foundation

// The cost for an app: ExternalAccessory's public API on the main run loop, in real time, with the accessories of a
// world in the same process. The device and the accessories run on one thread, the app on another, each on its own
// processor. The baselines are the C echoes between two processes, as for the other echo figures.

extension Figure {
  static var apps: [Figure] {
    [
      Figure(
        name: "app.echo", summary: "10K bursts echoed through EASession streams on a run loop, 1 in flight",
        unit: "bursts/s", floor: "an echo in C that does what iAP2 requires, between two processes over a socketpair",
        bareFloor: "an echo of bytes in C over a socketpair, without a protocol", target: .ratioAtLeast(0.6),
        measure: measureAppEcho),
      Figure(
        name: "app.notification", summary: "from the plug to the connect notification on the main thread",
        unit: "µs", floor: "", target: .none, measure: measureNotification),
      Figure(
        name: "app.thousand", summary: "1,000 accessories plugged in until the app has heard of each",
        unit: "ms", floor: "", target: .none, measure: measureThousand),
    ]
  }

  private static func measureAppEcho(_ plan: MeasuringPlan) throws -> Measurement {
    let floor = try FloorLink(over: .unix, packet: 65_535, burst: AppEcho.burst)
    let bare = try FloorEcho(over: .unix, burst: AppEcho.burst)
    // A thread keeps the processor of the thread that starts it.
    floor_stay_on(1)
    let app = try AppUnderTest()
    floor_stay_on(0)
    defer {
      floor_stay_on(-1)
      app.end()
    }
    let echo = try AppEcho(app)
    let bursts = try Stopwatch.repetitions(for: plan.seconds) { try echo.run(bursts: $0) }
    try floor.run(bursts: bursts, inFlight: 1)
    var perBurst: [Double] = []
    let times = try plan.triples(
      {
        let before = Stopwatch.processorTime
        let wall = try Stopwatch.time { try echo.run(bursts: bursts) }
        perBurst.append((Stopwatch.processorTime - before) * 1e6 / Double(bursts))
        return wall
      }, { try Stopwatch.time { try floor.run(bursts: bursts, inFlight: 1) } },
      { try Stopwatch.time { try bare.run(bursts: bursts, inFlight: 1) } })
    try floor.end()
    try bare.end()
    let rate = Double(bursts)
    var measurement = Measurement(times.map { (rate / $0, rate / $1, rate / $2) })
    measurement.notes = [("processor time per burst, µs, both ends:", .init(perBurst))]
    return measurement
  }

  private static func measureNotification(_ plan: MeasuringPlan) throws -> Measurement {
    let app = try AppUnderTest()
    defer { app.end() }
    let accessory = try app.world.add("echo")
    let times = try (0..<max(plan.pairs, 7) * 20).map { _ in
      let time = try Stopwatch.time {
        accessory.plugIn()
        try app.run { app.connected == 1 }
      }
      accessory.unplug()
      try app.run { app.connected == 0 }
      return time * 1e6
    }
    return Measurement(times)
  }

  private static func measureThousand(_ plan: MeasuringPlan) throws -> Measurement {
    var memory: [Double] = []
    let times = try (0..<7).map { _ in
      let app = try AppUnderTest()
      defer { app.end() }
      var profile = try app.world.add("echo").profile
      let accessories = (0..<1000).map { number in
        profile.identity.serialNumber = "EW-\(number)"
        return app.world.add(profile)
      }
      let before = Double(mallinfo2().uordblks)
      let time = try Stopwatch.time {
        for accessory in accessories { accessory.plugIn() }
        try app.run { app.connected == 1000 }
      }
      memory.append((Double(mallinfo2().uordblks) - before) / 1000)
      return time * 1000
    }
    var measurement = Measurement(times)
    measurement.notes = [("bytes per accessory, both ends:", .init(memory))]
    return measurement
  }
}

/// A world in real time, with an app on the main run loop that counts connected accessories.
private final class AppUnderTest: @unchecked Sendable {
  let world: SimulatedWorld
  private(set) var connected = 0
  private var observers: [any NSObjectProtocol] = []

  init() throws {
    var settings = SimulatedWorld.Settings()
    settings.clock = .real
    // A burst fits into one write, so that results remain comparable with earlier results.
    settings.sendBufferSize = 64 * 1024
    world = try SimulatedWorld(settings)
    for (name, step) in [(Notification.Name.EAAccessoryDidConnect, 1), (.EAAccessoryDidDisconnect, -1)] {
      observers.append(
        NotificationCenter.default.addObserver(forName: name, object: nil, queue: nil) { [unowned self] _ in
          connected += step
        })
    }
    EAAccessoryManager.shared().registerForLocalNotifications()
  }

  /// Runs the main run loop until a condition holds, as an app does. The runs of the loop have no time limit, because a
  /// limit would add the cost of a timer to every turn.
  func run(until condition: () -> Bool) throws {
    // On Linux, a `Timer(timeInterval:)` that does not repeat fires immediately.
    let limit = Timer(fire: Date(timeIntervalSinceNow: 60), interval: 0, repeats: false) { _ in
      fail("the app did not hear of it within a minute", code: 1)
    }
    RunLoop.main.add(limit, forMode: .default)
    defer { limit.invalidate() }
    while !condition() { _ = RunLoop.main.run(mode: .default, before: .distantFuture) }
  }

  /// Delivers this world's pending events now, so that they do not reach the next world.
  func end() {
    world.end()
    world.settle()
    for observer in observers { NotificationCenter.default.removeObserver(observer) }
  }
}

/// The app's end of an echo. It writes a burst, reads until the whole burst has come back, and writes the next one.
private final class AppEcho: NSObject, StreamDelegate {
  static let burst = 10_000
  private let app: AppUnderTest
  private let session: EASession
  private let payload = [UInt8](repeating: 0x5A, count: burst)
  private var buffer = [UInt8](repeating: 0, count: 16_384)
  private var bursts = 0
  private var unsent = 0
  private var unread = 0

  init(_ app: AppUnderTest) throws {
    self.app = app
    try app.world.add("echo").plugIn()
    try app.run { app.connected == 1 }
    guard let accessory = EAAccessoryManager.shared().connectedAccessories.first,
      let made = EASession(accessory: accessory, forProtocol: "com.example.echo")
    else { throw MeasuringError.failed("there is no session") }
    session = made
    super.init()
    for stream in [session.inputStream, session.outputStream] as [Stream?] {
      stream?.delegate = self
      stream?.schedule(in: .main, forMode: .default)
      stream?.open()
    }
  }

  func run(bursts count: Int) throws {
    bursts = count
    begin()
    try app.run { bursts == 0 }
  }

  private func begin() {
    (unsent, unread) = (Self.burst, Self.burst)
    write()
  }

  private func write() {
    guard unsent > 0, let output = session.outputStream, output.hasSpaceAvailable else { return }
    unsent -= payload.withUnsafeBufferPointer { bytes in
      bytes.baseAddress.map { max(0, output.write($0 + (Self.burst - unsent), maxLength: unsent)) } ?? 0
    }
  }

  func stream(_ stream: Stream, handle event: Stream.Event) {
    switch event {
    case .hasSpaceAvailable: write()
    case .hasBytesAvailable:
      unread -= max(0, session.inputStream?.read(&buffer, maxLength: buffer.count) ?? 0)
      guard unread == 0, bursts > 0 else { return }
      bursts -= 1
      if bursts > 0 { begin() }
    default: break
    }
  }
}
