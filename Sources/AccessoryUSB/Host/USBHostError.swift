import AccessoryCore
import CLibUSB
import Glibc
import Synchronization

/// Why a USB accessory cannot be used.
public enum USBHostError: Error, Equatable, Sendable, CustomStringConvertible {
  /// This user may not open the device node.
  case noPermission(node: String)
  /// The device has been unplugged.
  case claimed
  /// The device has been unplugged.
  case gone
  /// The device is almost an accessory; the text says what is missing.
  case nearMiss(String)
  /// libusb or the kernel refused anything else.
  case refused(String, reason: String)

  /// Creates the error for a code returned by libusb.
  init(_ code: Int32, at call: String, node: String) {
    switch code {
    case LIBUSB_ERROR_ACCESS.rawValue: self = .noPermission(node: node)
    case LIBUSB_ERROR_BUSY.rawValue: self = .claimed
    case LIBUSB_ERROR_NO_DEVICE.rawValue, LIBUSB_ERROR_NOT_FOUND.rawValue: self = .gone
    default: self = .refused(call, reason: String(cString: libusb_error_name(code)))
    }
  }

  /// The error for a device file that could not be opened.
  init(openingErrno code: Int32, node: String) {
    switch code {
    case EACCES, EPERM: self = .noPermission(node: node)
    case ENOENT, ENODEV, ENXIO: self = .gone
    case EBUSY: self = .claimed
    default: self = .refused("open \(node)", reason: String(cString: strerror(code)))
    }
  }

  /// One line, with the command that fixes the problem, if any.
  public var description: String {
    switch self {
    case .noPermission(let node):
      "no permission to open \(node); install the udev rule and plug it in again: \(USBRule.installCommand)"
    case .claimed: "another program has claimed it"
    case .gone: "it was unplugged"
    case .nearMiss(let reason): reason
    case .refused(let call, let reason): "cannot \(call): \(reason)"
    }
  }
}

/// The udev rule that lets an ordinary user open accessories, as in `Scripts/udev/70-easim.rules`.
package enum USBRule {
  /// The path where the rule is installed.
  package static let path = "/etc/udev/rules.d/70-easim.rules"

  /// The rule itself, one line.
  package static let text =
    #"SUBSYSTEM=="usb", ENV{DEVTYPE}=="usb_device", ENV{ID_USB_INTERFACES}=="*:fff000:*", GROUP="plugdev", "#
    + #"MODE="0660", TAG+="uaccess""#

  /// The command that installs it, to paste into a shell.
  package static let installCommand =
    "echo '\(text)' | sudo tee \(path) && sudo udevadm control --reload && sudo udevadm trigger --subsystem-match=usb"
}

/// A worker thread for blocking calls: one for each open device, one for finding new devices, and one for each
/// ``USBIPInquiry``. A device or server that does not answer therefore delays no other work.
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
      // The system has no threads left: blocking the loop is better than never making the calls.
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
  /// Whether every device that was opened has been released, and its kernel driver attached again. Before it ends, a
  /// program should run its loops until this is true.
  public static var isIdle: Bool { openDevices.load(ordering: .acquiring) == 0 }

  /// How many devices are open, across all threads and loops of this process.
  static let openDevices = Atomic<Int>(0)

  /// "libusb 1.0.26".
  package static var libraryVersion: String {
    let version = libusb_get_version().pointee
    return "libusb \(version.major).\(version.minor).\(version.micro)"
  }
}
