import AccessoryCore
import AccessoryFormats
import Glibc

/// Reads files that users write, such as profiles and scenarios. No other code in this module uses the file system.
package enum TextFile {
  /// How long a pipe or a device may take to deliver all of its bytes.
  package static let patience = Duration.seconds(10)

  /// Reads a file of up to `limit` bytes. If the file cannot be read, the error contains the system's reason. Reading a
  /// pipe or a device, such as a shell's `<(…)`, fails if it takes longer than `patience`.
  ///
  /// - Parameter onlyRegular: whether to refuse pipes and devices. Set this for paths that come from other programs.
  package static func read(
    _ path: String, limit: Int, onlyRegular: Bool = false, within patience: Duration = patience
  ) throws(TextFileError) -> [UInt8] {
    var status = stat()
    // The type of the file is checked before the file is opened, because opening a device may have side effects.
    guard stat(path, &status) == 0 else { throw TextFileError(path, errno) }
    try check(status, path, onlyRegular)
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    guard descriptor >= 0 else { throw TextFileError(path, errno) }
    defer { close(descriptor) }
    guard fstat(descriptor, &status) == 0 else { throw TextFileError(path, errno) }
    try check(status, path, onlyRegular)
    let deadline = ContinuousClock.now + patience
    var bytes: [UInt8] = []
    // Reserving memory prevents reallocation, which would briefly keep two copies of the bytes in memory.
    bytes.reserveCapacity(min(max(0, Int(status.st_size)), limit) + 1)
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while bytes.count <= limit {
      try wait(for: descriptor, path, status.st_mode & S_IFMT == S_IFREG ? nil : deadline, patience)
      let count = chunk.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
      if count == 0 { return bytes }
      if count < 0 {
        if errno == EINTR || errno == EAGAIN { continue }
        throw TextFileError(path, errno)
      }
      bytes += chunk[..<count]
    }
    throw TextFileError(path, "it is larger than the limit of \(limit) bytes")
  }

  private static func check(_ status: stat, _ path: String, _ onlyRegular: Bool) throws(TextFileError) {
    let kind: String
    switch status.st_mode & S_IFMT {
    case S_IFREG: return
    case S_IFDIR: throw TextFileError(path, EISDIR)
    case S_IFSOCK: kind = "a socket"
    case S_IFIFO, S_IFCHR:
      guard onlyRegular else { return }
      kind = status.st_mode & S_IFMT == S_IFIFO ? "a pipe" : "a device"
    default: kind = "a device"
    }
    throw TextFileError(path, "it is \(kind); copy its contents to a regular file")
  }

  /// Waits until there are bytes to read or the file ends. A pipe that no program has opened for writing delivers
  /// neither bytes nor an end of file.
  private static func wait(
    for descriptor: Int32, _ path: String, _ deadline: ContinuousClock.Instant?, _ patience: Duration
  ) throws(TextFileError) {
    guard let deadline else { return }
    while true {
      let left = ContinuousClock.now.duration(to: deadline)
      var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      if left > .zero {
        let milliseconds = left.components.seconds * 1000 + left.components.attoseconds / 1_000_000_000_000_000
        let count = poll(&waiting, 1, Int32(clamping: milliseconds + 1))
        if count > 0 { return }
        if count < 0, errno != EINTR { throw TextFileError(path, errno) }
      } else {
        throw TextFileError(path, "reading it took longer than \(DurationText.format(patience))")
      }
    }
  }

  /// Returns a hint if the argument was treated as a name but a file with that name exists, with or without `.json5`.
  /// Otherwise, returns an empty string.
  package static func hint(forFileNamed word: String) -> String {
    for (file, subject) in [(word, "file with that name"), ("\(word).json5", "file \(word).json5")] {
      var status = stat()
      guard !word.isEmpty, stat(file, &status) == 0, status.st_mode & S_IFMT != S_IFDIR else { continue }
      return "; to use the \(subject), write \("./\(file)".shellWord)"
    }
    return ""
  }

  static func realPath(_ path: String) -> String { FilePath.real(path) ?? path }

  /// Returns the folder that contains a file, with links resolved, or nil if the file does not exist.
  static func folder(of path: String) -> String? {
    FilePath.real(path).map { real in
      guard let slash = real.lastIndex(of: "/"), slash != real.startIndex else { return "/" }
      return String(real[..<slash])
    }
  }

  /// Returns the reason why programs that this file names must not run, or nil if they may run.
  ///
  /// As in ssh and git, the file and its folder must be owned by this user or root and must not be writable by the
  /// group or by others.
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
}

extension Record {
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

package struct TextFileError: Error, Equatable, CustomStringConvertible {
  package let path: String
  package let reason: String

  package var description: String { "\(path) cannot be read: \(reason)" }

  package init(_ path: String, _ reason: String) {
    (self.path, self.reason) = (path, reason)
  }

  init(_ path: String, _ code: Int32) {
    self.init(path, String(cString: strerror(code)))
  }
}
