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
  /// A step that kills, crashes or launches the app does so in the world first (``killApp(sessions:)``, ``launchApp()``).
  /// Another SDK in the app, and another app, are played by the world.
  ///
  /// - Parameter app: called on the main thread for what only the app can do: launch, quit, open or close a session because
  ///   its user wants it, look at its list of accessories. At `.ends` let go of the app's objects, at `.launches` make new
  ///   ones.
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
      case .ends(let ending, let leavesSessions):
        let sessions: SessionsOfEndedApp = leavesSessions ? .left : .closed
        if ending == .kill { killApp(sessions: sessions) } else { crashApp(sessions: sessions) }
        realm.main.add { app(action) }
      case .launches:
        if realm.app == nil { launchApp() }
        realm.main.add { app(action) }
      case .quits, .opensSession, .closesSession, .looks: realm.main.add { app(action) }
      }
    }
  }

  /// Plays the scenario, with `app` called on the loop, and `sdk` for what another SDK in the app does; the world plays that
  /// when it is nil.
  func play(
    sdk: ((Scenario.SDKAction) -> Void)? = nil, _ app: @escaping (Scenario.AppAction) -> Void
  ) -> [String: WorldAccessory] {
    guard let scenario = settings.scenario else {
      preconditionFailure("playScenario needs a world made with SimulatedWorld.Settings(scenario:)")
    }
    precondition(perform { _ in timeline == nil }, "playScenario can be called once for each world")
    var parts: [String: WorldAccessory] = [:]
    for part in scenario.accessories { parts[part.name] = add(part.profile) }
    perform { [parts] inner in
      let other = ScenarioApp(besideTheAppOf: scenario, on: inner.device) { [unowned inner] in inner.tell($0) }
      let second = ScenarioSDK(scenario, on: inner.loop) { [unowned inner] in inner.tell($0) }
      let sdk = sdk ?? { [realm] in second.perform($0, in: realm.app) }
      otherApp = other
      let made = ScenarioTimeline(scenario, holds: false, on: realm.entrance.loop) { action in
        switch action {
        case .accessoryPlugsIn(let name): parts[name]?.plugIn()
        case .accessoryUnplugs(let name): parts[name]?.unplug()
        case .accessoryClosesSessions(let name): parts[name]?.closeSessions()
        case .accessoryForgetsSessions(let name): parts[name]?.forgetSessions()
        case .cablePulled(let name): parts[name]?.pull()
        case .cablePulledUnnoticed(let name): parts[name]?.pull(unnoticed: true)
        case .deviceHeedsCables(let heeds): inner.device.noticesCables = heeds
        case .deviceResetsLink(let name): parts[name]?.resetLink()
        case .accessorySays(let name, let saying): parts[name]?.say(saying)
        case .deviceSays(let name, let saying): parts[name]?.deviceSays(saying)
        case .app(let action): app(action)
        case .sdk(let action): sdk(action)
        case .otherApp(let action): other.perform(action)
        }
      }
      timeline = made
      made.start()
    }
    return parts
  }
}
