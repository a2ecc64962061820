import AccessoryCore
import ExternalAccessory
import Foundation

/// Letting the world go on. Each of these exists for async and for plain callers; plain ones run the main run loop, or
/// wait for it, themselves.
extension SimulatedWorld {
  /// How long, in real time, threads of the app are waited for that have something to hear and do not listen.
  private static let patience = 0.25
  /// The same for who has something to read, and does that in its own time.
  private static let readingPatience = 1.0
  /// How long, in real time and seconds, one call waits for what the app reads in all.
  private static let readingLimit = 30.0

  /// Does what is due now, at both ends and in the app, until nothing is left to do; no time passes.
  public func settle() async {
    repeat {
      virtual?.run(until: virtual?.now ?? .origin)
      await hearOnMain()
      await waitForThreads()
    } while !isQuiet
  }

  /// Does what is due within a time, in order, with the app hearing of everything when it happens.
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

  /// Goes on until a condition holds. Whether it did before `limit`, of the world's time, was over, and before the app
  /// did nothing for five seconds of real time.
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
        // Threads of the app, and worlds in real time, go on by themselves.
        case .idle: try? await Task.sleep(for: .milliseconds(1))
        }
      }
      await settle()
    }
    return true
  }

  /// A wait for a condition, async or not.
  private struct Wait {
    /// The limit, in the world's time.
    let end: Instant
    /// How long, in real time and seconds, nothing may happen.
    let patience: TimeInterval
    var idleSince = Date()
    /// Since when nothing more happens within the limit.
    var overSince: Date?
  }

  private enum WaitStep {
    case over
    case moved
    case idle
  }

  private func beginWait(_ limit: Duration) -> Wait {
    Wait(
      end: realm.entrance.sync { realm.entrance.loop.now } + limit, patience: virtual == nil ? limit.inSeconds : 5)
  }

  /// Moves virtual time to the next thing that happens, if that is within the limit.
  private func goOn(_ wait: inout Wait) -> WaitStep {
    guard let virtual, let next = virtual.nextDeadline else {
      return Date().timeIntervalSince(wait.idleSince) > wait.patience ? .over : .idle
    }
    guard next <= wait.end else {
      // What the app heard of last may take its threads and tasks a moment.
      let begin = wait.overSince ?? Date()
      wait.overSince = begin
      return Date().timeIntervalSince(begin) > Self.patience ? .over : .idle
    }
    virtual.run(until: next)
    wait.idleSince = Date()
    return .moved
  }

  /// Tasks and threads of the app that read when they get to it: time stands still for them while they do, or an
  /// accessory would have waited long for an app that was about to read.
  private struct Readers {
    /// How often had been read when nobody read for a while; until somebody does, nobody is waited for.
    var ignored: Int?
    let begin = Date()
  }

  /// Whether there is more to do before time passes: the app reads, or more is brought to it.
  private func appReads(_ readers: inout Readers) async -> Bool {
    let (begin, first) = (Date(), realm.reading)
    if isAwaited(first, readers) {
      while Date().timeIntervalSince(begin) < Self.readingPatience {
        if hasMoved(realm.reading, since: first) { return true }
        try? await Task.sleep(for: .microseconds(200))
      }
      readers.ignored = first.count
    }
    return false
  }

  private func isAwaited(_ reading: Reading, _ readers: Readers) -> Bool {
    guard virtual != nil, Date().timeIntervalSince(readers.begin) < Self.readingLimit else { return false }
    return reading.isBringing || reading.isBehind && reading.count != readers.ignored
  }

  private func hasMoved(_ reading: Reading, since first: Reading) -> Bool {
    reading.isBringing || reading.count != first.count
  }

  private var isQuiet: Bool {
    guard realm.main.isEmpty else { return false }
    guard let virtual else { return true }
    return virtual.nextDeadline.map { $0 > virtual.now } ?? true
  }

  /// Until the main queue has run everything that is in it now, and everything that this led to.
  private func hearOnMain() async {
    repeat {
      await withCheckedContinuation { continuation in OperationQueue.main.addOperation { continuation.resume() } }
    } while !realm.main.isEmpty
  }

  private func waitForThreads() async {
    let begin = Date()
    while !realm.isTold, Date().timeIntervalSince(begin) < Self.patience {
      try? await Task.sleep(for: .microseconds(200))
    }
  }

  // MARK: Plain

  /// Does what is due now, at both ends and in the app, until nothing is left to do; no time passes.
  @available(*, noasync, message: "await it")
  public func settle() {
    repeat {
      virtual?.run(until: virtual?.now ?? .origin)
      hearHere()
      let begin = Date()
      while !realm.isTold, Date().timeIntervalSince(begin) < Self.patience {
        hearHere()
        Thread.sleep(forTimeInterval: 0.0002)
      }
    } while !isQuiet
  }

  /// Does what is due within a time, in order, with the app hearing of everything when it happens.
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

  /// Goes on until a condition holds; see the async one.
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
        // Threads of the app, and worlds in real time, go on by themselves.
        case .idle: Thread.sleep(forTimeInterval: 0.001)
        }
      }
      settle()
    }
    return true
  }

  @available(*, noasync)
  private func appReads(_ readers: inout Readers) -> Bool {
    let (begin, first) = (Date(), realm.reading)
    if isAwaited(first, readers) {
      while Date().timeIntervalSince(begin) < Self.readingPatience {
        if hasMoved(realm.reading, since: first) { return true }
        Thread.sleep(forTimeInterval: 0.0002)
        hearHere()
      }
      readers.ignored = first.count
    }
    return false
  }

  /// On the main thread, by running its run loop; on another, by waiting for the main queue and running its own.
  private func hearHere() {
    if Thread.isMainThread {
      repeat { _ = RunLoop.main.run(mode: .default, before: Date()) } while !realm.main.isEmpty
      return
    }
    repeat { DispatchQueue.main.sync {} } while !realm.main.isEmpty
    _ = RunLoop.current.run(mode: .default, before: Date())
  }
}
