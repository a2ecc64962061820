import ExternalAccessory
import TestSupport
import Testing

@testable import ExternalAccessorySimulation

/// Tests how the app's time relates to the world's time: timers on the main run loop, sleeps on a clock, and code that
/// keeps using real time.
@Suite(.waits) struct WorldTimeTests {
  /// A client, modeled on one in the field, that uses timers to open its session after a delay and then to send
  /// heartbeats.
  @MainActor private final class Client {
    private(set) var openings = 0
    private(set) var beats = 0
    /// How long the app took in real time to add its timer, which is at most how much earlier the timer fires.
    private(set) var lag = Duration.zero
    private var timer: Timer?
    private var observer: (any NSObjectProtocol)?

    init() {
      observer = NotificationCenter.default.addObserver(forName: .EAAccessoryDidConnect, object: nil, queue: .main) {
        [weak self] _ in
        MainActor.assumeIsolated { self?.connectLater() }
      }
      manager.registerForLocalNotifications()
    }

    private func connectLater() {
      let begin = ContinuousClock.now
      _ = Timer.scheduledTimer(withTimeInterval: 30, repeats: false) { [weak self] _ in
        MainActor.assumeIsolated { self?.open() }
      }
      lag = .now - begin
    }

    private func open() {
      openings += 1
      timer = Timer(fire: Date(timeIntervalSinceNow: 10), interval: 10, repeats: true) { [weak self] _ in
        MainActor.assumeIsolated { self?.beats += 1 }
      }
      if let timer { RunLoop.main.add(timer, forMode: .common) }
    }

    func postpone(_ seconds: TimeInterval) { timer?.fireDate = Date(timeIntervalSinceNow: seconds) }
    var remaining: TimeInterval { timer?.fireDate.timeIntervalSinceNow ?? 0 }

    func stop() {
      timer?.invalidate()
      if let observer { NotificationCenter.default.removeObserver(observer) }
    }
  }

  @Test @MainActor func timersOfTheMainRunLoopFireInTheWorldsTime() async throws {
    try await withSimulatedWorld { world in
      let client = Client()
      try await world.plugIn("echo")
      #expect(client.openings == 0)
      await world.advance(by: .milliseconds(29_990) - client.lag)
      #expect(client.openings == 0)
      await world.advance(by: .milliseconds(20) + client.lag)
      #expect(client.openings == 1)
      await world.advance(by: .seconds(3600))
      #expect(client.beats == 359 || client.beats == 360)
      client.stop()
      let beats = client.beats
      await world.advance(by: .seconds(3600))
      #expect(client.beats == beats)
      #expect(world.misuses == [])
    }
  }

  @Test @MainActor func aTimerThatIsMovedFiresWhenItWasMovedTo() async throws {
    try await withSimulatedWorld { world in
      let client = Client()
      try await world.plugIn("echo")
      await world.advance(by: .seconds(31))
      client.postpone(100)
      #expect(abs(client.remaining - 100) < 1)
      await world.advance(by: .seconds(99))
      #expect(client.beats == 0)
      await world.advance(by: .seconds(2))
      #expect(client.beats == 1)
      client.stop()
    }
  }

  /// An app that accepts a clock, so that tests can control its sleeps.
  private actor Sleeper {
    private(set) var words: [String] = []
    private let clock: any Clock<Duration>

    init(_ clock: any Clock<Duration>) { self.clock = clock }

    func reconnect() async {
      for attempt in 1...3 {
        do { try await clock.sleep(for: .seconds(attempt * 10)) } catch { return words.append("cancelled") }
        words.append("attempt \(attempt)")
      }
    }
  }

  @Test func aClockOfTheWorldDrivesTasks() async throws {
    try await withSimulatedWorld { world in
      let sleeper = Sleeper(world.clock)
      let begin = world.clock.now
      let task = Task { await sleeper.reconnect() }
      await world.expect { world.sleeperCount == 1 }
      await world.advance(by: .milliseconds(9999))
      #expect(await sleeper.words == [])
      for attempt in 1...2 {
        await world.advance(by: .milliseconds(1))
        // On a busy machine, the task may need a moment to go back to sleep.
        await world.expect { world.sleeperCount == 1 }
        #expect(await sleeper.words.last == "attempt \(attempt)")
        await world.advance(by: .milliseconds(19_999))
      }
      #expect(begin.duration(to: world.clock.now) == .milliseconds(49_999))
      task.cancel()
      await task.value
      #expect(await sleeper.words == ["attempt 1", "attempt 2", "cancelled"])
    }
  }

  @Test func whoSleepsAtTheWorldsEndIsWoken() async throws {
    let task = try await withSimulatedWorld { world in
      let sleeper = Sleeper(world.clock)
      let task = Task { await sleeper.reconnect() }
      await world.expect { world.sleeperCount == 1 }
      return task
    }
    await task.value
  }

  @Test func aWorldSaysThatTheAppWaitedInRealTime() async throws {
    try await withSimulatedWorld { world in
      // The interval starts at the first check, so that the world stands still for the entire interval.
      var begin: Date?
      await world.expect {
        begin = begin ?? Date()
        return begin.map { Date().timeIntervalSince($0) > 0.3 } ?? false
      }
      let said = try #require(world.standstill)
      #expect(said.contains("s of real time passed while the world's time stood still: the app waits with asyncAfter"))
    }
  }

