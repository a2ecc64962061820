import Glibc

/// A folder of configfs or sysfs, whose files the kernel makes up.
struct SystemFolder: Equatable {
  let path: String

  /// A folder or file below this one.
  subscript(place: String) -> SystemFolder { SystemFolder(path: "\(path)/\(place)") }

  /// The last part of the path.
  var name: String { String(path[path.index(after: path.lastIndex(of: "/") ?? path.startIndex)...]) }

  var exists: Bool { access(path, F_OK) == 0 }

  /// The names in the folder, sorted; empty when the folder does not exist.
  var names: [String] {
    guard let folder = opendir(path) else { return [] }
    defer { closedir(folder) }
    var names: [String] = []
    while let entry = readdir(folder) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) {
        String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names.sorted()
  }

  /// The contents of a small file, without the line break at its end.
  func read(_ name: String) -> String? {
    let file = open("\(path)/\(name)", O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = Glibc.read(file, &bytes, bytes.count)
    guard count >= 0 else { return nil }
    let text = String(decoding: bytes.prefix(count), as: UTF8.self)
    return text.last == "\n" ? String(text.dropLast()) : text
  }

  /// Writes a file in one call, as these files require. Returns 0, or the kernel's error number.
  func write(_ text: String, to name: String) -> Int32 {
    let file = open("\(path)/\(name)", O_WRONLY | O_CLOEXEC)
    guard file >= 0 else { return errno }
    defer { close(file) }
    // An empty write would not reach the kernel; it strips the line break.
    let line = text + "\n"
    return Glibc.write(file, line, line.utf8.count) < 0 ? errno : 0
  }

  func isLink(_ name: String) -> Bool {
    var about = stat()
    return lstat("\(path)/\(name)", &about) == 0 && about.st_mode & S_IFMT == S_IFLNK
  }

  func isFolder(_ name: String) -> Bool {
    var about = stat()
    return lstat("\(path)/\(name)", &about) == 0 && about.st_mode & S_IFMT == S_IFDIR
  }
}
