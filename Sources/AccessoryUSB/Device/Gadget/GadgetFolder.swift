import Glibc

/// One gadget in configfs: created, bound to a controller, unbound, removed.
struct GadgetFolder {
  let folder: SystemFolder
  /// Removes a folder; configfs removes the folder's files with it.
  private let removeFolder: (String) -> Int32

  init(_ folder: SystemFolder, removeFolder: @escaping (String) -> Int32 = { rmdir($0) }) {
    self.folder = folder
    self.removeFolder = removeFolder
  }

  /// The controller that it is bound to; nil when there is none.
  var controller: String? { folder.read("UDC").flatMap { $0.isEmpty ? nil : $0 } }

  /// Creates it, and returns which of the newer files this kernel does not have. When something fails, everything that
  /// was created is removed.
  func make(_ layout: GadgetLayout) throws(GadgetError) -> [String] {
    guard mkdir(folder.path, 0o755) == 0 else {
      throw GadgetError("make the gadget \(folder.path)", code: errno)
    }
    var missing: [String] = []
    do throws(GadgetError) {
      for step in layout.steps {
        if try perform(step) == false, case .newerFile(let name, _) = step { missing.append(name) }
      }
    } catch {
      remove()
      throw error
    }
    return missing
  }

  /// Does one step. Returns false when the kernel does not have a file that is optional.
  private func perform(_ step: GadgetLayout.Step) throws(GadgetError) -> Bool {
    switch step {
    case .folder(let place):
      if mkdir(folder[place].path, 0o755) == 0 { return true }
      // The kernel tries to load the module; this is its error when there is none.
      if errno == ENOENT, place.hasPrefix("functions/") { throw .noFunctionFS }
      throw GadgetError("make \(folder[place].path)", code: errno)
    case .file(let name, let text):
      let code = folder.write(text, to: name)
      if code != 0 { throw GadgetError("write '\(text)' to \(folder[name].path)", code: code) }
    case .newerFile(let name, let text):
      if !folder[name].exists { return false }
      return try perform(.file(name, text))
    case .link(let place, let target):
      guard symlink(folder[target].path, folder[place].path) == 0 else {
        throw GadgetError("link \(folder[place].path)", code: errno)
      }
    }
    return true
  }

  /// Binds it to a controller, which plugs it in. Returns 0, or the kernel's error number.
  func bind(to controller: String) -> Int32 { folder.write(controller, to: "UDC") }

  /// Unbinds it from its controller, which unplugs it.
  func unbind() {
    // The kernel reports an error when it is not bound; that is fine here.
    _ = folder.write("", to: "UDC")
  }

  /// Removes all of it that exists. Returns false when something is left.
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
