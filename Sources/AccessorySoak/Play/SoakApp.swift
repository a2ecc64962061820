import AccessoryCore
import AccessoryHost
import AccessorySessions

/// An app in a seeded world, which opens the sessions in its plan as accessories appear.
final class SoakApp: AppHandler {
  private let plan: SoakPlan.App
  private let loop: any EventLoop
  private let record: SoakRecord
  private let opened: (Session, PublishedAccessory, SoakStreamPlan) -> Void
  private var next = 0
  private var timers: [LoopTimer] = []

  /// `opened` is called with each new session before the session receives any events.
  init(
    _ plan: SoakPlan.App, on loop: any EventLoop, _ record: SoakRecord,
    opened: @escaping (Session, PublishedAccessory, SoakStreamPlan) -> Void
  ) {
    self.plan = plan
    self.loop = loop
    self.record = record
    self.opened = opened
  }

  func accessoryDidConnect(_ accessory: PublishedAccessory, _ app: AppView) {
    if accessory.protocols.isEmpty {
      guard plan.isRude else { return }
      do {
        _ = try app.openSession(with: accessory, protocolName: "com.example.soak0")
        record.violation(
          .opening, "an app opened a session with an accessory that offers no protocols", at: loop.now)
      } catch {
        record.coverage[.sessionDeniedByAPI] += 1
      }
      return
    }
    openLater(accessory, app, plan.patience)
  }

  func accessoryDidDisconnect(_ accessory: PublishedAccessory, _ app: AppView) {}

  func settle() {
    next = plan.sessions.count
    for timer in timers { timer.cancel() }
    timers.removeAll()
  }

  private func openLater(_ accessory: PublishedAccessory, _ app: AppView, _ time: Duration) {
    guard next < plan.sessions.count else { return }
    timers.removeAll { $0.deadline == nil }
    timers.append(
      loop.schedule(after: time) { [weak self, weak app] in
        if let self, let app { open(accessory, app) }
      })
  }

  private func open(_ accessory: PublishedAccessory, _ app: AppView) {
    guard next < plan.sessions.count else { return }
    let stream = plan.sessions[next]
    let name = accessory.protocols[stream.protocolNumber % accessory.protocols.count]
    do {
      let session = try app.openSession(with: accessory, protocolName: name)
      next += 1
      opened(session, accessory, stream)
      openLater(accessory, app, plan.patience)
    } catch {
      // The accessory has since disconnected. The app tries again when an accessory next connects.
      record.coverage[.sessionDeniedByAPI] += 1
    }
  }
}
