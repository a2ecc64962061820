import ExternalAccessory
import ExternalAccessoryAsync
import ExternalAccessorySimulation
import Testing

/// Tests when `AccessoryReconnection` opens the next session, and when it gives up.
@Suite struct ReconnectionTests {
  private final class Client: @unchecked Sendable {
    let clock = ManualClock()
    private let lock = NSLock()
    private var opened: [Int] = []
    private var isOver = false
    private var task: Task<Void, Never>?

    init(serialNumber: String? = nil, attempts: Int = 3) {
      let connections = AccessoryReconnection(
        for: "com.example.echo", serialNumber: serialNumber, attempts: attempts, clock: clock)
      task = Task {
        for await connection in connections {
          let id = connection.session.accessory?.connectionID ?? 0
          lock.withLock { opened.append(id) }
          do { for try await _ in connection.bytes {} } catch {}
        }
        lock.withLock { isOver = true }
      }
    }

    var count: Int { lock.withLock { opened.count } }
    var ids: [Int] { lock.withLock { opened } }
    var gaveUp: Bool { lock.withLock { isOver } }
    func cancel() async {
      task?.cancel()
      await task?.value
    }
  }

  @Test func aSessionIsOpenedWhenTheAccessoryConnectsAndAgainWhenItComesBack() async throws {
    try await withSimulatedWorld { world in
      let echo = try world.add("echo")
      let client = Client()
      await world.run { world.registrationCount == 1 }
      echo.plugIn()
      await world.run { client.count == 1 }
      echo.unplug()
      await world.run { client.clock.sleeperCount == 1 }
      echo.plugIn()
      await world.run { client.count == 2 }
      #expect(Set(client.ids).count == 2, "each connect has its own connection ID")
      await client.cancel()
      #expect(world.registrationCount == 0)
      #expect(world.misuses == [])
    }
  }

  @Test func anAccessoryThatIsAlreadyConnectedIsTakenAtOnce() async throws {
    try await withSimulatedWorld { world in
      try world.add("echo").plugIn()
      await world.run { !manager.connectedAccessories.isEmpty }
      let client = Client()
      await world.expect { client.count == 1 }
      await client.cancel()
    }
  }

  @Test func withoutTheAccessoryItGivesUpAfterTheLastAttempt() async throws {
    try await withSimulatedWorld { world in
      let echo = try await world.plugIn("echo")
      let client = Client(attempts: 3)
      await world.run { client.count == 1 }
      echo.unplug()
      for attempt in 1...3 {
        await world.expect("attempt \(attempt)") { client.clock.sleeperCount == 1 }
        #expect(!client.gaveUp)
        client.clock.advance(by: .seconds(3))
      }
      await world.expect { client.gaveUp }
      #expect(client.count == 1)
    }
  }

  @Test func aSessionThatEndsWhileTheAccessoryStaysIsOpenedAgainAfterTheInterval() async throws {
    try await withSimulatedWorld { world in
      let echo = try await world.plugIn("echo")
      let client = Client()
      await world.run { client.count == 1 }
      echo.closeSessions()
      await world.run { client.clock.sleeperCount == 1 }
      client.clock.advance(by: .milliseconds(2999))
      await world.settle()
      #expect(client.count == 1)
      client.clock.advance(by: .milliseconds(1))
      await world.expect { client.count == 2 }
      await client.cancel()
    }
  }

  @Test func onlyTheRememberedAccessoryIsTaken() async throws {
    try await withSimulatedWorld { world in
      let echo = try world.add("echo")
      let client = Client(serialNumber: "another")
      echo.plugIn()
      await world.run { !manager.connectedAccessories.isEmpty }
      await world.settle()
      #expect(client.count == 0)
      await client.cancel()
    }
  }

  @Test func theFirstHalfOfAFlickerIsNoConnect() async throws {
    try await withSimulatedWorld { world in
      let client = Client()
      await world.run { world.registrationCount == 1 }
      try world.add("echo", quirks: ["flicker"]).plugIn()
      await world.expect { client.count == 1 }
      #expect(client.ids == manager.connectedAccessories.map(\.connectionID))
      await client.cancel()
    }
  }

  @Test func becomingActiveTriesAtOnce() async throws {
    try await withSimulatedWorld(.with { $0.backgroundModes = ["external-accessory"] }) { world in
      let echo = try await world.plugIn("echo")
      let client = Client()
      await world.run { client.count == 1 }
      echo.closeSessions()
      await world.run { client.clock.sleeperCount == 1 }
      world.move(to: .background)
      world.move(to: .foreground)
      await world.run { client.count == 2 }
      #expect(client.count == 2)
      await client.cancel()
    }
  }
}

private final class ManualClock: Clock, @unchecked Sendable {
  typealias Instant = ContinuousClock.Instant
  private let lock = NSLock()
  private var time = ContinuousClock().now
  private var sleepers: [UUID: (deadline: Instant, continuation: CheckedContinuation<Void, any Error>)] = [:]

  var now: Instant { lock.withLock { time } }
  let minimumResolution = Duration.zero
  var sleeperCount: Int { lock.withLock { sleepers.count } }

  func advance(by duration: Duration) {
    let woken = lock.withLock { () -> [CheckedContinuation<Void, any Error>] in
      time = time.advanced(by: duration)
      let due = sleepers.filter { $0.value.deadline <= time }
      for key in due.keys { sleepers[key] = nil }
      return due.values.map(\.continuation)
    }
    for sleeper in woken { sleeper.resume() }
  }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    let key = UUID()
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
        let isDue = lock.withLock { () -> Bool in
          if Task.isCancelled || deadline <= time { return true }
          sleepers[key] = (deadline, continuation)
          return false
        }
        if isDue { continuation.resume() }
      }
      try Task.checkCancellation()
    } onCancel: {
      let sleeper = lock.withLock { sleepers.removeValue(forKey: key) }
      sleeper?.continuation.resume(throwing: CancellationError())
    }
  }
}
