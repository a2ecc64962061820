import AccessoryCore
import AccessoryHost
import AccessorySessions

/// The app of a scenario, launched and suspended by its steps, with a client in it that handles what happens. The
/// app's notifications appear on the timeline as well, with the app as their side.
package final class ScenarioApp {
  let client: ScenarioClient
  /// Where the app's list of accessories differed from what a step expects, in the order of the steps.
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

  /// Runs a step.
  package func perform(_ action: Scenario.AppAction) {
    switch action {
    case .launches: launch()
    case .quits: quit()
    case .registers: with("an object in its process registers for notifications") { $0.register() }
    case .unregisters: with("an object in its process unregisters for notifications") { $0.unregister() }
    case .moves(let state): with(state.story) { move($0, to: state) }
    case .opensSession(let name): with("the user opens a session with \(name)") { open($0, name) }
    case .closesSession: with("the user ends the session") { _ in client.closeCurrent() }
    case .looks(let names): with("it reads the list") { look($0, names) }
    }
  }

  /// Stops. Its sessions end.
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
    guard let view else { return tell(.note("the app is not running, so this is skipped: \(story)")) }
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
    tell(.result(passed: isRight, "the app's list contains \(text(seen))"))
    guard !isRight else { return }
    surprises.append(.init(list: text(expected), instead: text(seen), at: device.loop.now))
  }

  // MARK: Notifications

  /// The view's handler; a separate object, because the app holds the view.
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
    case .foreground: "it comes to the foreground"
    case .background: "it goes to the background"
    case .suspended: "it is suspended"
    }
  }
}
