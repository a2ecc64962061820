/// Something that several threads change, each under the lock: the standard library's `Mutex`, over a ``Lock`` that the
/// thread sanitizer understands.
package final class Locked<State>: @unchecked Sendable {
  private let lock = Lock()
  private var state: State

  package init(_ state: State) { self.state = state }

  package func withLock<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
    try lock.with { try body(&state) }
  }
}
