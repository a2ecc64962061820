import CCrypto

/// libcrypto's own account of what went wrong on this thread.
enum LibraryReasons {
  /// The reasons, oldest first, and forgets them. A call that may fail on bytes from outside is followed by this, so
  /// that the next failure is not blamed on an old reason.
  @discardableResult
  static func take() -> String {
    var reasons: [String] = []
    // The library keeps sixteen at most.
    while case let code = ERR_get_error(), code != 0 {
      guard let text = ERR_reason_error_string(code) else { continue }
      let reason = String(cString: text)
      if reasons.last != reason { reasons.append(reason) }
    }
    return reasons.isEmpty ? "no reason given" : reasons.prefix(3).joined(separator: ", ")
  }

  /// Traps unless a call on values of our own making succeeded.
  static func must(_ result: Int32, _ what: StaticString) {
    precondition(result == 1, "libcrypto refused our own values (\(what)): \(take())")
  }
}
