import ExternalAccessory
import ExternalAccessoryAsync
import ExternalAccessorySimulation
import Testing

@Suite struct AsyncTests {
  private final class Collected: @unchecked Sendable {
    private let lock = NSLock()
    private var list: [String] = []
    private var bytes: [UInt8] = []

    func add(_ word: String) { lock.withLock { list.append(word) } }
    func add(_ more: [UInt8]) { lock.withLock { bytes += more } }
    var words: [String] { lock.withLock { list } }
    var received: [UInt8] { lock.withLock { bytes } }
  }

  @Test func eventsComeInOrderAndTheRegistrationIsTakenBack() async throws {
    try await withSimulatedWorld { world in
      let seen = Collected()
      let events = manager.events
      let task = Task {
        for await event in events {
          if case .connected(let accessory) = event {
            seen.add("connected \(accessory.protocolStrings.count)")
          } else {
            seen.add("disconnected")
          }
        }
      }
      #expect(world.registrationCount == 1)
      try world.add("lawk-view", quirks: ["flicker"]).plugIn()
      await world.run { seen.words.count == 3 }
      #expect(seen.words == ["connected 0", "disconnected", "connected 1"])
      task.cancel()
      await task.value
      #expect(world.registrationCount == 0)
    }
  }

  /// The camera's frames use native transport, which must not affect this test.
  @Test(arguments: [("echo", "com.example.echo"), ("camera", "com.example.camera.frames")])
  func bytesGoBothWaysAtThePaceOfTheSlowerSideUntilTheEnd(profile: String, protocolName: String) async throws {
    try await withSimulatedWorld(.with { $0.bufferSizes = 4096 }) { world in
      let echo = try await world.plugIn(profile)
      let accessory = try #require(manager.connectedAccessories.first)
      let connection = try AccessoryConnection(to: accessory, for: protocolName)
      let seen = Collected()
      let reader = Task { for try await bytes in connection.bytes { seen.add(bytes) } }
      let writer = Task { try await connection.write(counting(100_000)) }
      await world.run { seen.received.count == 100_000 }
      #expect(seen.received == counting(100_000))
      try await writer.value
      await world.unplug(echo)
      try await reader.value
      await #expect(throws: (any Error).self) { try await connection.write([1]) }
      #expect(world.misuses == [])
    }
  }

  @Test func whoLeavesTheLoopOrNeverBeginsItTakesTheRegistrationBack() async throws {
    try await withSimulatedWorld { world in
      let seen = Collected()
      let task = Task {
        for await event in manager.events {
          seen.add(event.accessory.name)
          break
        }
      }
      await world.run { world.registrationCount == 1 }
      try world.add("echo").plugIn()
      await world.run { world.registrationCount == 0 }
      #expect(seen.words == ["Echo"])
      #expect(world.registrationCount == 0)
      await task.value
      _ = manager.events
      #expect(world.registrationCount == 0)
      #expect(world.misuses == [])
    }
  }

  /// Opens a session whose accessory end the test controls.
  private func connect(_ world: SimulatedWorld) async throws -> (connection: AccessoryConnection, far: WorldSession) {
    let (echo, accessory) = try await plugInEcho(world)
    let connection = try AccessoryConnection(to: accessory, for: "com.example.echo")
    await world.run { !echo.sessions.isEmpty }
    return (connection, try #require(echo.sessions.first))
  }

  @Test func aReaderAndAWriterCanBeCancelledAndTheNextGoOn() async throws {
    try await withSimulatedWorld(.with { $0.bufferSizes = 1000 }) { world in
      let (connection, far) = try await connect(world)
      let seen = Collected()
      far.isStalled = true
      let writer = Task {
        do { try await connection.write(counting(2_000_000)) } catch { seen.add("writer: \(type(of: error))") }
      }
      let reader = Task {
        do { for try await _ in connection.bytes {} } catch { seen.add("reader: \(type(of: error))") }
      }
      await world.settle()
      #expect(seen.words == [])
      writer.cancel()
      await writer.value
      reader.cancel()
      await reader.value
      #expect(seen.words == ["writer: CancellationError", "reader: CancellationError"])
      far.isStalled = false
      await world.settle()
      let isInOrder = far.received == Array(counting(2_000_000).prefix(far.received.count))
      #expect(isInOrder)
      let before = far.received.count
      try await connection.write([7, 8, 9])
      await world.run { far.received.count == before + 3 }
      #expect(far.received.suffix(3) == [7, 8, 9])
      // The bytes that the cancelled writer had not written yet are lost. The number of lost bytes depends on when the
      // writer was cancelled.
      #expect(world.misuses.filter { !$0.contains("the rest was never written") } == [])
    }
  }

  /// No bytes are read before the app asks for them. While a task is reading, virtual time stands still. The accessory
  /// therefore does not give up, even if the task has to wait a long time for a thread.
  @Test func nobodyReadsAndTheAccessoryIsHeldBackAndNobodyIsLate() async throws {
    try await withSimulatedWorld(.with { $0.bufferSizes = 10_000 }) { world in
      let (connection, far) = try await connect(world)
      let seen = Collected()
      far.send(counting(1_000_000))
      await world.settle()
      #expect(far.unsent > 400_000)
      let reader = Task { for try await bytes in connection.bytes { seen.add(bytes) } }
      await world.run(limit: .seconds(5)) { seen.received.count == 1_000_000 }
      let isWhole = seen.received == counting(1_000_000)
      #expect(isWhole, "\(seen.received.count) bytes")
      #expect(far.isOpen)
      reader.cancel()
      _ = await reader.result
    }
  }

  @Test func aConnectionThatIsLetGoOfClosesItsSession() async throws {
    try await withSimulatedWorld { world in
      var connection: AccessoryConnection?
      let far: WorldSession
      (connection, far) = try await connect(world)
      #expect(connection != nil)
      connection = nil
      await world.settle()
      #expect(!far.isOpen)
      #expect(world.openSessions == [])
      #expect(world.misuses == [])
    }
  }

  @Test func severalWritersAndReadersAllComeToAnEnd() async throws {
    try await withSimulatedWorld(.with { $0.bufferSizes = 512 }) { world in
      let (connection, far) = try await connect(world)
      let seen = Collected()
      for number in 0..<3 {
        Task {
          try await connection.write(Array(repeating: UInt8(number), count: 5000))
          seen.add("written")
        }
        Task {
          for try await _ in connection.bytes {}
          seen.add("ended")
        }
      }
      await world.run(limit: .seconds(5)) { far.received.count == 15_000 && seen.words.count == 3 }
      #expect(seen.words == ["written", "written", "written"])
      #expect(far.received.sorted() == (0..<3).flatMap { Array(repeating: UInt8($0), count: 5000) })
      far.close()
      await world.run(limit: .seconds(5)) { seen.words.count == 6 }
      #expect(seen.words.suffix(3) == ["ended", "ended", "ended"])
    }
  }

  @Test func thereIsNoConnectionWhereThereIsNoSession() async throws {
    try await withSimulatedWorld { world in
      try await world.plugIn("echo")
      let accessory = try #require(manager.connectedAccessories.first)
      #expect(throws: AccessoryConnection.Failure.noSession) {
        try AccessoryConnection(to: accessory, for: "com.example.other")
      }
    }
  }
}
