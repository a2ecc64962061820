import ExternalAccessory
import ExternalAccessorySimulation
import Testing

@Suite struct NotificationSequenceTests {
  private actor App {
    private(set) var names: [String] = []

    func listen() async {
      for await note in NotificationCenter.default.notifications(named: .EAAccessoryDidConnect) {
        names.append((note.userInfo?[EAAccessoryKey] as? EAAccessory)?.name ?? "none")
      }
      names.append("ended")
    }
  }

  @Test func connectsComeOneAfterAnotherUntilTheTaskIsCancelled() async throws {
    try await withSimulatedWorld { world in
      let app = App()
      manager.registerForLocalNotifications()
      let task = Task { await app.listen() }
      let echo = try world.add("echo")
      for count in 1... {
        await world.plugIn(echo)
        await world.unplug(echo)
        // The first notifications may be posted before the task is listening.
        if await app.names.count >= 3 || count > 1000 { break }
      }
      task.cancel()
      await task.value
      #expect(await app.names.last == "ended")
      #expect(await app.names.dropLast().allSatisfy { $0 == "Echo" })
    }
  }
}
