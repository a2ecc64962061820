import AccessoryCore
import ExternalAccessory
import Foundation

/// Methods that let the world's time pass. Each method has an async and a synchronous form. On the main thread, the
/// synchronous form runs the main run loop. On other threads, it waits for the main queue.
extension SimulatedWorld {
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

  /// Runs all pending work of the accessories, the device and the app. No virtual time passes.
  public func settle() async {
    repeat {
      virtual?.run(until: virtual?.now ?? .origin)
      await drainMain()
      await waitForDelivery()
      if sleepers.haveWoken { await letSleepersGoOn() }
    } while !isQuiet
  }

  /// Lets time pass, and runs all work that is due in that time, in order. The app receives each event when it happens.
  public func advance(by duration: Duration) async {
    await settle()
    guard let virtual else {
      try? await Task.sleep(for: duration)
      return await settle()
    }
    let end = virtual.now + duration
    var readers = Readers()
    while let next = virtual.nextDeadline, next <= end {
      if await !appReads(&readers) { virtual.run(until: next) }
      await settle()
    }
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
    await settle()
    var wait = beginWait(limit)
    var readers = Readers()
    while !condition() {
      if await !appReads(&readers) {
        switch goOn(&wait) {
        case .over: return false
        case .moved: break
        // Sleep while the app's threads, or a real-time world, keep running.
        case .idle: try? await Task.sleep(for: .milliseconds(1))
        }
      }
      await settle()
    }
    noteStandstill(wait)
    return true
  }

  private struct Wait {
    let end: Instant
    /// How long the wait continues while nothing happens, in seconds of real time.
    let patience: TimeInterval
    var idleSince = Date()
    /// When the wait first found that nothing was scheduled within the limit.
    var overSince: Date?
    /// When the world last became idle. The app may still be working in real time.
    var standsSince: Date?
    /// The time of the last check and the number of checks that have found the app at rest since it was last waiting.
    var looked = Date.distantPast
    var rests = 0
  }

  private enum WaitStep {
    case over
    case moved
    case idle
  }

  private func beginWait(_ limit: Duration) -> Wait {
    Wait(
      end: realm.entrance.sync { realm.entrance.loop.now } + limit,
      patience: (virtual == nil ? limit : min(limit, settings.patience)).inSeconds)
  }

  /// Adds up the time during which the world stood still before the condition became true.
  private func noteStandstill(_ wait: Wait) {
    guard virtual != nil, let since = wait.standsSince else { return }
    stoodStill.withLock { $0 += Date().timeIntervalSince(since) }
  }

  /// Advances virtual time to the next deadline if that deadline is within the limit.
  private func goOn(_ wait: inout Wait) -> WaitStep {
    wait.standsSince = wait.standsSince ?? Date()
    guard let virtual, let next = virtual.nextDeadline else { return isOver(&wait) ? .over : .idle }
    guard next <= wait.end else {
      // The app's threads and tasks may take a moment to handle the last events.
      let begin = wait.overSince ?? Date()
      wait.overSince = begin
      return Date().timeIntervalSince(begin) > Self.deliveryTimeout ? .over : .idle
    }
    virtual.run(until: next)
    wait.idleSince = Date()
    wait.standsSince = nil
    return .moved
  }

  /// Returns true if nothing more can happen or if nothing has happened for too long.
  private func isOver(_ wait: inout Wait) -> Bool {
    let now = Date()
    let left = wait.patience - now.timeIntervalSince(wait.idleSince)
    guard left > 0 else { return true }
    guard virtual != nil, now.timeIntervalSince(wait.looked) >= Self.timeBetweenLooks else { return false }
    wait.looked = now
    switch AppAtRest.look(until: ProcessInfo.processInfo.systemUptime + left) {
    case .atRest: wait.rests += 1
    case .atWork: break
    case .waiting: wait.rests = 0
    }
    return wait.rests >= Self.looksAtRest
  }

  /// Tracks whether the app's tasks and threads are still reading. The operating system schedules these tasks and
  /// threads, so virtual time stops while they read. If time passed, a slow thread would look to the accessory like an
  /// app that had stopped reading.
  private struct Readers {
    /// How many times the app had read when a wait timed out. Time stops again only after the app reads more.
    var ignored: Int?
    let begin = Date()
  }

  /// Returns true if time must not pass yet, because the app is still reading or has more bytes to read.
  private func appReads(_ readers: inout Readers) async -> Bool {
    let (begin, first) = (Date(), realm.reading)
    if isAwaited(first, readers) {
      while Date().timeIntervalSince(begin) < Self.readingTimeout {
        if hasMoved(realm.reading, since: first) { return true }
        try? await Task.sleep(for: .microseconds(200))
      }
      readers.ignored = first.count
    }
    return false
  }

