import Glibc

/// Where the build put things: beside the tests that are running.
enum BuiltProducts {
  static let folder: String = {
    guard let path = realpath("/proc/self/exe", nil) else { preconditionFailure("/proc is not there") }
    defer { free(path) }
    return String(String(cString: path).reversed().drop { $0 != "/" }.dropFirst().reversed())
  }()

  /// The program under test.
  static let easim: String = {
    let path = "\(folder)/easim"
    precondition(access(path, X_OK) == 0, "easim is not beside the tests that are running, in \(folder)")
    return path
  }()
}
