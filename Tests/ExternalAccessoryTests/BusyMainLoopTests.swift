import ExternalAccessory
import Testing

@testable import ExternalAccessorySimulation

@Suite struct BusyMainLoopTests {
  /// A stream event also adds an item to the main queue, for programs whose main run loop is not running. Streams used
  /// to add items faster than a busy main thread removed them, so the queue grew and notifications were delayed.
  @Test func theMainQueueDoesNotGrowWithTheEventsOfAStream() async throws {
    try await withOpenSession { world, parts in
      let recorder = StreamRecorder(parts.session)
      parts.session.start(recorder, on: .main)
      await world.settle()
      parts.far.send([1, 2, 3])
      let input = try #require(parts.session.inputStream)
      let waiting = DispatchQueue.main.sync { () -> Int in
        if let virtual = world.virtual { virtual.run(until: virtual.now) }
        // Each time the stream is scheduled, it reports its available bytes again.
        for _ in 0..<100 {
          input.remove(from: .main, forMode: .default)
          input.schedule(in: .main, forMode: .default)
        }
        return world.realm.main.backlog
      }
      #expect((1...2).contains(waiting), "one for each stream, and not \(waiting)")
      await world.settle()
      #expect(recorder.received == [1, 2, 3])
      #expect(world.realm.main.isEmpty)
      parts.session.stop()
    }
  }
}
