import AccessoryCore
import Glibc

/// A kernel module that easim needs, and how to load it.
package struct KernelModule: Sendable {
  /// The name of the module, as modprobe expects it.
  package let name: String
  /// The kernel configuration option that enables the module, such as "CONFIGFS_FS".
  package let setting: String

  /// The module that provides the file system in which gadgets are created.
  package static let configFS = KernelModule(name: "configfs", setting: "CONFIGFS_FS")
  package static let gadgets = KernelModule(name: "libcomposite", setting: "USB_CONFIGFS")
  /// The module that provides files for a gadget's endpoints.
  package static let functionFS = KernelModule(name: "usb_f_fs", setting: "USB_CONFIGFS_F_FS")
  /// The module that provides a device port and connects it to a host port on the same machine.
  package static let dummyController = KernelModule(name: "dummy_hcd", setting: "USB_DUMMY_HCD")
  /// The module that implements the host's side of USB/IP.
  package static let virtualHost = KernelModule(name: "vhci-hcd", setting: "USBIP_VHCI_HCD")
  /// The module that drives USB Bluetooth adapters.
  package static let bluetoothOnUSB = KernelModule(name: "btusb", setting: "BT_HCIBTUSB")

  /// The command that loads the module, or advice on what to do if the kernel lacks the module.
  package var remedy: String { remedy(in: "/lib/modules/\(Self.release)") }

  func remedy(in modules: String) -> String {
    isThere(in: modules)
      ? "sudo modprobe \(name)" : "use a kernel with CONFIG_\(setting): this one has no module \(name)"
  }

  private func isThere(in modules: String) -> Bool {
    let list = SystemFolder(path: modules).read("modules.dep", atMost: 16 << 20) ?? ""
    let wanted = Self.plain(name)
    return list.utf8.split(separator: UInt8(ascii: "\n")).contains { line in
      let path = line.prefix { $0 != UInt8(ascii: ":") }
      let file = path.split(separator: UInt8(ascii: "/")).last?.prefix { $0 != UInt8(ascii: ".") }
      return file.map { Self.plain(String(decoding: $0, as: UTF8.self)) } == wanted
    }
  }

  private static func plain(_ name: String) -> String { String(name.map { $0 == "-" ? "_" : $0 }) }

  private static var release: String {
    var name = utsname()
    uname(&name)
    return withUnsafeBytes(of: &name.release) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
  }
}
