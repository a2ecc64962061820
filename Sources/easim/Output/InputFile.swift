import AccessoryProfiles
import Glibc

/// Reads files that the user has named; `-` means stdin.
enum InputFile {
  /// The maximum file size. No profile, capture or payload is larger.
  static let sizeLimit = 256 << 20

  /// Reads a file of any size in parts, until `take` returns false.
  static func read(_ path: String, named given: String? = nil, _ take: ([UInt8]) throws -> Bool) throws {
    let name = given ?? (path == "-" ? "stdin" : path.isEmpty ? "''" : path)
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

  /// The time limit for reading a file other than stdin.
  private static let patience = Duration.seconds(60)

  /// Reads a file. Errors mention `option` if the path came from an option. A stop signal ends the wait for a file.
  /// There is no time limit for reading stdin.
  static func read(_ path: String, option: String? = nil) throws -> [UInt8] {
    let isStandard = path == "-" || path == "/dev/stdin"
    let name = (option.map { "\($0) " } ?? "") + (isStandard ? "stdin" : path.isEmpty ? "''" : path)
    guard isStandard else {
      return try PatientFile.read(named: name, atMost: patience) {
        do throws(TextFileError) { return try TextFile.read(path, limit: sizeLimit, within: patience) } catch {
          throw UsageError("\(name): \(error.reason)")
        }
      }
    }
    return try PatientFile.read(named: name, atMost: nil) {
      var bytes: [UInt8] = []
      try read("-", named: name) { block in
        bytes += block
        if bytes.count > sizeLimit { throw UsageError("\(name) is larger than 256 MiB") }
        return true
      }
      return bytes
    }
  }
}
