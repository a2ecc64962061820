import AccessoryCore
import AccessoryTransports
import Glibc
import Synchronization

/// How long a test waits before it calls a thing hung.
let hangLimit = Duration.seconds(30)

/// A descriptor handler made of a closure.
final class Handler: DescriptorHandler {
  private let body: (Readiness) -> Void

  init(_ body: @escaping (Readiness) -> Void) { self.body = body }

  func descriptorReady(_ readiness: Readiness) { body(readiness) }
}

/// Something another thread waits for.
final class Flag: Sendable {
  private let raised = Atomic<Bool>(false)
  private let semaphore = Semaphore()

  var isRaised: Bool { raised.load(ordering: .acquiring) }

  func raise() {
    raised.store(true, ordering: .releasing)
    semaphore.post()
  }

  /// Waits until it is raised; a hang ends the test run with a sentence.
  func wait() {
    precondition(semaphore.wait(limit: hangLimit), "a flag was not raised within \(hangLimit)")
  }
}

/// A POSIX semaphore, which blocks a thread without spinning.
final class Semaphore: @unchecked Sendable {
  private let memory = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

  init() { sem_init(memory, 0, 0) }

  deinit {
    sem_destroy(memory)
    memory.deallocate()
  }

  func post() { sem_post(memory) }

  func wait(limit: Duration) -> Bool {
    var end = timespec()
    clock_gettime(CLOCK_REALTIME, &end)
    end.tv_sec += Int(limit.components.seconds)
    while true {
      if sem_timedwait(memory, &end) == 0 { return true }
      if errno != EINTR { return false }
    }
  }
}

/// Threads that are waited for together.
final class ThreadGroup {
  private var flags: [Flag] = []

  func run(_ body: @escaping @Sendable () -> Void) throws {
    let flag = Flag()
    flags.append(flag)
    try detachThread {
      body()
      flag.raise()
    }
  }

  func wait() { for flag in flags { flag.wait() } }
}

private final class ThreadBody: Sendable {
  let body: @Sendable () -> Void
  init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}

/// Runs `body` on a thread of its own.
func detachThread(_ body: @escaping @Sendable () -> Void) throws {
  var thread = pthread_t()
  let box = Unmanaged.passRetained(ThreadBody(body))
  let code = pthread_create(
    &thread, nil,
    { context in
      if let context { Unmanaged<ThreadBody>.fromOpaque(context).takeRetainedValue().body() }
      return nil
    }, box.toOpaque())
  guard code == 0 else {
    box.release()
    throw SystemError("start a thread", code: code)
  }
  pthread_detach(thread)
}

/// What threads sent, by thread.
final class Log {
  private(set) var counts: [Int]
  private(set) var isInOrder = true

  init(_ threads: Int) { counts = Array(repeating: 0, count: threads) }

  func note(_ thread: Int, _ number: Int) {
    if counts[thread] != number { isInOrder = false }
    counts[thread] += 1
  }
}

/// A pipe whose ends are closed with it.
final class Pipe {
  private(set) var reading: Int32
  private(set) var writing: Int32

  init() throws {
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0 else { throw SystemError("make a pipe", code: errno) }
    reading = ends[0]
    writing = ends[1]
  }

  deinit {
    closeReading()
    closeWriting()
  }

  func fill(_ text: String) {
    _ = text.utf8.withContiguousStorageIfAvailable { write(writing, $0.baseAddress, $0.count) }
  }

  func closeReading() {
    if reading >= 0 { close(reading) }
    reading = -1
  }

  func closeWriting() {
    if writing >= 0 { close(writing) }
    writing = -1
  }
}
