import ExternalAccessory
import Testing

@testable import ExternalAccessorySimulation

@Suite struct BusyMainLoopTests {
  /// Each stream event is also put on the main queue, for programs whose main run loop is not running. A busy thread
  /// once took fewer items from the main queue than its streams added, so the queue grew and delayed notifications.
  @Test func theMainQueueDoesNotGrowWithTheEventsOfAStream() async throws {
    try await withOpenSession { world, parts in
      let recorder = StreamRecorder(parts.session)
      parts.session.start(recorder, on: .main)
      await world.settle()
      parts.far.send([1, 2, 3])
      let input = try #require(parts.session.inputStream)
      let waiting = DispatchQueue.main.sync { () -> Int in
        if let virtual = world.virtual { virtual.run(until: virtual.now) }
        // Each scheduling of the stream announces its bytes again.
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
