import Foundation
import TestSupport

@testable import AccessoryUSB

final class GadgetTree {
  private let folder = TemporaryFolder()
  private(set) var system = GadgetSystem()

  init(controllers: [String] = ["dummy_udc.0"], hasGadgets: Bool = true) {
    let path = folder.path
    system.configfs = "\(path)/config"
    system.controllers = "\(path)/udc"
    system.modules = "\(path)/module"
    system.mounts = "\(path)/mounts"
    for name in controllers { makeFolder("udc/\(name)") }
    if hasGadgets { makeFolder("config/usb_gadget") }
  }

  var path: String { folder.path }
  func makeFolder(_ place: String) { folder.makeFolder(place) }
  func write(_ text: String, to place: String) { folder.write(text, to: place) }
  func read(_ place: String) -> String? { folder.bytes(place).map { String(decoding: $0, as: UTF8.self) } }
  func has(_ place: String) -> Bool { folder.has(place) }

  func makeGadget(_ name: String, controller: String = "") {
    makeFolder("config/usb_gadget/\(name)")
    write(controller + "\n", to: "config/usb_gadget/\(name)/UDC")
  }

  /// Opens a gadget the way the program does. As in configfs, removing a folder also removes its files, but fails if
  /// the folder contains anything else.
  func gadget(_ name: String) -> GadgetFolder { open(SystemFolder(path: "\(path)/config/usb_gadget/\(name)")) }

  func open(_ folder: SystemFolder) -> GadgetFolder {
    GadgetFolder(folder) { path in
      let entries = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
      let folder = SystemFolder(path: path)
      // Removes the entries that were created automatically, as configfs does.
      let own = ["strings", "configs", "functions"]
      for name in entries where own.contains(name) && folder[name].names.isEmpty { rmdir(folder[name].path) }
      for name in entries where !folder.isFolder(name) && !folder.isLink(name) { unlink("\(path)/\(name)") }
      return rmdir(path)
    }
  }
}
