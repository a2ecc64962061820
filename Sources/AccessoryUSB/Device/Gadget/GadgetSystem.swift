import AccessoryCore
import Glibc

/// The folders in which the kernel lists gadgets and USB device controllers. Tests use their own folders.
package struct GadgetSystem: Sendable {
  package var configfs = "/sys/kernel/config"
  /// A folder that has an entry for each USB device controller.
  package var controllers = "/sys/class/udc"
  package var mounts = "/proc/self/mounts"

  /// A folder that has an entry for each loaded module.
  package var modules = "/sys/module"

  package init() {}

  package var controllerNames: [String] { SystemFolder(path: controllers).names }

  /// Whether FunctionFS is loaded. If not, the kernel tries to load it when needed.
  package var hasFunctionFS: Bool { SystemFolder(path: modules)["usb_f_fs"].exists }

  var gadgets: SystemFolder { SystemFolder(path: "\(configfs)/usb_gadget") }

  /// Returns the controller with this name or, if `name` is nil, the only controller.
  package func controller(_ name: String?) throws(GadgetError) -> String {
    let names = controllerNames
    if let name {
      guard names.contains(name) else { throw .noController(name, existing: names) }
      return name
    }
    guard let only = names.first else { throw .noControllers }
    guard names.count == 1 else { throw .severalControllers(names) }
    return only
  }

  package func check() throws(GadgetError) {
    if gadgets.exists { return }
    let root = SystemFolder(path: configfs)
    guard root.exists else { throw .noConfigFS }
    let table = SystemFolder(path: String(mounts.prefix(upTo: mounts.lastIndex(of: "/") ?? mounts.startIndex)))
    let lines = table.read(SystemFolder(path: mounts).name)?.split(separator: "\n") ?? []
    let isMounted = lines.contains { line in
      let words = line.split(separator: " ")
      return words.count > 2 && words[1] == configfs && words[2] == "configfs"
    }
    throw isMounted ? .noGadgets : .notMounted(configfs)
  }

  func checkFree(_ controller: String, for gadget: String) throws(GadgetError) {
    for name in gadgets.names where name != gadget {
      if GadgetFolder(gadgets[name]).controller == controller { throw .taken(controller, by: .gadget(name)) }
    }
    // Gadgets that are kernel modules, such as g_ether, claim the first controller when they are loaded.
    if let driver = SystemFolder(path: controllers)[controller].read("function"), !driver.isEmpty,
      !driver.hasPrefix("configfs-gadget")
    {
      throw .taken(controller, by: .module(driver))
    }
  }
}

/// The process that owns a gadget. The gadget's name identifies this process, so that stale gadgets can be recognized.
package struct GadgetOwner: Equatable, Sendable {
  package var pid: Int32
  /// The start time of the process, because process IDs are reused.
  package var startTime: UInt64

  package init(pid: Int32, startTime: UInt64) {
    self.pid = pid
    self.startTime = startTime
  }

  /// Returns the name for this owner's gadget with the given number, such as "easim-4711-123456-1".
  func gadget(_ number: Int) -> String { "easim-\(pid)-\(startTime)-\(number)" }

  /// Reads the owner from a gadget's name; nil if the gadget is not easim's.
  init?(gadget name: String) {
    let parts = name.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 4, parts[0] == "easim", let pid = Int32(parts[1]), pid > 0, let time = UInt64(parts[2]),
      let number = Int(parts[3]), GadgetOwner(pid: pid, startTime: time).gadget(number) == name
    else { return nil }
    self.init(pid: pid, startTime: time)
  }
}

extension GadgetSystem {
  /// Removes gadgets left by easim processes that have ended, and returns the gadgets' names. Keeps the gadgets of
  /// other programs and of running processes.
  ///
  /// - Parameter isRunning: returns whether a process still exists.
  package func sweep(isRunning: (GadgetOwner) -> Bool) -> [String] {
    sweep(isRunning: isRunning) { GadgetFolder($0) }
  }

  func sweep(isRunning: (GadgetOwner) -> Bool, opening: (SystemFolder) -> GadgetFolder) -> [String] {
    gadgets.names.filter { name in
      guard let owner = GadgetOwner(gadget: name), !isRunning(owner) else { return false }
      return opening(gadgets[name]).remove()
    }
  }
}

/// A folder in configfs or sysfs, whose files the kernel generates.
struct SystemFolder: Equatable {
  let path: String

  subscript(place: String) -> SystemFolder { SystemFolder(path: "\(path)/\(place)") }

  var name: String { String(path[path.index(after: path.lastIndex(of: "/") ?? path.startIndex)...]) }

  var exists: Bool { access(path, F_OK) == 0 }

  /// The sorted names in the folder; empty if the folder does not exist.
  var names: [String] { Folder.names(in: path) ?? [] }

  /// Returns the contents of a file without the line break at its end; nil if the file is longer than `limit` bytes.
  func read(_ name: String, atMost limit: Int = 1 << 20) -> String? {
    guard var bytes = SmallFile.read("\(path)/\(name)", limit: limit) else { return nil }
    if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Writes a file in one call, as configfs and sysfs require. Returns 0 or the kernel's error number.
  func write(_ text: String, to name: String) -> Int32 {
    let file = open("\(path)/\(name)", O_WRONLY | O_CLOEXEC)
    guard file >= 0 else { return errno }
    defer { close(file) }
    // The line break, which the kernel removes, is needed because the kernel ignores an empty write.
    let line = text + "\n"
    return Glibc.write(file, line, line.utf8.count) < 0 ? errno : 0
  }

  func isLink(_ name: String) -> Bool { kind(of: name) == S_IFLNK }
  func isFolder(_ name: String) -> Bool { kind(of: name) == S_IFDIR }

  private func kind(of name: String) -> mode_t? {
    var about = stat()
    return lstat("\(path)/\(name)", &about) == 0 ? about.st_mode & S_IFMT : nil
  }
}
