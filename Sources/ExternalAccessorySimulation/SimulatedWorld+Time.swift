import AccessoryCore
import ExternalAccessory
import Foundation

/// Methods that let the world's time pass. Each method has an async and a synchronous form. On the main thread, the
/// synchronous form runs the main run loop. On other threads, it waits for the main queue.
extension SimulatedWorld {
  /// Runs all pending work of the accessories, the device and the app. No virtual time passes.
  public func settle() async { await pass(.zero) { true } }

  /// Lets time pass, and runs all work that is due in that time, in order. The app receives each event when it happens.
  public func advance(by duration: Duration) async {
    guard let virtual else {
      await settle()
      try? await Task.sleep(for: duration)
      return await settle()
    }
    let end = virtual.now + duration
    await pass(duration) { virtual.nextDeadline.map { $0 > end } ?? true }
    virtual.run(until: end)
  }

  /// Lets time pass until a condition holds. Returns false if the condition does not hold within `limit` in the world's
  /// time. Also returns false if nothing is scheduled in the world and the app is at rest, which means that none of the
  /// app's threads, tasks or timers can become active. If the app may not be at rest, returns false after
  /// ``Settings/patience`` or `limit` in real time, whichever is shorter.
  @discardableResult
  public func run(
    limit: Duration = .seconds(60), isolation: isolated (any Actor)? = #isolation, until condition: () -> Bool
  ) async -> Bool {
    await pass(limit, until: condition)
  }

  @discardableResult
  private func pass(
    _ limit: Duration, isolation: isolated (any Actor)? = #isolation, until condition: () -> Bool
  ) async -> Bool {
    var passing = begin(limit)
    while true {
      switch step(&passing, until: condition) {
      case .over(let holds): return holds
      case .rest(let duration):
        if duration > .zero { try? await Task.sleep(for: duration) }
        // Waits until the main queue has run all its work, including work that is added during the wait.
        repeat {
          await withCheckedContinuation { continuation in OperationQueue.main.addOperation { continuation.resume() } }
        } while !realm.main.isEmpty
      }
    }
  }

  // MARK: Synchronous

  /// Runs all pending work of the accessories, the device and the app. No virtual time passes.
  @available(*, noasync, message: "await it")
  public func settle() { passHere(.zero) { true } }

  /// Lets time pass, and runs all work that is due in that time, in order. The app receives each event when it happens.
  @available(*, noasync, message: "await it")
  public func advance(by duration: Duration) {
    guard let virtual else {
      settle()
      Thread.sleep(forTimeInterval: duration.inSeconds)
      return settle()
    }
    let end = virtual.now + duration
    passHere(duration) { virtual.nextDeadline.map { $0 > end } ?? true }
    virtual.run(until: end)
  }

  /// Lets time pass until a condition holds. This is the form for code that is not async.
  @available(*, noasync, message: "await it")
  @discardableResult
  public func run(limit: Duration = .seconds(60), until condition: () -> Bool) -> Bool {
    passHere(limit, until: condition)
  }

  @discardableResult
  private func passHere(_ limit: Duration, until condition: () -> Bool) -> Bool {
    var passing = begin(limit)
    while true {
      switch step(&passing, until: condition) {
      case .over(let holds): return holds
      case .rest(let duration):
        if duration > .zero { Thread.sleep(forTimeInterval: duration.inSeconds) }
        guard !Thread.isMainThread else {
          repeat { _ = RunLoop.main.run(mode: .default, before: Date()) } while !realm.main.isEmpty
          continue
        }
        repeat { DispatchQueue.main.sync {} } while !realm.main.isEmpty
        _ = RunLoop.current.run(mode: .default, before: Date())
      }
    }
  }

  // MARK: Steps

  /// How long to wait for the app's run loops to deliver events, in seconds of real time.
  private static let deliveryTimeout = 0.25
  /// How long to wait for the app's tasks and threads to read bytes, in seconds of real time.
  private static let readingTimeout = 1.0
  /// How long one call waits in total for the app to read bytes, in seconds of real time.
  private static let readingLimit = 30.0
  /// The interval between checks of whether the app is at rest, in seconds, and the number of consecutive checks that
  /// must agree.
  private static let timeBetweenLooks = 0.01
  private static let looksAtRest = 20
  /// How long to rest while the app is about to do something, and while nothing happens.
  private static let moment = Duration.microseconds(200)
  private static let idleTime = Duration.milliseconds(1)

  private enum Step {
    /// The wait is over, and the condition holds or does not hold.
    case over(Bool)
    /// Sleep for this long in real time, and then let the main queue do its work.
    case rest(Duration)
  }

  private struct Passing {
    /// The work that remains before the world is settled: the world's due work, the app's events and the tasks that
    /// were sleeping on the world's clock, in this order.
    enum Unsettled {
      case work
      case events(since: Date?)
      case tasks(since: Date)
      case nothing
    }

