import AccessoryCore
import CLinux
import Foundation
import Glibc
import LinuxIO
import Synchronization

/// The time after which a wait is considered hung.
let hangLimit = Duration.seconds(30)

final class Handler: DescriptorHandler {
  private let body: (Readiness) -> Void

  init(_ body: @escaping (Readiness) -> Void) { self.body = body }

  func descriptorReady(_ readiness: Readiness) { body(readiness) }
}

final class Flag: Sendable {
  private let raised = Atomic<Bool>(false)
  private let semaphore = DispatchSemaphore(value: 0)

  var isRaised: Bool { raised.load(ordering: .acquiring) }

  func raise() {
    raised.store(true, ordering: .releasing)
    semaphore.signal()
  }

  func wait() {
    precondition(semaphore.wait(timeout: .now() + 30) == .success, "a flag was not raised within \(hangLimit)")
  }
}

/// Opens a pseudo terminal. Returns the test's side, and the name of the other side.
func openTerminal() throws -> (descriptor: Int32, name: String) {
  var name = [CChar](repeating: 0, count: 64)
  let descriptor = clinux_open_pty(&name, name.count)
  guard descriptor >= 0 else { throw SystemError("make a pseudo terminal", code: errno) }
  return (descriptor, String(terminated: name))
}

final class ThreadGroup {
  private var flags: [Flag] = []

  func run(_ body: @escaping @Sendable () -> Void) {
    let flag = Flag()
    flags.append(flag)
    Thread.detachNewThread {
      body()
      flag.raise()
    }
  }

  func wait() { for flag in flags { flag.wait() } }
}

final class Log {
  private(set) var counts: [Int]
  private(set) var isInOrder = true

  init(_ threads: Int) { counts = Array(repeating: 0, count: threads) }

  func note(_ thread: Int, _ number: Int) {
    if counts[thread] != number { isInOrder = false }
    counts[thread] += 1
  }
}

final class Pipe {
  private(set) var reading: Int32
  private(set) var writing: Int32

  init() throws {
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0 else { throw SystemError("make a pipe", code: errno) }
    reading = ends[0]
    writing = ends[1]
  }

  /// Makes a pipe that takes over the number of the other pipe's reading end. That end is closed and its number used
  /// again in one step, because another thread of the process may open a descriptor at any time.
  convenience init(replacing other: Pipe) throws {
    try self.init()
    guard dup2(reading, other.reading) >= 0 else { throw SystemError("replace a descriptor", code: errno) }
    close(reading)
    reading = other.reading
    other.reading = -1
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
