import AccessoryCore
import Glibc

/// The reason why a gadget cannot be created, with the command that fixes the problem, if any.
package enum GadgetError: Error, Equatable, Sendable {
  /// This machine has no port that can act as a USB device.
  case noControllers
  /// The controller does not exist. `existing` lists the controllers that exist.
  case noController(String, existing: [String])
  /// No controller was specified, and the machine has several.
  case severalControllers([String])
  case taken(String, by: Holder)
  case noConfigFS
  case notMounted(String)
  case noGadgets
  case noFunctionFS
  /// The kernel is too old to mount a file system without a directory.
  case oldKernel
  case notRoot
  /// The kernel refused another operation.
  case refused(String, code: Int32)

  package enum Holder: Equatable, Sendable {
    case gadget(String)
    case module(String)
  }

  init(_ action: String, code: Int32) {
    self = code == EPERM || code == EACCES ? .notRoot : .refused(action, code: code)
  }

  package var remedy: String? {
    switch self {
    case .noControllers: KernelModule.dummyController.remedy
    case .noConfigFS: KernelModule.configFS.remedy
    case .notMounted(let path): "sudo mount -t configfs none \(path.shellWord)"
    case .noGadgets: KernelModule.gadgets.remedy
    case .noFunctionFS: KernelModule.functionFS.remedy
    case .noController, .severalControllers, .taken, .oldKernel, .notRoot, .refused: nil
    }
  }
}

extension GadgetError: CustomStringConvertible {
  package var description: String { remedy.map { "\(problem): \($0)" } ?? problem }

  private var problem: String {
    switch self {
    case .noControllers:
      "this machine has no USB port that can act as a device (/sys/class/udc is empty). On a board, configure the port "
        + "at boot (docs/usb-and-bluetooth.md); for a simulated port"
    case .noController(let name, let existing):
      existing.isEmpty
        ? "there is no USB device controller '\(name)': " + Self.noControllers.description
        : "there is no USB device controller '\(name)'; this machine has \(existing.joined(separator: ", "))"
    case .severalControllers(let names):
      "there are several USB device controllers; choose one of: "
        + names.map { "gadget:\($0)" }.joined(separator: ", ")
    case .taken(let controller, .gadget(let name)):
      "\(controller) is in use by the gadget '\(name)'; to free it: "
        + "echo | sudo tee " + "/sys/kernel/config/usb_gadget/\(name)/UDC".shellWord
    case .taken(let controller, .module(let name)):
      "\(controller) is in use by the gadget \(name); to free it: sudo modprobe -r \(name.shellWord)"
    case .noConfigFS: "this kernel has no configfs"
    case .notMounted: "configfs is not mounted"
    case .noGadgets: "this kernel has no support for gadgets"
    case .noFunctionFS: "this kernel has no FunctionFS"
    case .oldKernel: "this kernel is too old: gadgets need Linux 5.4 or later"
    case .notRoot: "creating a gadget needs root: run the command with sudo"
    case .refused(let action, let code): "cannot \(action): \(String(cString: strerror(code)))"
    }
  }
}
