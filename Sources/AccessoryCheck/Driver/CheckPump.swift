import AccessoryCore
import LinuxIO

/// Lets time pass during a check. A script waits by running the loop, so the script can be read from top to bottom.
///
/// ```swift
/// let pump = CheckPump(VirtualLoop(seed: 7))
/// ```
package struct CheckPump {
  package let loop: any EventLoop
  private let run: (() -> Bool, Duration) throws -> Bool

  package init(_ loop: VirtualLoop) {
    self.loop = loop
    run = { condition, limit in try loop.run(until: condition, limit: limit) }
  }

  /// Creates a pump for real time; the check ends when `isStopped` returns true.
  package init(_ loop: EpollLoop, isStopped: @escaping () -> Bool = { false }) {
    self.loop = loop
    run = { condition, limit in
      let held = loop.run(until: { condition() || isStopped() }, limit: limit)
      if isStopped() { throw CheckStopped() }
      return held
    }
  }

  /// Waits until `condition` holds or `limit` has passed. Returns true if the condition holds.
  func wait(within limit: Duration, until condition: () -> Bool) throws -> Bool {
    try condition() || run(condition, limit) || condition()
  }

  func pause(_ time: Duration) throws {
    if time > .zero { _ = try run({ false }, time) }
  }
}
