/// Changes which threads Foundation considers the main thread.
package enum MainThread {
  /// Makes Foundation's `Thread.isMainThread` also return true wherever `isAlso` returns true. The call has no effect
  /// in programs that link Foundation statically (`-static-stdlib`).
  package static func isAlso(_ isAlso: @escaping @convention(c) () -> Bool) { clinux_main_thread_is_also(isAlso) }
}
