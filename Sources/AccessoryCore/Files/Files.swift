import Glibc

package enum Folder {
  /// Returns the sorted names in the folder, without `.` and `..`; nil, with `errno` set, if the folder does not exist
  /// or is not readable.
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
  /// Returns the target of a symbolic link; nil if the path is not a link.
  package static func target(ofLink path: String) -> String? {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
    return readlink(path, &buffer, buffer.count - 1) >= 0 ? String(terminated: buffer) : nil
  }

  /// Returns the path without links and `..`; nil, with `errno` set, if nothing exists at the path.
  package static func real(_ path: String) -> String? {
    guard let real = realpath(path, nil) else { return nil }
    defer { free(real) }
    return String(cString: real)
  }
}

extension String {
  /// Decodes the text in a C field, up to the first zero byte.
  package init(terminated bytes: some Sequence<UInt8>) { self.init(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self) }

  /// Decodes the text in a C field, up to the first zero byte.
  package init(terminated characters: [CChar]) { self.init(terminated: characters.lazy.map { UInt8(bitPattern: $0) }) }
}
