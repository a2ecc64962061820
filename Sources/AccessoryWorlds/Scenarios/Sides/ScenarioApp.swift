import AccessoryCore
import AccessoryHost
import AccessorySessions

/// The app of a scenario: launched and sent to sleep by its steps, with a client in it that makes of all that what it
/// can. What the app is told is told on the timeline, too, at the side of the app.
package final class ScenarioApp {
  let client: ScenarioClient
  /// Where the app's list of accessories was not what a step says; in the order of the steps.
  private(set) var surprises: [ScenarioComparison.Difference] = []

  private let scenario: Scenario
  private let device: Device
  private let report: (TimelineEvent) -> Void
  private var view: AppView?

  /// An app on `device`, running unless a step launches it.
  package init(
    _ scenario: Scenario, client: ScenarioClient.Type, on device: Device, report: @escaping (TimelineEvent) -> Void
  ) {
    self.scenario = scenario
    self.device = device
    self.report = report
    self.client = client.init(wanting: scenario.wantedProtocol, on: device.loop)
    self.client.payload = CountingPattern.bytes(scenario.payload)
    if !scenario.steps.contains(where: { $0.action == .app(.launches) }) { launch() }
  }

  /// Does what a step says.
  package func perform(_ action: Scenario.AppAction) {
    switch action {
    case .launches: launch()
    case .quits: quit()
    case .registers: with("somebody in its process registers for notifications") { $0.register() }
    case .unregisters: with("somebody in its process takes a registration back") { $0.unregister() }
    case .moves(let state): with(state.story) { move($0, to: state) }
    case .opensSession(let name): with("its user asks for a session with \(name)") { open($0, name) }
    case .closesSession: with("its user ends the session") { _ in client.closeCurrent() }
    case .looks(let names): with("it looks at its list") { look($0, names) }
    }
  }

  /// Looks no longer. Its sessions end.
  package func quit() {
    view?.close()
    view = nil
  }

  private func launch() {
    guard view == nil else { return }
    let view = device.makeApp(Ears(of: self), settings: scenario.app)
    self.view = view
    client.beginning = device.loop.now
    client.launched(view)
  }

  private func with(_ story: String, _ body: (AppView) -> Void) {
    guard let view else { return tell(.note("the app does not run: not done: \(story)")) }
    tell(.note("the app: \(story)"))
    body(view)
  }

  private func move(_ view: AppView, to state: AppState) {
    view.move(to: state)
    if state != .suspended { client.runAgain() }
    if state == .foreground { client.becameActive(view) }
  }

  private func open(_ view: AppView, _ name: String) {
    guard let accessory = view.accessories.last(where: { scenario.namesBySerial[$0.serialNumber] == name }) else {
      return tell(.note("the app does not see \(name)"))
    }
    client.userWants(accessory, view)
  }

  private func look(_ view: AppView, _ expected: [String]) {
    let seen = view.accessories.map { scenario.namesBySerial[$0.serialNumber] ?? $0.serialNumber }
    let isRight = seen == expected
    func text(_ names: [String]) -> String { names.isEmpty ? "nothing" : names.joined(separator: ", ") }
    tell(.result(passed: isRight, "the app's list holds \(text(seen))"))
    guard !isRight else { return }
    surprises.append(.init(list: text(expected), instead: text(seen), at: device.loop.now))
  }

  // MARK: What the app is told

  /// What the view holds in place of the app, which holds the view.
  private final class Ears: AppHandler {
    private weak var app: ScenarioApp?

    init(of app: ScenarioApp) {
      self.app = app
    }

    func accessoryDidConnect(_ accessory: PublishedAccessory, _ view: AppView) {
      app?.tell(.connect, accessory)
      app?.client.accessoryDidConnect(accessory, view)
    }

    func accessoryDidDisconnect(_ accessory: PublishedAccessory, _ view: AppView) {
      app?.tell(.disconnect, accessory)
      app?.client.accessoryDidDisconnect(accessory, view)
    }
  }

  private func tell(_ kind: TimelineEvent.Kind, _ accessory: PublishedAccessory? = nil) {
    let subject = accessory.map(TimelineEvent.Subject.init)
    report(TimelineEvent(time: device.loop.now, side: .app, kind: kind, subject: subject))
  }
}

extension AppState {
  fileprivate var story: String {
    switch self {
    case .foreground: "it comes to the screen"
    case .background: "it runs in the background"
    case .suspended: "it is suspended"
    }
  }
}
