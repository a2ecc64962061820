/// Whether an app hears notifications: one count for the whole process, as the shared manager keeps it.
///
/// Registering and unregistering must be balanced, and the count does not know who asked: when one of several owners
/// unregisters once too often, every observer in the process goes deaf. How far below zero Apple's count goes is not
/// known; this one stays at zero and says that it was misused.
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
