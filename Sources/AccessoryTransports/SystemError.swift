import Glibc

/// A system call that failed: which, on what, and what the system said.
public struct SystemError: Error, Equatable, Sendable, CustomStringConvertible {
  /// What was tried, as a fragment of a sentence: "open /dev/ttyUSB0".
  public let action: String
  /// The number the system gave.
  public let code: Int32

  /// Makes an error of a call that failed with `code`.
  public init(_ action: String, code: Int32) {
    self.action = action
    self.code = code
  }

  /// What the system said: "No such file or directory".
  public var reason: String { Self.reason(code) }

  /// One line: "cannot open /dev/ttyUSB0: No such file or directory".
  public var description: String { "cannot \(action): \(reason)" }

  static func reason(_ code: Int32) -> String {
    strerror(code).map { String(cString: $0) } ?? "error \(code)"
  }

  /// The error of the call that has just failed.
  static func last(_ action: String) -> SystemError {
    SystemError(action, code: errno)
  }
}
