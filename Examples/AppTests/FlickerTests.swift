import ExternalAccessory
import ExternalAccessorySimulation
import Testing

final class App: @unchecked Sendable {
  var (session, log): (EASession?, [String]) = (nil, [])
  private var tokens: [any NSObjectProtocol] = []
  init() {
    EAAccessoryManager.shared().registerForLocalNotifications()
    for name in [Notification.Name.EAAccessoryDidConnect, .EAAccessoryDidDisconnect] {
      tokens.append(
        NotificationCenter.default.addObserver(forName: name, object: nil, queue: .main) { [self] note in
          guard let accessory = note.userInfo?[EAAccessoryKey] as? EAAccessory else { return }
          log.append("\(name == .EAAccessoryDidConnect ? "connect" : "disconnect") \(accessory.protocolStrings.count)")
          session = EASession(accessory: accessory, forProtocol: "com.lawaken.iap2")
        })
    }
  }
}

@Test func theAppSurvivesTheFlicker() async throws {
  try await withSimulatedWorld { world in
    let app = App()
    try world.add("lawk-view", quirks: ["flicker"]).plugIn()
    #expect(await world.run { app.session != nil })
    #expect(app.log == ["connect 0", "disconnect 0", "connect 1"])
    #expect(world.misuses == [])
  }
}