  private func isAwaited(_ reading: Reading, _ readers: Readers) -> Bool {
    guard virtual != nil, Date().timeIntervalSince(readers.begin) < Self.readingLimit else { return false }
    return reading.isFetching || reading.isBehind && reading.count != readers.ignored
  }

  private func hasMoved(_ reading: Reading, since first: Reading) -> Bool {
    reading.isFetching || reading.count != first.count
  }

  private var isQuiet: Bool {
    guard realm.main.isEmpty else { return false }
    guard let virtual else { return true }
    return virtual.nextDeadline.map { $0 > virtual.now } ?? true
  }

  /// Waits until the main queue has run all its work, including work that is added during the wait.
  private func drainMain() async {
    repeat {
      await withCheckedContinuation { continuation in OperationQueue.main.addOperation { continuation.resume() } }
    } while !realm.main.isEmpty
  }

  /// Waits until the tasks that were sleeping on the world's clock have continued.
  private func letSleepersGoOn() async {
    let begin = Date()
    while sleepers.areBusy(after: Date().timeIntervalSince(begin)) {
      try? await Task.sleep(for: .microseconds(200))
      await drainMain()
    }
    sleepers.forgetWoken()
  }

  private func waitForDelivery() async {
    let begin = Date()
    while !realm.isDelivered, Date().timeIntervalSince(begin) < Self.deliveryTimeout {
      try? await Task.sleep(for: .microseconds(200))
    }
  }

  // MARK: Synchronous

  /// Runs all pending work of the accessories, the device and the app. No virtual time passes.
  @available(*, noasync, message: "await it")
  public func settle() {
    repeat {
      virtual?.run(until: virtual?.now ?? .origin)
      runHere()
      let begin = Date()
      while !realm.isDelivered, Date().timeIntervalSince(begin) < Self.deliveryTimeout {
        runHere()
        Thread.sleep(forTimeInterval: 0.0002)
      }
      if sleepers.haveWoken {
        let begin = Date()
        while sleepers.areBusy(after: Date().timeIntervalSince(begin)) {
          Thread.sleep(forTimeInterval: 0.0002)
          runHere()
        }
        sleepers.forgetWoken()
      }
    } while !isQuiet
  }

  /// Lets time pass, and runs all work that is due in that time, in order. The app receives each event when it happens.
  @available(*, noasync, message: "await it")
  public func advance(by duration: Duration) {
    settle()
    guard let virtual else {
      Thread.sleep(forTimeInterval: duration.inSeconds)
      return settle()
    }
    let end = virtual.now + duration
    var readers = Readers()
    while let next = virtual.nextDeadline, next <= end {
      if !appReads(&readers) { virtual.run(until: next) }
      settle()
    }
    virtual.run(until: end)
  }

  /// Lets time pass until a condition holds. This is the form for code that is not async.
  @available(*, noasync, message: "await it")
  @discardableResult
  public func run(limit: Duration = .seconds(60), until condition: () -> Bool) -> Bool {
    settle()
    var wait = beginWait(limit)
    var readers = Readers()
    while !condition() {
      if !appReads(&readers) {
        switch goOn(&wait) {
        case .over: return false
        case .moved: break
        // Sleep while the app's threads, or a real-time world, keep running.
        case .idle: Thread.sleep(forTimeInterval: 0.001)
        }
      }
      settle()
    }
    noteStandstill(wait)
    return true
  }

  @available(*, noasync)
  private func appReads(_ readers: inout Readers) -> Bool {
    let (begin, first) = (Date(), realm.reading)
    if isAwaited(first, readers) {
      while Date().timeIntervalSince(begin) < Self.readingTimeout {
        if hasMoved(realm.reading, since: first) { return true }
        Thread.sleep(forTimeInterval: 0.0002)
        runHere()
      }
      readers.ignored = first.count
    }
    return false
  }

  /// If called on the main thread, runs the main run loop. If called on another thread, waits for the main queue and
  /// runs the current thread's run loop.
  private func runHere() {
    if Thread.isMainThread {
      repeat { _ = RunLoop.main.run(mode: .default, before: Date()) } while !realm.main.isEmpty
      return
    }
    repeat { DispatchQueue.main.sync {} } while !realm.main.isEmpty
    _ = RunLoop.current.run(mode: .default, before: Date())
  }
}
