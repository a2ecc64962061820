import Glibc

/// A descriptor that is closed unless it is released, so that no return path of a function leaks it.
package struct OwnedDescriptor: ~Copyable {
  /// The descriptor.
  package let number: Int32

  /// Takes over what a system call returned, or throws its error.
  package init(_ result: Int32, _ action: @autoclosure () -> String) throws(SystemError) {
    guard result >= 0 else { throw .last(action()) }
    number = result
  }

  deinit { close(number) }

  /// Transfers the descriptor to the caller.
  package consuming func release() -> Int32 {
    let number = number
    discard self
    return number
  }
}
