import Glibc

/// A failed system call: what it was for, and the system's reason.
public struct SystemError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The action, as a fragment of a sentence: "open /dev/ttyUSB0".
  public let action: String
  /// The number the system gave.
  public let code: Int32

  /// Makes an error of a call that failed with `code`.
  public init(_ action: String, code: Int32) {
    self.action = action
    self.code = code
  }

  /// The system's reason: "No such file or directory".
  public var reason: String { Self.reason(code) }

  /// One line: "cannot open /dev/ttyUSB0: No such file or directory".
  public var description: String { "cannot \(action): \(reason)" }

  static func reason(_ code: Int32) -> String {
    strerror(code).map { String(cString: $0) } ?? "error \(code)"
  }

  /// The error of the call that has just failed.
  package static func last(_ action: String) -> SystemError {
    SystemError(action, code: errno)
  }
}
