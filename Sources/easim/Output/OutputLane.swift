import AccessoryCore
import Glibc
import LinuxIO
import Synchronization

/// Writes lines to a file in order. A separate thread does the writing, so that a blocked write delays nothing else.
///
/// stdout and stderr share a lane if they are the same file, so that their lines stay in order. Nonblocking mode would
/// work without a thread, but it would also apply to other programs that share the open file, and their writes would
/// fail with EAGAIN.
///
/// Until ``start()`` is called, there is no thread, and ``add(_:_:to:at:)`` writes directly and may block. Blocking is
/// acceptable for commands without a loop, because SIGINT can end them at any point.
final class OutputLane: Sendable {
  fileprivate struct State {
    var queue = LineQueue()
    var outlets: [Outlet] = []
    var hasThread = false
    var writing: LineQueue.Batch?
    var progress = 0
    var waiters: [@Sendable () -> Void] = []

    mutating func takeWaiters() -> [@Sendable () -> Void] {
      guard queue.hasRoom else { return [] }
      defer { waiters = [] }
      return waiters
    }

    mutating func next() -> (Outlet?, [UInt8])? {
      switch queue.take() {
      case nil: return nil
      case .batch(let batch):
        writing = batch
        return (outlets[batch.target], batch.bytes)
      case .gap(let gap):
        let outlet = outlets[gap.target]
        let bytes = Array(outlet.gap(gap).utf8)
        writing = LineQueue.Batch(target: gap.target, bytes: bytes, lines: gap.lines)
        return (outlet, bytes)
      }
    }
  }

  private let state = Monitor(State())

  /// A counter that increases when a lane has written something, when a call in ``PatientFile`` has returned, or when a
  /// signal has arrived. While not running the loop, the main thread waits for this counter to change.
  static let news = Monitor<UInt64>(0)

  func makeOutlet(
    _ descriptor: Int32, _ name: String, gap: @escaping @Sendable (LineQueue.Gap) -> String,
    failed: @escaping @Sendable (Outlet, Int32) -> Void
  ) -> Outlet {
    state.withLock { state in
      let outlet = Outlet(self, descriptor, name, state.outlets.count, gap: gap, failed: failed)
      state.outlets.append(outlet)
      return outlet
    }
  }

  /// Starts the thread. If the system cannot create a thread, `add` keeps writing directly.
  func start() {
    let mustStart = state.withLock { state in
      defer { state.hasThread = true }
      return !state.hasThread
    }
    guard mustStart else { return }
    do { try Worker.start { self.run() } } catch { state.withLock { $0.hasThread = false } }
  }

  /// Queues bytes for one of this lane's files, or writes them directly if there is no thread yet. Returns whether the
  /// caller should stop adding lines.
  @discardableResult
  func add(_ bytes: [UInt8], _ kind: LineQueue.Kind, to outlet: Outlet, at time: Instant) -> LineQueue.Room {
    if outlet.isOver { return .some }
    let room = state.change { state -> LineQueue.Room? in
      guard state.hasThread else { return nil }
      state.queue.add(bytes, kind, to: outlet.number, at: time)
      return state.queue.room
    }
    if let room { return room }
    outlet.write(bytes)
    return .some
  }

  func whenThereIsRoom(_ work: @escaping @Sendable () -> Void) {
    let isNow = state.withLock { state -> Bool in
      if state.queue.hasRoom { return true }
      state.waiters.append(work)
      return false
    }
    if isNow { work() }
  }

  var isIdle: Bool { state.withLock { $0.queue.isEmpty && $0.writing == nil } }

  var progress: Int { state.withLock { $0.progress } }

  /// Stops writing to a file, and returns how many lines were not written.
  func abandon(_ outlet: Outlet) -> Int {
    outlet.isEnded.store(true, ordering: .releasing)
    let (unwritten, waiters) = state.withLock { state in
      let unwritten = state.writing.map { $0.target == outlet.number ? $0.lines : 0 } ?? 0
      return (state.queue.removeAll(for: outlet.number) + unwritten, state.takeWaiters())
    }
    for waiter in waiters { waiter() }
    return unwritten
  }

  private func run() {
    while true {
      let (outlet, bytes) = state.wait { $0.next() } ?? (nil, [])
      outlet?.write(bytes)
      let waiters = state.withLock { state in
        state.writing = nil
        state.progress += 1
        return state.takeWaiters()
      }
      for waiter in waiters { waiter() }
      Self.news.change { $0 &+= 1 }
    }
  }
}

final class Outlet: Sendable {
  let name: String
  let number: Int
  let gap: @Sendable (LineQueue.Gap) -> String
  unowned let lane: OutputLane
  private let descriptor: Int32
  private let failed: @Sendable (Outlet, Int32) -> Void
  fileprivate let isEnded = Atomic<Bool>(false)

  fileprivate init(
    _ lane: OutputLane, _ descriptor: Int32, _ name: String, _ number: Int,
    gap: @escaping @Sendable (LineQueue.Gap) -> String, failed: @escaping @Sendable (Outlet, Int32) -> Void
  ) {
    self.lane = lane
    self.descriptor = descriptor
    self.name = name
    self.number = number
    self.gap = gap
    self.failed = failed
  }

  var isOver: Bool { isEnded.load(ordering: .acquiring) }

  @discardableResult
  func add(_ text: String, _ kind: LineQueue.Kind = .kept, at time: Instant = .origin) -> LineQueue.Room {
    lane.add(Array(text.utf8), kind, to: self, at: time)
  }

  /// Writes all bytes, even if writing blocks for a long time. After the first failure, writes nothing more, because a
  /// file with a gap would be misleading.
  fileprivate func write(_ bytes: [UInt8]) {
    guard !isOver, let code = FileWriting.write(bytes, to: descriptor) else { return }
    if !isEnded.exchange(true, ordering: .acquiringAndReleasing) { failed(self, code) }
  }
}
