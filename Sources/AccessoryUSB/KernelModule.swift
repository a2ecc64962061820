import AccessoryCore
import Glibc

/// A module of the kernel that easim needs, and the advice where it is not loaded.
public struct KernelModule: Sendable {
  /// The name, as modprobe takes it.
  public let name: String
  /// The kernel's setting that builds it: "CONFIGFS_FS".
  public let setting: String

  /// The file system in which gadgets are made.
  public static let configFS = KernelModule(name: "configfs", setting: "CONFIGFS_FS")
  /// Gadgets.
  public static let gadgets = KernelModule(name: "libcomposite", setting: "USB_CONFIGFS")
  /// The files of a gadget's endpoints.
  public static let functionFS = KernelModule(name: "usb_f_fs", setting: "USB_CONFIGFS_F_FS")
  /// A device port that is a host port of the same machine.
  public static let dummyController = KernelModule(name: "dummy_hcd", setting: "USB_DUMMY_HCD")
  /// The host's end of USB/IP.
  public static let virtualHost = KernelModule(name: "vhci-hcd", setting: "USBIP_VHCI_HCD")
  /// Bluetooth adapters on USB.
  public static let bluetoothOnUSB = KernelModule(name: "btusb", setting: "BT_HCIBTUSB")

  /// The command that loads it; where this kernel has no such module, what else helps.
  public var remedy: String { remedy(in: "/lib/modules/\(Self.release)") }

  /// The same for a kernel with the modules of a folder.
  func remedy(in modules: String) -> String {
    isThere(in: modules)
      ? "sudo modprobe \(name)" : "use a kernel with CONFIG_\(setting): this one has no module \(name)"
  }

  /// The folder's list names each module's file; - and _ are the same in a module's name.
  private func isThere(in modules: String) -> Bool {
    guard let list = fopen("\(modules)/modules.dep", "re") else { return false }
    defer { fclose(list) }
    var line: UnsafeMutablePointer<CChar>?
    var room = 0
    defer { free(line) }
    let wanted = Self.plain(name)
    while getline(&line, &room, list) > 0, let line {
      let path = String(cString: line).prefix { $0 != ":" }
      let file = path.split(separator: "/").last?.prefix { $0 != "." } ?? ""
      if Self.plain(String(file)) == wanted { return true }
    }
    return false
  }

  private static func plain(_ name: String) -> String { String(name.map { $0 == "-" ? "_" : $0 }) }

  private static var release: String {
    var name = utsname()
    uname(&name)
    return withUnsafeBytes(of: &name.release) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
  }
}
