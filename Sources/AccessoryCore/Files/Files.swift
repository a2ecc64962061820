import Glibc

package enum Folder {
  /// Returns the names in the folder, sorted and without `.` and `..`. If the folder does not exist or is not readable,
  /// sets `errno` and returns nil.
  package static func names(in path: String) -> [String]? {
    guard let stream = opendir(path) else { return nil }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(terminated: $0) }
      if name != ".", name != ".." { names.append(name) }
    }
    return names.sorted()
  }
}

package enum FilePath {
  /// Returns the target of a symbolic link, or nil if the path is not a link.
  package static func target(ofLink path: String) -> String? {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
    return readlink(path, &buffer, buffer.count - 1) >= 0 ? String(terminated: buffer) : nil
  }

  /// Returns the path with links and `..` resolved. If nothing exists at the path, sets `errno` and returns nil.
  package static func real(_ path: String) -> String? {
    guard let real = realpath(path, nil) else { return nil }
    defer { free(real) }
    return String(cString: real)
  }
}

/// Reads small files, such as cards, locks and the system's tables, in one call.
package enum SmallFile {
  package static let limit = 64 * 1024

  /// Returns the file's bytes. If the file cannot be read or is longer than `limit`, sets `errno` and returns nil.
  package static func read(_ path: String, limit: Int = limit) -> [UInt8]? {
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var bytes: [UInt8] = []
    while bytes.count <= limit {
      var result = 0
      bytes += [UInt8](unsafeUninitializedCapacity: 4_096) { buffer, count in
        result = Glibc.read(file, buffer.baseAddress, buffer.count)
        count = max(0, result)
      }
      if result <= 0 { return result == 0 ? bytes : nil }
    }
    errno = EFBIG
    return nil
  }
}

extension String {
  /// Decodes the text in a C field, up to the first zero byte.
  package init(terminated bytes: some Sequence<UInt8>) { self.init(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self) }

  /// Decodes the text in a C field, up to the first zero byte.
  package init(terminated characters: [CChar]) { self.init(terminated: characters.lazy.map { UInt8(bitPattern: $0) }) }
}
