import CLibUSB
import Glibc
import Synchronization

/// A thread on which calls are made that block: each open device has one, looking at what was plugged in another, and so
/// has each ``USBIPInquiry``. A device or a server that does not answer holds up nobody else.
///
/// The thread lives while there is something to do. Errands run one at a time, in the order in which they were given.
final class BlockingUSBCalls: @unchecked Sendable {
  /// For looking at what was plugged in.
  static let deviceLookups = BlockingUSBCalls()

  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private var waiting: [@Sendable () -> Void] = []
  private var isRunning = false

  init() {
    mutex = .allocate(capacity: 1)
    mutex.initialize(to: pthread_mutex_t())
    let code = pthread_mutex_init(mutex, nil)
    precondition(code == 0, "a mutex cannot be made: \(code)")
  }

  deinit {
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  private func locked<Result>(_ body: () -> Result) -> Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return body()
  }

  /// Runs `work` on the thread, soon.
  func run(_ work: @escaping @Sendable () -> Void) {
    let mustStart = locked { () -> Bool in
      waiting.append(work)
      defer { isRunning = true }
      return !isRunning
    }
    guard mustStart else { return }
    var thread = pthread_t()
    let code = pthread_create(
      &thread, nil,
      { calls in
        if let calls { Unmanaged<BlockingUSBCalls>.fromOpaque(calls).takeRetainedValue().main() }
        return nil
      }, Unmanaged.passRetained(self).toOpaque())
    precondition(code == 0, "the thread for USB cannot be started: \(String(cString: strerror(code)))")
    pthread_detach(thread)
  }

  private func main() {
    while let work = locked({ () -> (@Sendable () -> Void)? in
      guard !waiting.isEmpty else {
        isRunning = false
        return nil
      }
      return waiting.removeFirst()
    }) {
      work()
    }
  }
}

/// What a whole process has to do with USB as a host.
public enum USBHost {
  /// Whether every device that was opened has been given back, kernel drivers included. A program waits for it, with
  /// its loops running, before it ends.
  public static var isIdle: Bool { openDevices.load(ordering: .acquiring) == 0 }

  /// How many devices are open, in all threads and loops of this process.
  static let openDevices = Atomic<Int>(0)

  /// "libusb 1.0.26".
  public static var libraryVersion: String {
    let version = libusb_get_version().pointee
    return "libusb \(version.major).\(version.minor).\(version.micro)"
  }
}
