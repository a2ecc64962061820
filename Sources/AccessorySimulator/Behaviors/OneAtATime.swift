/// Runs a piece of work that may be asked for while it runs: then once more afterwards, never within itself.
///
/// A write to a session may tell of room before it returns, and a handler that then wrote from within its own writing
/// would send the same bytes twice.
final class OneAtATime {
  private var isRunning = false
  private var isAskedAgain = false

  func run(_ work: () -> Void) {
    isAskedAgain = true
    guard !isRunning else { return }
    isRunning = true
    while isAskedAgain {
      isAskedAgain = false
      work()
    }
    isRunning = false
  }
}