  /// The world's `patience` is an hour, so that only the wait's own limit can end the wait.
  @Test(.timeLimit(.minutes(60))) func whatMustNotComeTrueTakesNoLongerThanItsLimit() async throws {
    var settings = SimulatedWorld.Settings()
    settings.patience = .seconds(3_600)
    try await withSimulatedWorld(settings) { world in
      let came = await world.run(limit: .milliseconds(300)) { false }
      #expect(!came)
      #expect(world.standstill == nil)
    }
  }

  /// `patience` and the limit are both a day, so the wait can end early only because the app is at rest.
  // The thread sanitizer has a thread of its own, which is never at rest.
  @Test(.enabled(if: Sanitizer.used != .thread))
  func whatMustNotComeTrueEndsWhenTheAppIsAtRest() throws {
    for name in ["nothingComes", "whatComesInRealTimeIsWaitedFor"] {
      let result = try TestBundle.run("AppsAtRest/\(name)")
      #expect(result.status == 0, "\(name): \(result.output)")
    }
  }

  @Test func aThreadIsAtRestWhenItsCallHasNoLimit() {
    #if arch(x86_64)
      #expect(AppAtRest.look(at: "202 0x7f00 0x189 0x0 0x0 0x0 0xffffffff 0x7f 0x7f\n") == .atRest)
      #expect(AppAtRest.look(at: "202 0x7f00 0x189 0x0 0x7f1ffffed58 0x0 0xffffffff 0x7f 0x7f\n") == .waiting)
      #expect(AppAtRest.look(at: "232 0x3 0x7f80 0x10 0xffffffff 0x0 0x1f 0x7f 0x7f\n") == .atRest)
      #expect(AppAtRest.look(at: "232 0x3 0x7f80 0x10 0x64 0x0 0x1f 0x7f 0x7f\n") == .waiting)
      #expect(AppAtRest.look(at: "230 0x0 0x0 0x7f68 0x0 0x0 0x0 0x7f 0x7f\n") == .waiting)
    #endif
    #expect(AppAtRest.look(at: "running\n") == .atWork)
    #expect(AppAtRest.look(at: "-1 0x7f 0x7f\n") == .atWork)
    #expect(AppAtRest.look(at: "") == .atWork)
  }
}

/// An app that waits by sleeping. Tests themselves must never wait by sleeping.
private enum SleepingApp {
  static func task() async throws { try await Task.sleep(for: .milliseconds(350)) }
  static func suspendingTask() async throws { try await SuspendingClock().sleep(for: .milliseconds(350)) }
  static func thread() { Thread.sleep(forTimeInterval: 0.35) }
}

/// The process must not contain threads of other tests, so ``WorldTimeTests`` starts a process for each test.
@Suite(.waits, .enabled(if: TestBundle.isInner)) struct AppsAtRest {
  private static var patient: SimulatedWorld.Settings {
    var settings = SimulatedWorld.Settings()
    settings.patience = .seconds(86_400)
    return settings
  }

  @Test func nothingComes() async throws {
    try await withSimulatedWorld(Self.patient) { world in
      let echo = try await world.plugIn("echo")
      await world.unplug(echo)
      let came = await world.run(limit: .seconds(86_400)) { echo.isPluggedIn }
      #expect(!came)
    }
  }

  @Test func whatComesInRealTimeIsWaitedFor() async throws {
    let ways: [(@escaping @Sendable () -> Void) -> Void] = [
      { DispatchQueue.global().asyncAfter(deadline: .now() + 0.35, execute: $0) },
      { DispatchQueue.global().asyncAfter(wallDeadline: .now() + 0.35, execute: $0) },
      { come in
        Task {
          try await SleepingApp.task()
          come()
        }
      },
      { come in
        Task {
          try await SleepingApp.suspendingTask()
          come()
        }
      },
      { come in
        let timer = DispatchSource.makeTimerSource()
        timer.setEventHandler {
          timer.cancel()
          come()
        }
        timer.schedule(deadline: .now() + 0.35)
        timer.resume()
      },
      { come in
        Thread.detachNewThread {
          SleepingApp.thread()
          come()
        }
      },
      { come in
        Thread.detachNewThread {
          _ = DispatchSemaphore(value: 0).wait(timeout: .now() + 0.35)
          come()
        }
      },
      { come in
        Thread.detachNewThread {
          let timer = Timer(fire: Date(timeIntervalSinceNow: 0.35), interval: 0, repeats: false) { _ in come() }
          RunLoop.current.add(timer, forMode: .default)
          _ = RunLoop.current.run(mode: .default, before: .distantFuture)
        }
      },
    ]
    for (number, way) in ways.enumerated() {
      try await withSimulatedWorld(Self.patient) { world in
        let lock = NSLock()
        nonisolated(unsafe) var hasCome = false
        way { lock.withLock { hasCome = true } }
        await world.expect("way \(number)") { lock.withLock { hasCome } }
      }
    }
  }
}
