import AccessoryCore
import AccessoryHost
import AccessorySessions
import IAP2

/// An app that the steps of a scenario launch, suspend and kill. The app's client handles the events. Notifications to
/// the app under test also appear on the timeline.
package final class ScenarioApp {
  package private(set) var client: ScenarioClient
  /// Differences between the app's list of accessories and the lists that the steps expect, in the order of the steps.
  package private(set) var surprises: [ScenarioComparison.Difference] = []

  private let scenario: Scenario
  private let type: ScenarioClient.Type
  private let isOther: Bool
  private var name: String { isOther ? "the other app" : "the app" }
  private let device: Device
  private let report: (TimelineEvent) -> Void
  private var view: AppView?
  private let sdk: ScenarioSDK
  private var other: ScenarioApp?
  private var left: [AppView] = []
  private var hasRun = false

  /// Creates an app on `device`. The app under test runs from the start unless its first step launches it. If the client
  /// is nil, creates the other app, which is not running at first and opens a session only if a step tells it to.
  package init(
    _ scenario: Scenario, client type: ScenarioClient.Type?, on device: Device,
    report: @escaping (TimelineEvent) -> Void
  ) {
    self.scenario = scenario
    self.type = type ?? ScenarioClient.self
    isOther = type == nil
    self.device = device
    self.report = report
    sdk = ScenarioSDK(scenario, on: device.loop, report: report)
    client = Self.makeClient(self.type, scenario, on: device)
    if isOther { return }
    device.launchRequested = { [weak self] request in self?.launch(for: request) }
    if scenario.runsFromTheStart { launch() }
    other = ScenarioApp(scenario, client: nil, on: device, report: report)
  }

  private static func makeClient(
    _ type: ScenarioClient.Type, _ scenario: Scenario, on device: Device
  ) -> ScenarioClient {
    let client = type.init(wanting: scenario.wantedProtocol, on: device.loop)
    client.payload = CountingPattern.bytes(scenario.payload)
    client.interval = scenario.interval
    return client
  }

  package func perform(_ action: AppAction, of role: WorldAction.Role) {
    switch role {
    case .tested, .named: perform(action)
    case .sdk: sdk.perform(action, in: view)
    case .other: other?.perform(action)
    }
  }

  package func perform(_ action: AppAction) {
    switch action {
    case .launches:
      log(.note(view == nil ? "\(name) is launched" : "\(name) is already running"))
      launch()
    case .quits: with("it quits") { _ in end("\(name) ended", leavesSessions: false) }
    case .ends(let ending, let leavesSessions):
      with("its process \(ending == .kill ? "is killed" : "crashes")") { _ in
        end("\(name) \(ending.past)", leavesSessions: leavesSessions)
      }
    case .registers: with("an object in its process registers for notifications") { $0.register() }
    case .unregisters: with("an object in its process unregisters for notifications") { $0.unregister() }
    case .moves(let state): with(state.story) { move($0, to: state) }
    case .opensSession(let name): with("the user opens a session with \(name)") { open($0, name) }
    case .closesSession: with("the user ends the session") { _ in client.closeCurrent() }
    case .looks(let names): with("it reads the list") { look($0, names) }
    }
  }

  package func quit() {
    end("\(name) ended", leavesSessions: false)
    for view in left { view.close() }
    left = []
    other?.quit()
  }

  private func end(_ reason: String, leavesSessions: Bool) {
    guard let ended = view else { return }
    view = nil
    client.endProcess()
    if leavesSessions { left.append(ended) } else { ended.close(reason) }
  }

  private func launch() {
    guard view == nil else { return }
    // A new process does not have the state of the previous process.
    if hasRun { client = Self.makeClient(type, scenario, on: device) }
    hasRun = true
    client.onCrash = { [weak self, unowned client] reason in
      guard let self, self.client === client, self.view != nil else { return }
      log(.warning("\(name) crashes: \(reason)"))
      end("\(name) crashed", leavesSessions: false)
    }
    let view = device.makeApp(NotificationHandler(of: self), settings: scenario.app)
    self.view = view
    client.beginning = device.loop.now
    client.launched(view)
  }

  private func launch(for request: AppLaunchRequest) {
    guard view == nil else { return log(.note("the app \(request.bundleID) is already running")) }
    log(.note("the system launches the app \(request.bundleID), as requested by the accessory"))
    launch()
  }

  private func with(_ story: String, _ body: (AppView) -> Void) {
    guard let view else { return log(.note("\(name) is not running, so this step is skipped: \(story)")) }
    log(.note("\(name): \(story)"))
    body(view)
  }

  private func move(_ view: AppView, to state: AppState) {
    view.move(to: state)
    if state != .suspended { client.runAgain() }
    if state == .foreground { client.becameActive(view) }
  }

  private func open(_ view: AppView, _ name: String) {
    guard let accessory = view.accessories.last(where: { scenario.namesBySerial[$0.serialNumber] == name }) else {
      return log(.note("\(self.name) does not see \(name)"))
    }
    client.userWants(accessory, view)
  }

  private func look(_ view: AppView, _ expected: [String]) {
    let seen = view.accessories.map { scenario.namesBySerial[$0.serialNumber] ?? $0.serialNumber }
    let isRight = seen == expected
    func text(_ names: [String]) -> String { names.isEmpty ? "nothing" : names.joined(separator: ", ") }
    log(.result(passed: isRight, "\(name)'s list contains \(text(seen))"))
    guard !isRight else { return }
    let now = device.loop.now
    let sentence = "expected \(text(expected)) in the app's list at \(now.secondsText) s, found \(text(seen))"
    surprises.append(.init(description: sentence, time: now))
  }

  // MARK: Notifications

  /// The handler for the app's view. The handler is a separate object because the app retains its view.
  private final class NotificationHandler: AppHandler {
    private weak var app: ScenarioApp?

    init(of app: ScenarioApp) {
      self.app = app
    }

    func accessoryDidConnect(_ accessory: PublishedAccessory, _ view: AppView) {
      app?.notify(.connect, accessory, view) { $0.accessoryDidConnect(accessory, view) }
    }

    func accessoryDidDisconnect(_ accessory: PublishedAccessory, _ view: AppView) {
      app?.notify(.disconnect, accessory, view) { $0.accessoryDidDisconnect(accessory, view) }
    }
  }

  /// Notifies the client. A process that has ended receives no events, even if its sessions are still open.
  private func notify(
    _ kind: TimelineEvent.Kind, _ accessory: PublishedAccessory, _ view: AppView, _ body: (ScenarioClient) -> Void
  ) {
    guard self.view === view else { return }
    // Expectations apply only to the app under test.
    if !isOther { log(kind, accessory) }
    body(client)
  }

  private func log(_ kind: TimelineEvent.Kind, _ accessory: PublishedAccessory? = nil) {
    let subject = accessory.map(TimelineEvent.Subject.init)
    report(TimelineEvent(time: device.loop.now, side: .app, kind: kind, subject: subject))
  }
}

