/// Runs a piece of work that can be requested while it runs: then it runs once more afterwards, and never
/// recursively.
///
/// A write to a session can report room before it returns. A handler that then wrote again, inside of its own write,
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
