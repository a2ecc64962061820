import AccessoryCore
import Glibc

/// A descriptor and its watch, which end together and in the right order when this is dropped.
final class WatchedDescriptor {
  let number: Int32
  private var watch: (any DescriptorWatch)?

  /// Takes over a descriptor.
  init(taking number: Int32) {
    self.number = number
  }

  deinit {
    watch?.cancel()
    close(number)
  }

  /// Calls `ready` on the loop, until this is dropped.
  func watch(for interest: Readiness, on loop: any PollingLoop, _ ready: @escaping (Readiness) -> Void) throws {
    watch = try loop.watch(number, for: interest, Listener(ready))
  }

  func change(to interest: Readiness) {
    watch?.change(to: interest)
  }

  /// The loop holds this one, and not the owner of the descriptor.
  private final class Listener: DescriptorHandler {
    private let ready: (Readiness) -> Void

    init(_ ready: @escaping (Readiness) -> Void) { self.ready = ready }

    func descriptorReady(_ readiness: Readiness) { ready(readiness) }
  }
}
