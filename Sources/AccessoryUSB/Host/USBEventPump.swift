import AccessoryCore
import CLibUSB
import Glibc

/// Runs libusb on a loop: watches the descriptors of one context, and handles its events when one of them is ready.
///
/// No thread waits for libusb. The loop polls a descriptor that epoll refuses (such as those of umockdev) once a
/// millisecond.
final class USBEventPump: DescriptorHandler {
  private let context: OpaquePointer
  private let loop: any PollingLoop
  private var watches: [Int32: any DescriptorWatch] = [:]
  private let handled: () -> Void
  private let hungUp: () -> Void

  /// Starts. `handled` is called after each round, outside of libusb; `hungUp` after a round in which the device's
  /// descriptor hung up.
  init(
    _ context: OpaquePointer, on loop: any PollingLoop, handled: @escaping () -> Void, hungUp: @escaping () -> Void
  ) throws {
    self.context = context
    self.loop = loop
    self.handled = handled
    self.hungUp = hungUp
    guard let list = libusb_get_pollfds(context) else { return }
    defer { libusb_free_pollfds(list) }
    var next = list
    while let descriptor = next.pointee?.pointee {
      try add(descriptor.fd, descriptor.events)
      next += 1
    }
    let this = Unmanaged.passUnretained(self).toOpaque()
    libusb_set_pollfd_notifiers(
      context,
      { descriptor, events, pump in
        guard let pump else { return }
        try? Unmanaged<USBEventPump>.fromOpaque(pump).takeUnretainedValue().add(descriptor, events)
      },
      { descriptor, pump in
        guard let pump else { return }
        Unmanaged<USBEventPump>.fromOpaque(pump).takeUnretainedValue().remove(descriptor)
      }, this)
  }

  /// Stops. After this call another thread may use the context.
  func stop() {
    libusb_set_pollfd_notifiers(context, nil, nil, nil)
    for watch in watches.values { watch.cancel() }
    watches = [:]
  }

  func descriptorReady(_ readiness: Readiness) {
    var now = timeval(tv_sec: 0, tv_usec: 0)
    libusb_handle_events_timeout_completed(context, &now, nil)
    handled()
    if readiness.contains(.hangup) { hungUp() }
  }

  private func add(_ descriptor: Int32, _ events: Int16) throws {
    var interest: Readiness = []
    if Int32(events) & POLLIN != 0 { interest.insert(.readable) }
    if Int32(events) & POLLOUT != 0 { interest.insert(.writable) }
    watches[descriptor]?.cancel()
    watches[descriptor] = try loop.watch(descriptor, for: interest, self)
  }

  private func remove(_ descriptor: Int32) {
    watches.removeValue(forKey: descriptor)?.cancel()
  }
}
