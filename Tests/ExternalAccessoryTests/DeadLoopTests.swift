import ExternalAccessory
import Foundation
import TestSupport
import Testing

@testable import ExternalAccessory
@testable import ExternalAccessorySimulation

@Suite struct DeadLoopTests {
  private final class Delegate: NSObject, StreamDelegate {}

  /// The thread that reports the misuse may be delayed. A thread that reads the misuses must wait until the misuse has
  /// been reported.
  @Test func aLoopIsDeadUntilThatCanBeRead() async throws {
    try await withSimulatedWorld { world in
      let (isReporting, mayGoOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      let port = StreamPort(.input, in: world.realm) { _ in
        isReporting.signal()
        mayGoOn.wait()
      }
      let delegate = Delegate()
      port.delegate = delegate
      port.open()
      let loop = DeadLoop { port.schedule(in: .current, forMode: .default) }
      try await onItsOwnThread { isReporting.wait() }
      #expect(port.deadSince != nil)
      mayGoOn.signal()
      await world.run { port.deadSince == nil }
      #expect(port.deadSince == nil)
      withExtendedLifetime((loop, delegate)) { port.invalidate() }
    }
  }
}