    let end: Instant
    /// How long the wait continues while nothing happens, in seconds of real time.
    let patience: TimeInterval
    let begin = Date()
    var unsettled = Unsettled.work
    /// Set while time stands still, because the app is reading: its progress when it began.
    var reading: (first: Reading, since: Date)?
    /// How many times the app had read when a wait timed out. Time stops again only after the app reads more.
    var ignored: Int?
    var idleSince = Date()
    /// When the wait first found that nothing was scheduled within the limit.
    var overSince: Date?
    /// When the world last became idle. The app may still be working in real time.
    var standsSince: Date?
    /// The time of the last check and the number of checks that have found the app at rest since it was last waiting.
    var looked = Date.distantPast
    var rests = 0
  }

  private func begin(_ limit: Duration) -> Passing {
    Passing(
      end: realm.entrance.sync { realm.entrance.loop.now } + limit,
      patience: (virtual == nil ? limit : min(limit, settings.patience)).inSeconds)
  }

  /// Does everything that can be done before the caller has to rest.
  private func step(_ passing: inout Passing, until condition: () -> Bool) -> Step {
    while true {
      if let rest = settle(&passing) { return .rest(rest) }
      if passing.reading == nil, condition() {
        noteStandstill(passing)
        return .over(true)
      }
      guard let isReading = isReading(&passing) else { return .rest(Self.moment) }
      passing.unsettled = .work
      if !isReading, let step = goOn(&passing) { return step }
    }
  }

  /// Returns how long to rest before the world is settled, or nil if it is settled.
  private func settle(_ passing: inout Passing) -> Duration? {
    while true {
      switch passing.unsettled {
      case .work:
        virtual?.run(until: virtual?.now ?? .origin)
        passing.unsettled = .events(since: nil)
        return .zero
      case .events(let since):
        let since = since ?? Date()
        passing.unsettled = .events(since: since)
        if !realm.isDelivered, Date().timeIntervalSince(since) < Self.deliveryTimeout { return Self.moment }
        passing.unsettled = .tasks(since: Date())
      case .tasks(let since):
        if sleepers.haveWoken {
          if sleepers.areBusy(after: Date().timeIntervalSince(since)) { return Self.moment }
          sleepers.forgetWoken()
        }
        passing.unsettled = isQuiet ? .nothing : .work
      case .nothing: return nil
      }
    }
  }

  private var isQuiet: Bool {
    guard realm.main.isEmpty else { return false }
    guard let virtual else { return true }
    return virtual.nextDeadline.map { $0 > virtual.now } ?? true
  }

  /// Returns true if time must not pass yet, because the app is still reading or has more bytes to read. Returns nil if
  /// that is not known yet. The operating system schedules the app's tasks and threads, so virtual time stops while they
  /// read. If time passed, a slow thread would look to the accessory like an app that had stopped reading.
  private func isReading(_ passing: inout Passing) -> Bool? {
    let now = realm.reading
    guard let (first, since) = passing.reading else {
      guard virtual != nil, Date().timeIntervalSince(passing.begin) < Self.readingLimit else { return false }
      if now.isFetching { return true }
      guard now.isBehind, now.count != passing.ignored else { return false }
      passing.reading = (now, Date())
      return nil
    }
    let hasMoved = now.isFetching || now.count != first.count
    if !hasMoved, Date().timeIntervalSince(since) < Self.readingTimeout { return nil }
    if !hasMoved { passing.ignored = first.count }
    passing.reading = nil
    return hasMoved
  }

  /// Advances virtual time to the next deadline if that deadline is within the limit. Returns nil if it did.
  private func goOn(_ passing: inout Passing) -> Step? {
    passing.standsSince = passing.standsSince ?? Date()
    // While the world is idle, the app's threads, or a world in real time, keep running.
    guard let virtual, let next = virtual.nextDeadline else {
      return isOver(&passing) ? .over(false) : .rest(Self.idleTime)
    }
    guard next <= passing.end else {
      // The app's threads and tasks may take a moment to handle the last events.
      let begin = passing.overSince ?? Date()
      passing.overSince = begin
      return Date().timeIntervalSince(begin) > Self.deliveryTimeout ? .over(false) : .rest(Self.idleTime)
    }
    virtual.run(until: next)
    passing.idleSince = Date()
    passing.standsSince = nil
    return nil
  }

  /// Returns true if nothing more can happen or if nothing has happened for too long.
  private func isOver(_ passing: inout Passing) -> Bool {
    let now = Date()
    let left = passing.patience - now.timeIntervalSince(passing.idleSince)
    guard left > 0 else { return true }
    guard virtual != nil, now.timeIntervalSince(passing.looked) >= Self.timeBetweenLooks else { return false }
    passing.looked = now
    switch AppAtRest.look(until: ProcessInfo.processInfo.systemUptime + left) {
    case .atRest: passing.rests += 1
    case .atWork: break
    case .waiting: passing.rests = 0
    }
    return passing.rests >= Self.looksAtRest
  }

  /// Adds up the time during which the world stood still before the condition became true.
  private func noteStandstill(_ passing: Passing) {
    guard virtual != nil, let since = passing.standsSince else { return }
    stoodStill.withLock { $0 += Date().timeIntervalSince(since) }
  }
}
