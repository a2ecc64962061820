/// Whether an app gets notifications: one count for the whole process, as in the shared manager.
///
/// Each registration needs its unregistration, and the count does not know which object registered: when one of several
/// objects unregisters once too often, every observer in the process gets no more notifications. How far below zero
/// Apple's count goes is not known; this one stays at zero and records the misuse.
struct Registration: Equatable {
  private(set) var count = 0

  /// Whether notifications are posted.
  var isActive: Bool { count > 0 }

  mutating func register() {
    count += 1
  }

  /// Whether there was something to undo.
  mutating func unregister() -> Bool {
    guard count > 0 else { return false }
    count -= 1
    return true
  }
}
