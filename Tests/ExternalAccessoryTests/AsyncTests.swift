import ExternalAccessory
import ExternalAccessoryAsync
import ExternalAccessorySimulation
import Testing

/// ExternalAccessoryAsync, over the public API.
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

  /// The camera's frames go by native transport, and nothing here can tell.
  @Test(arguments: [("echo", "com.example.echo"), ("camera", "com.example.camera.frames")])
  func bytesGoBothWaysAtThePaceOfTheSlowerSideUntilTheEnd(profile: String, protocolName: String) async throws {
    var settings = SimulatedWorld.Settings()
    settings.bufferSize = 4096
    try await withSimulatedWorld(settings) { world in
      let echo = try world.add(profile)
      echo.plugIn()
      await world.settle()
      let accessory = try #require(manager.connectedAccessories.first)
      let connection = try AccessoryConnection(to: accessory, for: protocolName)
      let seen = Collected()
      let reader = Task { for try await bytes in connection.bytes { seen.add(bytes) } }
      let writer = Task { try await connection.write(counting(100_000)) }
      await world.run { seen.received.count == 100_000 }
      #expect(seen.received == counting(100_000))
      try await writer.value
      echo.unplug()
      await world.settle()
      try await reader.value
      await #expect(throws: (any Error).self) { try await connection.write([1]) }
      #expect(world.misuses == [])
    }
  }

  @Test func thereIsNoConnectionWhereThereIsNoSession() async throws {
    try await withSimulatedWorld { world in
      try world.add("echo").plugIn()
      await world.settle()
      let accessory = try #require(manager.connectedAccessories.first)
      #expect(throws: AccessoryConnection.Failure.noSession) {
        try AccessoryConnection(to: accessory, for: "com.example.other")
      }
    }
  }
}
