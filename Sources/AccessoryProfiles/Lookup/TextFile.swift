import AccessoryCore
import Glibc

/// Files that users write, such as profiles and scenarios: the only access of this module to the file system.
package enum TextFile {
  /// How long a pipe may keep its reader waiting.
  private static let patience: Int32 = 10_000

  /// Reads a file of at most `limit` bytes; the error has the system's reason. A pipe, such as a shell's `<(…)`, is
  /// waited for, up to a time limit.
  package static func read(_ path: String, limit: Int) throws(TextFileError) -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw TextFileError(path, errno) }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw TextFileError(path, errno) }
    if status.st_mode & S_IFMT == S_IFDIR { throw TextFileError(path, EISDIR) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while bytes.count <= limit {
      let count = chunk.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
      if count == 0 { return bytes }
      if count < 0 {
        if errno == EINTR { continue }
        if errno == EAGAIN {
          var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
          if poll(&waiting, 1, patience) != 0 { continue }
          throw TextFileError("\(path) gave nothing for \(patience / 1000) s")
        }
        throw TextFileError(path, errno)
      }
      bytes += chunk[..<count]
    }
    throw TextFileError("\(path) has more than \(limit) bytes, the most it may have")
  }

  /// A hint for a user whose argument was taken for a name, when there is a file of this name; empty when there is
  /// none.
  package static func hint(forFileNamed word: String) -> String {
    var status = stat()
    guard !word.isEmpty, stat(word, &status) == 0, status.st_mode & S_IFMT != S_IFDIR else { return "" }
    return "; for the file of that name write \("./\(word)".shellWord)"
  }

  /// The path without links and detours; the path itself where the system knows none.
  static func realPath(_ path: String) -> String {
    guard let real = realpath(path, nil) else { return path }
    defer { free(real) }
    return String(cString: real)
  }

  /// The folder that a file really is in; nil when the file is not there.
  static func folder(of path: String) -> String? {
    guard let real = realpath(path, nil) else { return nil }
    defer { free(real) }
    let text = String(cString: real)
    guard let slash = text.lastIndex(of: "/"), slash != text.startIndex else { return "/" }
    return String(text[..<slash])
  }

  /// Why the programs that a file names are not run: other users than this one and root could have written it. Nil
  /// when they are run.
  ///
  /// The rule of ssh and git: the file and its folder belong to this user or to root, and neither the group nor
  /// others can write to them.
  static func objection(toRunning path: String) -> String? {
    guard let folder = folder(of: path) else {
      return "the owner of '\(Excerpt.of(path))' cannot be checked: it is not a file"
    }
    for place in [realPath(path), folder] {
      var status = stat()
      guard stat(place, &status) == 0 else { return "\(place) cannot be examined: \(String(cString: strerror(errno)))" }
      if status.st_uid != geteuid(), status.st_uid != 0 { return "\(place) belongs to another user" }
      if status.st_mode & (S_IWGRP | S_IWOTH) != 0 {
        return "\(place) can be written by \(status.st_mode & S_IWOTH != 0 ? "everyone" : "its group")"
      }
    }
    return nil
  }

  /// The names in a directory, sorted; empty when it is not there or not readable.
  package static func names(in directory: String) -> [String] {
    guard let stream = opendir(directory) else { return [] }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      names.append(name)
    }
    return names.sorted()
  }
}

extension Record {
  /// Reads a file; the error has all its problems.
  package func read(file path: String) throws(SourceProblems) -> Root {
    let bytes: [UInt8]
    do { bytes = try TextFile.read(path, limit: JSON5.Limits().bytes) } catch {
      throw SourceProblems([SourceProblem(at: SourcePosition(argument: path), "\(error)")])
    }
    let tree: JSON5Value
    do { tree = try JSON5.read(bytes, file: path) } catch { throw SourceProblems([error]) }
    return try read(tree)
  }
}

/// Why a file could not be read.
package struct TextFileError: Error, Equatable, CustomStringConvertible {
  package let description: String

  init(_ description: String) {
    self.description = description
  }

  init(_ path: String, _ code: Int32) {
    description = "\(path) cannot be read: \(String(cString: strerror(code)))"
  }
}
