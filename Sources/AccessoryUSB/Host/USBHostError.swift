import AccessoryCore
import CUSB
import Glibc
import LinuxIO
import Synchronization

/// The reason why a USB accessory cannot be used.
public enum USBHostError: Error, Equatable, Sendable, CustomStringConvertible {
  case noPermission(node: String)
  /// Another program or driver has claimed the interface.
  case claimed
  case gone
  /// The device resembles an accessory but lacks something. The text says what the device lacks.
  case nearMiss(String)
  /// libusb or the kernel refused another operation.
  case refused(String, reason: String)

  init(_ code: Int32, at call: String, node: String) {
    switch code {
    case LIBUSB_ERROR_ACCESS.rawValue: self = .noPermission(node: node)
    case LIBUSB_ERROR_BUSY.rawValue: self = .claimed
    case LIBUSB_ERROR_NO_DEVICE.rawValue, LIBUSB_ERROR_NOT_FOUND.rawValue: self = .gone
    default: self = .refused(call, reason: String(cString: libusb_error_name(code)))
    }
  }

  init(openingErrno code: Int32, node: String) {
    switch code {
    case EACCES, EPERM: self = .noPermission(node: node)
    case ENOENT, ENODEV, ENXIO: self = .gone
    case EBUSY: self = .claimed
    default: self = .refused("open \(node)", reason: String(cString: strerror(code)))
    }
  }

  /// The reason on one line, with the command that fixes the problem, if any.
  public var description: String {
    switch self {
    case .noPermission(let node):
      "no permission to open \(node); install the udev rule and plug the accessory in again: \(USBRule.installCommand)"
    case .claimed: "another program has claimed it"
    case .gone: "it was unplugged"
    case .nearMiss(let reason): reason
    case .refused(let call, let reason): "cannot \(call): \(reason)"
    }
  }
}

/// The udev rule that lets an ordinary user open accessories, as in `Scripts/udev/70-easim.rules`.
package enum USBRule {
  package static let path = "/etc/udev/rules.d/70-easim.rules"

  package static let text =
    #"SUBSYSTEM=="usb", ENV{DEVTYPE}=="usb_device", ENV{ID_USB_INTERFACES}=="*:fff000:*", GROUP="plugdev", "#
    + #"MODE="0660", TAG+="uaccess""#

  /// The shell command that installs the rule.
  package static let installCommand =
    "echo '\(text)' | sudo tee \(path) && sudo udevadm control --reload && sudo udevadm trigger --subsystem-match=usb"
}

/// A worker thread for blocking calls. Each open device and each ``USBIPInquiry`` has a thread, and one more thread
/// looks up new devices. A device or server that does not answer therefore does not delay any others.
///
/// The thread exists only while there is work. Calls run in order, one at a time.
final class BlockingUSBCalls: @unchecked Sendable {
  static let deviceLookups = BlockingUSBCalls()

  private struct State {
    var waiting: [@Sendable () -> Void] = []
    var isRunning = false
  }

  private let state = Locked(State())

  /// Runs `work` on the thread, after the calls that were queued earlier.
  func run(_ work: @escaping @Sendable () -> Void) {
    let mustStart = state.withLock { state -> Bool in
      state.waiting.append(work)
      defer { state.isRunning = true }
      return !state.isRunning
    }
    guard mustStart else { return }
    do { try Worker.start { [self] in main() } } catch {
      // The system cannot create another thread. Blocking the loop is better than never making the calls.
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

/// This process's state as a USB host.
public enum USBHost {
  /// Whether every opened device has been released and its kernel driver reattached. Before a program exits, it should
  /// run its loops until this value is true.
  public static var isIdle: Bool { openDevices.load(ordering: .acquiring) == 0 }

  static let openDevices = Atomic<Int>(0)

  /// The name and version of libusb, such as "libusb 1.0.26".
  package static var libraryVersion: String {
    let version = libusb_get_version().pointee
    return "libusb \(version.major).\(version.minor).\(version.micro)"
  }
}
