public import AccessoryWorlds
import ExternalAccessory

/// Playing a scenario with the app under test in it.
///
/// ```swift
/// try await withSimulatedWorld(.init(scenario: "transport-switch")) { world in
///   let app = App()
///   world.playScenario()
///   await world.advance(by: world.scenarioLength)
///   #expect(app.isConnected)
/// }
/// ```
extension SimulatedWorld {
  /// How long the scenario of ``Settings/init(scenario:)`` takes.
  public var scenarioLength: Duration { settings.scenario?.length ?? .zero }

  /// Starts the scenario of ``Settings/init(scenario:)``: its accessories, its cables, its device, and what happens to the
  /// app from outside.
  ///
  /// - Parameter app: called on the main thread for what only the app can do: launch, quit, open or close a session because
  ///   its user wants it, look at its list of accessories.
  /// - Returns: the accessories, by their names in the scenario.
  @discardableResult
  public func playScenario(
    asking app: @escaping @Sendable (Scenario.AppAction) -> Void = { _ in }
  )
    -> [String: WorldAccessory]
  {
    play { [unowned self] action in
      switch action {
      case .moves(let state): move(to: state)
      case .registers: realm.app?.register()
      case .unregisters: realm.app?.unregister()
      case .launches, .quits, .opensSession, .closesSession, .looks: realm.main.add { app(action) }
      }
    }
  }

  /// Plays the scenario, with `app` called on the loop.
  func play(_ app: @escaping (Scenario.AppAction) -> Void) -> [String: WorldAccessory] {
    guard let scenario = settings.scenario else {
      preconditionFailure("playScenario needs a world made with SimulatedWorld.Settings(scenario:)")
    }
    precondition(perform { _ in timeline == nil }, "playScenario can be called once for each world")
    var parts: [String: WorldAccessory] = [:]
    for part in scenario.accessories { parts[part.name] = add(part.profile) }
    perform { [parts] inner in
      let made = ScenarioTimeline(scenario, holds: false, on: realm.entrance.loop) { action in
        switch action {
        case .accessoryPlugsIn(let name): parts[name]?.plugIn()
        case .accessoryUnplugs(let name): parts[name]?.unplug()
        case .accessoryClosesSessions(let name): parts[name]?.closeSessions()
        case .cablePulled(let name): parts[name]?.pull()
        case .cablePulledUnnoticed(let name): parts[name]?.pull(unnoticed: true)
        case .deviceHeedsCables(let heeds): inner.device.noticesCables = heeds
        case .deviceResetsLink(let name): parts[name]?.resetLink()
        case .app(let action): app(action)
        }
      }
      timeline = made
      made.start()
    }
    return parts
  }
}
