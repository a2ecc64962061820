import Glibc

/// A descriptor that is closed when nobody took it over, so that no way out of a function leaks one.
struct OwnedDescriptor: ~Copyable {
  let number: Int32

  /// Takes over what a system call returned, or throws its error.
  init(_ result: Int32, _ action: @autoclosure () -> String) throws(SystemError) {
    guard result >= 0 else { throw .last(action()) }
    number = result
  }

  deinit { close(number) }

  /// Gives the descriptor away.
  consuming func release() -> Int32 {
    let number = number
    discard self
    return number
  }
}
