import AccessoryCore
import Glibc

/// Creates, binds, unbinds and removes one gadget in configfs.
struct GadgetFolder {
  let folder: SystemFolder
  /// Removes a folder. In configfs, removing a folder also removes its files.
  private let removeFolder: (String) -> Int32

  init(_ folder: SystemFolder, removeFolder: @escaping (String) -> Int32 = { rmdir($0) }) {
    self.folder = folder
    self.removeFolder = removeFolder
  }

  /// The controller to which the gadget is bound, or nil if it is not bound.
  var controller: String? { folder.read("UDC").flatMap { $0.isEmpty ? nil : $0 } }

  /// Creates the gadget. If creation fails, removes everything created so far.
  func make(_ layout: GadgetLayout) throws(GadgetError) {
    guard mkdir(folder.path, 0o755) == 0 else {
      throw GadgetError("make the gadget \(folder.path)", code: errno)
    }
    do throws(GadgetError) {
      for step in layout.steps { try perform(step) }
    } catch {
      remove()
      throw error
    }
  }

  private func perform(_ step: GadgetLayout.Step) throws(GadgetError) {
    switch step {
    case .folder(let place):
      if mkdir(folder[place].path, 0o755) == 0 { return }
      // The kernel tries to load the module, and reports ENOENT if it cannot find it.
      if errno == ENOENT, place.hasPrefix("functions/") { throw .noFunctionFS }
      throw GadgetError("make \(folder[place].path)", code: errno)
    case .file(let name, let text):
      let code = folder.write(text, to: name)
      if code != 0 { throw GadgetError("write '\(text)' to \(folder[name].path)", code: code) }
    case .newerFile(let name, let text): if folder[name].exists { try perform(.file(name, text)) }
    case .link(let place, let target):
      guard symlink(folder[target].path, folder[place].path) == 0 else {
        throw GadgetError("link \(folder[place].path)", code: errno)
      }
    }
  }

  /// Binds the gadget to a controller, which plugs it in. Returns 0 or the kernel's error number.
  func bind(to controller: String) -> Int32 { folder.write(controller, to: "UDC") }

  func unbind() {
    // If the gadget is not bound, the kernel reports an error, which can be ignored.
    _ = folder.write("", to: "UDC")
  }

  /// Removes whichever parts of the gadget exist. Returns false if any part could not be removed.
  @discardableResult
  func remove() -> Bool {
    unbind()
    for name in folder["configs"].names {
      let configuration = folder["configs"][name]
      for entry in configuration.names where configuration.isLink(entry) { unlink(configuration[entry].path) }
      removeAll(in: configuration["strings"])
      _ = removeFolder(configuration.path)
    }
    removeAll(in: folder["functions"])
    removeAll(in: folder["strings"])
    return removeFolder(folder.path) == 0
  }

  private func removeAll(in place: SystemFolder) {
    for name in place.names where place.isFolder(name) { _ = removeFolder(place[name].path) }
  }
}

/// The folders, files and link that must be created in configfs for a gadget, in the order that the kernel requires.
struct GadgetLayout: Equatable {
  enum Step: Equatable {
    case folder(String)
    case file(String, String)
    /// A file that older kernels lack.
    case newerFile(String, String)
    case link(String, to: String)
  }

  let steps: [Step]

  /// The longest string that configfs accepts, in bytes.
  static let longestString = 126

  init(steps: [Step]) {
    self.steps = steps
  }

  /// Creates the layout of a gadget whose only function is the FunctionFS `instance`.
  init(_ shape: USBAccessoryShape, instance: String) {
    let strings = "strings/0x409"
    let configuration = "configs/c.1"
    let function = "functions/ffs.\(instance)"
    self.init(steps: [
      .file("idVendor", Self.hex(shape.vendor)), .file("idProduct", Self.hex(shape.product)),
      .file("bcdDevice", Self.hex(shape.release)), .file("bcdUSB", "0x0200"),
      // Without this file, a 5 Gbit/s port would advertise a speed for which the gadget has no descriptors.
      .newerFile("max_speed", shape.speed == .full ? "full-speed" : "high-speed"),
      .folder(strings), .file("\(strings)/manufacturer", Self.cut(shape.manufacturer)),
      .file("\(strings)/product", Self.cut(shape.name)), .file("\(strings)/serialnumber", Self.cut(shape.serial)),
      .folder(configuration), .file("\(configuration)/bmAttributes", "0xc0"), .file("\(configuration)/MaxPower", "100"),
      .folder(function), .link("\(configuration)/ffs.\(instance)", to: function),
    ])
  }

  static func tooLong(_ shape: USBAccessoryShape) -> [String] {
    [shape.manufacturer, shape.name, shape.serial].filter { $0.utf8.count > longestString }
  }

  /// Shortens a string to the maximum length without splitting a character. Line breaks are removed because they would
  /// end the string.
  private static func cut(_ text: String) -> String {
    var cut = ""
    var room = longestString
    for scalar in text.unicodeScalars where scalar != "\n" {
      room -= UTF8.width(scalar)
      guard room >= 0 else { break }
      cut.unicodeScalars.append(scalar)
    }
    return cut
  }

  private static func hex(_ number: UInt16) -> String {
    "0x" + Hex.number(number, uppercase: false)
  }
}
