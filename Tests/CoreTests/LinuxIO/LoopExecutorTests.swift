import AccessoryCore
import LinuxIO
import TestSupport
import Testing

@Suite(.waits, .timeLimit(.minutes(10))) struct LoopExecutorTests {
  actor Counter {
    nonisolated let loop: EpollLoop
    private(set) var count = 0

    init(on loop: EpollLoop) { self.loop = loop }

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    func add() -> Bool {
      count += 1
      return loop.isCurrent
    }
  }

  @Test func anActorOnALoopRunsThereAndNeverForTwoTasksAtOnce() async throws {
    let loop = try EpollLoop()
    try loop.start()
    let counter = Counter(on: loop)
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<50 { group.addTask { for _ in 0..<100 { #expect(await counter.add()) } } }
    }
    #expect(await counter.count == 5_000)
    loop.stop()
  }

  @Test func aTaskThatPrefersALoopRunsAndResumesThere() async throws {
    let loop = try EpollLoop()
    try loop.start()
    let places = await Task(executorPreference: loop) {
      var places = [loop.isCurrent]
      await Task.yield()
      places.append(loop.isCurrent)
      await withCheckedContinuation { continuation in
        loop.execute { continuation.resume() }
      }
      places.append(loop.isCurrent)
      return places
    }.value
    loop.stop()
    #expect(places == [true, true, true])
  }

  @Test func aHandlerOnTheLoopReachesTheActorWithoutWaiting() throws {
    let loop = try EpollLoop()
    let counter = Counter(on: loop)
    var seen = 0
    loop.schedule(after: .zero) {
      seen = counter.assumeIsolated { counter in
        _ = counter.add()
        return counter.count
      }
    }
    #expect(loop.run(until: { seen > 0 }, limit: hangLimit))
    #expect(seen == 1)
  }

  @Test func elsewhereTheActorIsNotToBeTouched() async {
    await #expect(processExitsWith: .failure) {
      func touch(_ counter: Counter) { _ = counter.assumeIsolated { $0.add() } }
      // This process must fail only because of the expected trap.
      guard let loop = try? EpollLoop() else { return }
      touch(Counter(on: loop))
    }
  }
}
