import Glibc

/// A file that the user named, or stdin with `-`, read whole.
enum InputFile {
  /// Larger files are not read; no profile, capture or payload needs more.
  static let sizeLimit = 256 << 20

  /// Reads a file of any size, part by part, until `take` returns false.
  static func read(_ path: String, _ take: ([UInt8]) throws -> Bool) throws {
    let name = path == "-" ? "stdin" : path.isEmpty ? "''" : path
    let descriptor = path == "-" ? STDIN_FILENO : try PatientFile.open(path, O_RDONLY, named: name)
    defer { if descriptor != STDIN_FILENO { close(descriptor) } }
    var block = [UInt8](repeating: 0, count: 1 << 18)
    while true {
      let count = Glibc.read(descriptor, &block, block.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw UsageError("\(name): \(String(cString: strerror(errno)))") }
      guard count > 0, try take(Array(block[..<count])) else { return }
    }
  }

  /// `option` is named in complaints, where the path came with one.
  static func read(_ path: String, option: String? = nil) throws -> [UInt8] {
    let name = (option.map { "\($0) " } ?? "") + (path == "-" ? "stdin" : path.isEmpty ? "''" : path)
    let descriptor = path == "-" ? STDIN_FILENO : try PatientFile.open(path, O_RDONLY, named: name)
    defer { if descriptor != STDIN_FILENO { close(descriptor) } }
    var bytes: [UInt8] = []
    var block = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = Glibc.read(descriptor, &block, block.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw UsageError("\(name): \(String(cString: strerror(errno)))") }
      if count == 0 { return bytes }
      bytes += block[..<count]
      if bytes.count > sizeLimit { throw UsageError("\(name) is larger than 256 MiB") }
    }
  }
}
