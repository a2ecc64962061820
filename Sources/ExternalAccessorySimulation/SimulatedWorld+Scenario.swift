public import AccessoryWorlds
import ExternalAccessory

/// Playing what goes wrong in the field, with the app under test in it.
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

  /// Begins to play the scenario of ``Settings/init(scenario:)``: its accessories, its cables, its device, and what
  /// happens to the app from outside.
  ///
  /// - Parameter app: asked, on the main thread, for what only the app can do: to launch and to quit, to open and to
  ///   close a session because its user wants it, to look at its list.
  /// - Returns: the accessories, by the names that the scenario gives them.
  @discardableResult
  public func playScenario(
    asking app: @escaping @Sendable (Scenario.AppAction) -> Void = { _ in }
  )
    -> [String: WorldAccessory]
  {
    play { [unowned self] action in
      switch action {
      case .moves(let state): move(to: state)
      case .registers: realm.app.register()
      case .unregisters: realm.app.unregister()
      case .launches, .quits, .opensSession, .closesSession, .looks: realm.main.add { app(action) }
      }
    }
  }

  /// Plays the scenario with an app that is asked on the loop.
  func play(_ app: @escaping (Scenario.AppAction) -> Void) -> [String: WorldAccessory] {
    guard let scenario = settings.scenario else {
      preconditionFailure("a world plays the scenario that its settings were made from")
    }
    precondition(perform { _ in timeline == nil }, "a world plays its scenario once")
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
        case .deviceHeedsCables(let heeds): inner.device.heedsCables = heeds
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
