import AccessoryCaptures
import AccessoryCore
import Glibc
import LinuxIO

/// A folder with two files, one for each direction, for every session in a capture.
final class SessionFiles {
  /// The number of files is limited, so that a capture cannot exhaust the file descriptors.
  private static let mostFiles = 512

  private let folder: String
  private var descriptors: [String: Int32] = [:]

  init(in folder: String) throws {
    self.folder = folder
    guard mkdir(folder, 0o777) == 0 || errno == EEXIST else {
      throw UsageError("--sessions \(folder): \(String(cString: strerror(errno)))")
    }
  }

  deinit { for descriptor in descriptors.values { close(descriptor) } }

  func add(_ bytes: CaptureAnalysis.SessionBytes) throws {
    let from = bytes.from.isEmpty ? "" : "-\(bytes.from)"
    let path = "\(folder)/cable\(bytes.cable)-session\(bytes.session)\(from).bin"
    let descriptor = try descriptors[path] ?? open(path)
    if let code = FileWriting.write(bytes.bytes, to: descriptor) {
      throw UsageError("--sessions: \(path): \(String(cString: strerror(code)))")
    }
  }

  private func open(_ path: String) throws -> Int32 {
    guard descriptors.count < Self.mostFiles else {
      throw UsageError("--sessions: the capture has more than \(Self.mostFiles) sessions and directions")
    }
    let descriptor = try PatientFile.open(path, O_WRONLY | O_CREAT | O_TRUNC, named: "--sessions: \(path)")
    descriptors[path] = descriptor
    return descriptor
  }
}
