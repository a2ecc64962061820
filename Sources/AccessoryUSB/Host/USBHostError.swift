import CLibUSB
import Glibc

/// Why a USB accessory cannot be used.
public enum USBHostError: Error, Equatable, Sendable {
  /// This user may not open its device node.
  case noPermission(node: String)
  /// Another program has claimed the interface.
  case claimed
  /// The device was unplugged meanwhile.
  case gone
  /// The device is almost an accessory; the text says what is missing.
  case nearMiss(String)
  /// libusb or the kernel refused something else.
  case refused(String, reason: String)

  /// The error for a code that a call of libusb returned.
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

}

extension USBHostError: CustomStringConvertible {
  /// One line, with the command that helps where there is one.
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

  /// The reason in a few words, for a list.
  public var brief: String {
    if case .noPermission(let node) = self { return "no permission to open \(node)" }
    return description
  }
}

/// The udev rule that lets an ordinary user open accessories, as `Scripts/udev/70-easim.rules` has it.
public enum USBRule {
  /// The path where the rule is installed.
  public static let path = "/etc/udev/rules.d/70-easim.rules"

  /// The rule itself, one line.
  public static let text =
    #"SUBSYSTEM=="usb", ENV{DEVTYPE}=="usb_device", ENV{ID_USB_INTERFACES}=="*:fff000:*", GROUP="plugdev", "#
    + #"MODE="0660", TAG+="uaccess""#

  /// The command that installs it, to paste into a shell.
  public static let installCommand =
    "echo '\(text)' | sudo tee \(path) && sudo udevadm control --reload && sudo udevadm trigger --subsystem-match=usb"
}
