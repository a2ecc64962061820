import AccessoryCore
import CLibUSB
import Glibc
import Synchronization

/// A worker thread for blocking calls: one for each open device, one for finding new devices, and one for each
/// ``USBIPInquiry``. So a device or server that does not answer delays nothing else.
///
/// The thread exists while there is work. Calls run one at a time, in order.
final class BlockingUSBCalls: @unchecked Sendable {
  /// For looking up devices that were plugged in.
  static let deviceLookups = BlockingUSBCalls()

  private struct State {
    var waiting: [@Sendable () -> Void] = []
    var isRunning = false
  }

  private let state = Locked(State())

  /// Runs `work` on the thread, soon.
  func run(_ work: @escaping @Sendable () -> Void) {
    let mustStart = state.withLock { state -> Bool in
      state.waiting.append(work)
      defer { state.isRunning = true }
      return !state.isRunning
    }
    guard mustStart else { return }
    var thread = pthread_t()
    let code = pthread_create(
      &thread, nil,
      { calls in
        if let calls { Unmanaged<BlockingUSBCalls>.fromOpaque(calls).takeRetainedValue().main() }
        return nil
      }, Unmanaged.passRetained(self).toOpaque())
    if code == 0 {
      pthread_detach(thread)
    } else {
      // The system has no thread left: better that the calls hold up the loop than that they are never made.
      Unmanaged.passUnretained(self).release()
      main()
    }
  }

  private func main() {
    while let work = state.withLock({ state -> (@Sendable () -> Void)? in
      guard !state.waiting.isEmpty else {
        state.isRunning = false
        return nil
      }
      return state.waiting.removeFirst()
    }) {
      work()
    }
  }
}

/// USB as a host, for the whole process.
public enum USBHost {
  /// Whether every device that was opened has been released, and its kernel driver attached again. A program waits for
  /// this, with its loops running, before it ends.
  public static var isIdle: Bool { openDevices.load(ordering: .acquiring) == 0 }

  /// How many devices are open, in all threads and loops of this process.
  static let openDevices = Atomic<Int>(0)

  /// "libusb 1.0.26".
  public static var libraryVersion: String {
    let version = libusb_get_version().pointee
    return "libusb \(version.major).\(version.minor).\(version.micro)"
  }
}
