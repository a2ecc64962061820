import AccessoryCore
import CLinux
import Glibc

/// Tells when a process ends, however it ends, without asking again and again.
public final class ProcessWatch: DescriptorHandler {
  private let ended: () -> Void
  private var descriptor: Int32
  private var watch: (any DescriptorWatch)?

  /// Watches a process; nil when it has ended already, or when the system cannot tell.
  public init?(_ process: ProcessIdentity, on loop: any PollingLoop, ended: @escaping () -> Void) {
    descriptor = clinux_open_process(process.pid)
    self.ended = ended
    guard descriptor >= 0 else { return nil }
    // Looked at after the descriptor is open, which holds the number: nobody else can get it from here on.
    guard process.isRunning, let watch = try? loop.watch(descriptor, for: .readable, self) else { return nil }
    self.watch = watch
  }

  deinit {
    if descriptor >= 0 { Glibc.close(descriptor) }
  }

  /// Tells nothing more.
  public func cancel() {
    watch?.cancel()
    watch = nil
    if descriptor >= 0 { Glibc.close(descriptor) }
    descriptor = -1
  }

  /// Called by the loop.
  public func descriptorReady(_ readiness: Readiness) {
    cancel()
    ended()
  }
}