extension AppState {
  fileprivate var story: String {
    switch self {
    case .foreground: "it comes to the foreground"
    case .background: "it goes to the background"
    case .suspended: "it is suspended"
    }
  }
}

extension Scenario {
  /// True if the app is already running at the start, that is, if its first step is not a launch.
  fileprivate var runsFromTheStart: Bool {
    for step in steps {
      guard case .app(let action, .tested) = step.action else { continue }
      switch action {
      case .launches: return false
      case .quits, .ends: return true
      default: continue
      }
    }
    return true
  }
}

/// Another SDK in the app's process. To the system, the app and the SDK are one app with shared registrations and
/// sessions.
package final class ScenarioSDK {
  private let scenario: Scenario
  private let loop: any EventLoop
  private let report: (TimelineEvent) -> Void
  private weak var session: Session?

  package init(_ scenario: Scenario, on loop: any EventLoop, report: @escaping (TimelineEvent) -> Void) {
    self.scenario = scenario
    self.loop = loop
    self.report = report
  }

  package func perform(_ action: AppAction, in view: AppView?) {
    guard let view else { return note("the app is not running, so this step is skipped: a step of another SDK") }
    switch action {
    case .opensSession(let name):
      note("another SDK in the app opens a session with \(name)")
      open(name, in: view)
    case .closesSession:
      note("another SDK in the app closes its session")
      session?.close("another SDK closed it")
    // The app performs these actions, because they affect the whole app, including the SDK.
    case .launches, .quits, .ends, .registers, .unregisters, .moves, .looks: break
    }
  }

  private func open(_ name: String, in view: AppView) {
    guard let accessory = view.accessories.last(where: { scenario.namesBySerial[$0.serialNumber] == name }) else {
      return note("the app does not see \(name)")
    }
    guard let wanted = accessory.protocols.first else { return note("\(name) offers no protocols yet") }
    do {
      let opened = try view.openSession(with: accessory, protocolName: wanted)
      opened.handler = Discarder()
      session = opened
    } catch {
      // The view has already logged why the session could not be opened.
      session = nil
    }
  }

  private func note(_ text: String) {
    report(TimelineEvent(time: loop.now, side: .app, kind: .note(text)))
  }
}
