public import AccessoryWorlds
import ExternalAccessory

/// Plays a scenario that includes the app under test.
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
  /// An action that ``playScenario(asking:)`` asks the app to perform.
  public typealias Wish = AppAction

  /// The duration of the scenario that was passed to ``Settings/init(scenario:)``.
  public var scenarioLength: Duration { settings.scenario?.length ?? .zero }

  /// Starts the scenario that was passed to ``Settings/init(scenario:)``: its accessories, its cables, its device, and
  /// everything that affects the app from outside.
  ///
  /// Before `app` is called for a step that kills, crashes or launches the app, the world performs that step
  /// (``killApp(sessions:)``, ``launchApp()``). The world simulates all other SDKs and apps.
  ///
  /// - Parameter app: called on the main thread for each action that only the app can perform: launching, quitting,
  ///   opening or closing a session at the user's request, and reading the list of accessories. For `.ends`, release
  ///   the app's objects. For `.launches`, create new ones.
  /// - Returns: the accessories, by their names in the scenario.
  @discardableResult
  public func playScenario(
    asking app: @escaping @Sendable (Wish) -> Void = { _ in }
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

  /// Plays the scenario. Calls `app` on the loop for each of the app's actions, and `sdk` for each action of another
  /// SDK in the app. If `sdk` is nil, the world simulates that SDK.
  func play(
    sdk: ((AppAction) -> Void)? = nil, _ app: @escaping (AppAction) -> Void
  ) -> [String: WorldAccessory] {
    guard let scenario = settings.scenario else {
      preconditionFailure("playScenario needs a world created with SimulatedWorld.Settings(scenario:)")
    }
    precondition(perform { _ in timeline == nil }, "playScenario can be called once for each world")
    var parts: [String: WorldAccessory] = [:]
    for part in scenario.accessories { parts[part.name] = add(part.profile) }
    perform { [parts] inner in
      let other = ScenarioApp(scenario, client: nil, on: inner.device) { [unowned inner] in inner.record($0) }
      let second = ScenarioSDK(scenario, on: inner.loop) { [unowned inner] in inner.record($0) }
      let sdk = sdk ?? { [realm] in second.perform($0, in: realm.app) }
      otherApp = other
      let actions = ActionPlayer(in: inner) {
        parts[$0]?.simulated
      } app: { action, role in
        switch role {
        case .tested, .named: app(action)
        case .sdk: sdk(action)
        case .other: other.perform(action)
        }
      }
      let made = ScenarioTimeline(scenario, holds: false, on: realm.entrance.loop) { action in
        do { try actions.perform(action) } catch {
          preconditionFailure("plugging in an in-memory cable failed: \(error)")
        }
      }
      timeline = made
      made.start()
    }
    return parts
  }
}
