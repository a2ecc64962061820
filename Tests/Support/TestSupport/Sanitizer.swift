import Glibc

/// The sanitizer that the tests were built with, as `Scripts/test` says.
public enum Sanitizer: String, Sendable {
  case address = "asan"
  case thread = "tsan"

  /// The sanitizer, or nil if the tests were built without one.
  public static let used = getenv("EASIM_SANITIZED").flatMap { Sanitizer(rawValue: String(cString: $0)) }
}
