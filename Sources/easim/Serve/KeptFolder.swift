import AccessoryControl
import AccessoryCore
import AccessoryProfiles
import Glibc
import LinuxIO

/// The folder of `easim serve --keep DIR`, which contains reports of runs, and captures that are written during
/// recording.
final class KeptFolder: KeptFiles {
  /// The maximum size of a file that a client can read.
  private static let longestFile = 256 << 20

  private let path: String

  init(_ path: String) throws(UsageError) {
    self.path = path
    for folder in [path, "\(path)/captures", "\(path)/runs"] {
      try PatientFile.makeFolder(folder, named: "--keep \(path)")
    }
  }

  var stamp: String {
    var (now, parts) = (time(nil), tm())
    gmtime_r(&now, &parts)
    func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return "\(parts.tm_year + 1900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday))"
      + "T\(two(parts.tm_hour)).\(two(parts.tm_min)).\(two(parts.tm_sec))Z"
  }

  func makeFile(_ name: String) throws -> any KeptFile {
    let descriptor = open("\(path)/\(name)", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o644)
    guard descriptor >= 0 else { throw SystemError("write \(path)/\(name)", code: errno) }
    return KeptDescriptor(descriptor)
  }

  func write(_ bytes: [UInt8], to name: String) throws {
    if let slash = name.lastIndex(of: "/") {
      let folder = "\(path)/\(name[..<slash])"
      if mkdir(folder, 0o755) != 0, errno != EEXIST { throw SystemError("make \(folder)", code: errno) }
    }
    try WholeFile("\(path)/\(name)").write(bytes)
  }

  func names(in folder: String) -> [String] {
    (Folder.names(in: "\(path)/\(folder)") ?? []).filter { !$0.hasPrefix(".") }
  }

  func read(_ name: String) -> [UInt8]? { try? TextFile.read("\(path)/\(name)", limit: Self.longestFile) }
}

/// A file to which bytes are written as they arrive.
private final class KeptDescriptor: KeptFile {
  private var descriptor: Int32

  init(_ descriptor: Int32) { self.descriptor = descriptor }

  deinit { close() }

  func write(_ bytes: [UInt8]) -> String? {
    guard descriptor >= 0, let code = FileWriting.write(bytes, to: descriptor) else { return nil }
    close()
    return "it could not be written: \(String(cString: strerror(code)))"
  }

  func close() {
    if descriptor >= 0 { Glibc.close(descriptor) }
    descriptor = -1
  }
}
