/// The main thread, as Foundation sees it.
package enum MainThread {
  /// Makes Foundation's `Thread.isMainThread` true also where `isAlso` says so. A program that contains Foundation
  /// (`-static-stdlib`) keeps Foundation's own answer.
  package static func isAlso(_ isAlso: @escaping @convention(c) () -> Bool) { clinux_main_thread_is_also(isAlso) }
}
