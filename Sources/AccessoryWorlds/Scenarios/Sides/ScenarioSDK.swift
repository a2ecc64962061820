import AccessoryCore
import AccessoryHost
import AccessorySessions

/// Another SDK in the app's process. To the system both are one app: they share its registrations and its sessions.
package final class ScenarioSDK {
  private let scenario: Scenario
  private let loop: any EventLoop
  private let report: (TimelineEvent) -> Void
  private weak var session: Session?

  /// An SDK without a session.
  package init(_ scenario: Scenario, on loop: any EventLoop, report: @escaping (TimelineEvent) -> Void) {
    self.scenario = scenario
    self.loop = loop
    self.report = report
  }

  /// Runs a step, in the app of this view; nil when it does not run.
  package func perform(_ action: AppAction, in view: AppView?) {
    guard let view else { return note("the app is not running, so this is skipped: a step of another SDK") }
    switch action {
    case .opensSession(let name):
      note("another SDK in the app opens a session with \(name)")
      open(name, in: view)
    case .closesSession:
      note("another SDK in the app closes its session")
      session?.close("another SDK closed it")
    // To the system it is the app; what happens to that happens to the app.
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
      // The view has logged why.
      session = nil
    }
  }

  private func note(_ text: String) {
    report(TimelineEvent(time: loop.now, side: .app, kind: .note(text)))
  }
}
