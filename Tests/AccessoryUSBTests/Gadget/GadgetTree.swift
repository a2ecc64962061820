import Foundation

@testable import AccessoryUSB

/// A folder of a test's own that stands for configfs and the list of controllers.
final class GadgetTree {
  let path = NSTemporaryDirectory() + "easim-gadget-" + UUID().uuidString
  private(set) var system = GadgetSystem()

  init(controllers: [String] = ["dummy_udc.0"], hasGadgets: Bool = true) {
    system.configfs = "\(path)/config"
    system.controllers = "\(path)/udc"
    system.modules = "\(path)/module"
    system.mounts = "\(path)/mounts"
    for name in controllers { makeFolder("udc/\(name)") }
    if hasGadgets { makeFolder("config/usb_gadget") }
  }

  deinit {
    try? FileManager.default.removeItem(atPath: path)
  }

  func makeFolder(_ place: String) {
    do { try FileManager.default.createDirectory(atPath: "\(path)/\(place)", withIntermediateDirectories: true) } catch
    {
      fatalError("\(error)")
    }
  }

  func write(_ text: String, to place: String) {
    do { try text.write(toFile: "\(path)/\(place)", atomically: false, encoding: .utf8) } catch {
      fatalError("\(error)")
    }
  }

  func read(_ place: String) -> String? {
    try? String(contentsOfFile: "\(path)/\(place)", encoding: .utf8)
  }

  func has(_ place: String) -> Bool { FileManager.default.fileExists(atPath: "\(path)/\(place)") }

  /// A gadget's folder with the files that configfs would make by itself.
  func makeGadget(_ name: String, controller: String = "") {
    makeFolder("config/usb_gadget/\(name)")
    write(controller + "\n", to: "config/usb_gadget/\(name)/UDC")
  }

  /// A gadget as the program has it. Folders go as in configfs: with their files, and not with anything else in them.
  func gadget(_ name: String) -> GadgetFolder { open(SystemFolder(path: "\(path)/config/usb_gadget/\(name)")) }

  func open(_ folder: SystemFolder) -> GadgetFolder {
    GadgetFolder(folder) { path in
      let entries = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
      let folder = SystemFolder(path: path)
      // Those that configfs makes by itself go by themselves too.
      let own = ["strings", "configs", "functions"]
      for name in entries where own.contains(name) && folder[name].names.isEmpty { rmdir(folder[name].path) }
      for name in entries where !folder.isFolder(name) && !folder.isLink(name) { unlink("\(path)/\(name)") }
      return rmdir(path)
    }
  }
}
