/// Changes which threads Foundation considers the main thread.
package enum MainThread {
  /// Makes Foundation's `Thread.isMainThread` return true wherever `isAlso` returns true, in addition to the real main
  /// thread. Programs that link Foundation statically (`-static-stdlib`) keep Foundation's own answer.
  package static func isAlso(_ isAlso: @escaping @convention(c) () -> Bool) { clinux_main_thread_is_also(isAlso) }
}
