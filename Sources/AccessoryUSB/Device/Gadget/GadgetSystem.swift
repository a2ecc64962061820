/// The folders where the kernel shows gadgets and USB device controllers. Tests use folders of their own.
public struct GadgetSystem: Sendable {
  /// Where configfs is mounted.
  public var configfs = "/sys/kernel/config"
  /// A folder with an entry for each USB device controller.
  public var controllers = "/sys/class/udc"
  /// The table of mounts.
  public var mounts = "/proc/self/mounts"

  /// A folder with an entry for each module that is loaded.
  public var modules = "/sys/module"

  /// This machine.
  public init() {}

  /// The names of the controllers.
  public var controllerNames: [String] { SystemFolder(path: controllers).names }

  /// Whether FunctionFS is loaded. If not, the kernel tries to load it when it is needed.
  public var hasFunctionFS: Bool { SystemFolder(path: modules)["usb_f_fs"].exists }

  var gadgets: SystemFolder { SystemFolder(path: "\(configfs)/usb_gadget") }

  /// The controller with this name; without a name, the only one.
  public func controller(_ name: String?) throws(GadgetError) -> String {
    let names = controllerNames
    if let name {
      guard names.contains(name) else { throw .noController(name, existing: names) }
      return name
    }
    guard let only = names.first else { throw .noControllers }
    guard names.count == 1 else { throw .severalControllers(names) }
    return only
  }

  /// Checks whether gadgets can be created on this machine.
  public func check() throws(GadgetError) {
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

  /// Checks whether another gadget is bound to a controller.
  func checkFree(_ controller: String, for gadget: String) throws(GadgetError) {
    for name in gadgets.names where name != gadget {
      if GadgetFolder(gadgets[name]).controller == controller { throw .taken(controller, by: .gadget(name)) }
    }
    // Gadgets that are kernel modules, such as g_ether, take the first controller.
    if let driver = SystemFolder(path: controllers)[controller].read("function"), !driver.isEmpty,
      !driver.hasPrefix("configfs-gadget")
    {
      throw .taken(controller, by: .module(driver))
    }
  }
}

/// The process that a gadget belongs to. It is part of the gadget's name, so that stale gadgets are recognised.
public struct GadgetOwner: Equatable, Sendable {
  /// The process id.
  public var pid: Int32
  /// When the process was started, because process ids are reused.
  public var startTime: UInt64

  /// The owner with these numbers.
  public init(pid: Int32, startTime: UInt64) {
    self.pid = pid
    self.startTime = startTime
  }

  /// The name of its gadget with this number: "easim-4711-123456-1".
  func gadget(_ number: Int) -> String { "easim-\(pid)-\(startTime)-\(number)" }

  /// Reads the owner from a gadget's name; nil when the gadget is not easim's.
  init?(gadget name: String) {
    let parts = name.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 4, parts[0] == "easim", let pid = Int32(parts[1]), pid > 0, let time = UInt64(parts[2]),
      let number = Int(parts[3]), GadgetOwner(pid: pid, startTime: time).gadget(number) == name
    else { return nil }
    self.init(pid: pid, startTime: time)
  }
}

extension GadgetSystem {
  /// Removes the gadgets of easim processes that have ended, and returns their names. Gadgets of other programs and of
  /// running processes are left alone.
  ///
  /// - Parameter isRunning: whether this process still exists.
  public func sweep(isRunning: (GadgetOwner) -> Bool) -> [String] {
    sweep(isRunning: isRunning) { GadgetFolder($0) }
  }

  func sweep(isRunning: (GadgetOwner) -> Bool, opening: (SystemFolder) -> GadgetFolder) -> [String] {
    gadgets.names.filter { name in
      guard let owner = GadgetOwner(gadget: name), !isRunning(owner) else { return false }
      return opening(gadgets[name]).remove()
    }
  }
}
