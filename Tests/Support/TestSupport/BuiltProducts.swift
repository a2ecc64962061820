import Glibc

/// Locates the products of the build, which are in the same folder as the running tests.
public enum BuiltProducts {
  /// The path of the running tests.
  public static let tests: String = {
    guard let path = realpath("/proc/self/exe", nil) else { preconditionFailure("/proc is not there") }
    defer { free(path) }
    return String(cString: path)
  }()

  /// The folder that contains all products.
  public static let folder = String(tests.reversed().drop { $0 != "/" }.dropFirst().reversed())

  /// The program under test.
  public static let easim = program("easim")

  /// Returns the path of a built program. The test target must declare the program as a dependency, so that it is built
  /// first.
  public static func program(_ name: String) -> String {
    let path = "\(folder)/\(name)"
    precondition(access(path, X_OK) == 0, "\(name) is not beside the tests that are running, in \(folder)")
    return path
  }
}
