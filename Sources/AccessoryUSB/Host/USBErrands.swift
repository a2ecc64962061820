import CLibUSB
import Glibc

/// The one thread on which libusb's calls that block are made: opening, claiming, strings, clearing a halt, giving back.
///
/// The thread lives while there is something to do. Errands run one at a time, in the order in which they were given.
final class USBErrands: @unchecked Sendable {
  static let shared = USBErrands()

  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private var waiting: [@Sendable () -> Void] = []
  private var isRunning = false
  private var held = 0

  private init() {
    mutex = .allocate(capacity: 1)
    mutex.initialize(to: pthread_mutex_t())
    let code = pthread_mutex_init(mutex, nil)
    precondition(code == 0, "a mutex cannot be made: \(code)")
  }

  private func locked<Result>(_ body: () -> Result) -> Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return body()
  }

  /// Whether no device is open.
  var isIdle: Bool { locked { held == 0 } }

  /// Counts a device that is open, until ``returned()``.
  func taken() { locked { held += 1 } }
  /// Counts a device that was given back.
  func returned() { locked { held -= 1 } }

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
      { _ in
        USBErrands.shared.main()
        return nil
      }, nil)
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
  public static var isIdle: Bool { USBErrands.shared.isIdle }

  /// "libusb 1.0.26".
  public static var libraryVersion: String {
    let version = libusb_get_version().pointee
    return "libusb \(version.major).\(version.minor).\(version.micro)"
  }
}
