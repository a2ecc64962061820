import AccessoryCables
import AccessoryCore
import AccessoryFaults
import AccessorySimulator

/// A fault on a world's cables, and the end of the cable where the fault acts. `in` and `out` are directions as seen
/// from that end.
public struct CableFault: Equatable, Sendable {
  /// The fault itself.
  public var fault: Fault
  /// The end where the fault acts.
  public var end: Cable.End

  /// Creates a fault at one end of each cable. By default, the fault is at the device's end.
  public init(_ fault: Fault, at end: Cable.End = .device) {
    self.fault = fault
    self.end = end
  }
}

/// One end of a cable in a world.
public struct CableEnd: Hashable, Sendable {
  /// The end of the cable.
  public let end: Cable.End
  /// The number of the accessory on this cable. Accessories are numbered in the order that they were added.
  public let accessory: Int
  /// The number of the cable. Cables are numbered in the order that they were plugged in.
  public let cable: Int
}

/// A port to a device in the same process. Plugging an accessory in creates an in-memory cable.
final class LoopbackPort: Port {
  let place = "a cable in memory"
  private let loop: any EventLoop
  private let speed: World.Settings.CableSpeed
  private let wrap: (Cable, Cable.End) -> Cable
  private let plugIntoDevice: (Cable) -> Void
  // Exclusivity is not checked, because a flicker uses these properties; no other code runs while they change.
  @exclusivity(unchecked) private var onEvent: ((PortEvent) -> Void)?
  @exclusivity(unchecked) private var plugging: LoopTimer?
  @exclusivity(unchecked) private var cable: LoopbackCable?
  @exclusivity(unchecked) private var nativeChannels: LoopbackNativeChannels?
  @exclusivity(unchecked) private var deviceEnd: SeverableChannel?

  /// Creates a port. `deviceEnd` receives the device's end of each cable, and `wrap` adds transcripts and faults.
  init(
    on loop: any EventLoop, speed: World.Settings.CableSpeed, wrap: @escaping (Cable, Cable.End) -> Cable,
    deviceEnd: @escaping (Cable) -> Void
  ) {
    self.loop = loop
    self.speed = speed
    self.wrap = wrap
    plugIntoDevice = deviceEnd
  }

  func open(_ onEvent: @escaping (PortEvent) -> Void) {
    self.onEvent = onEvent
    let timer = plugging ?? loop.makeTimer { [unowned self] in plug() }
    plugging = timer
    timer.arm(at: loop.now)
  }

  private func plug() {
    guard let onEvent else { return }
    let made = LoopbackChannel.makePair(on: loop, latency: speed.latency, bytesPerSecond: speed.bytesPerSecond)
    let nativeChannels = LoopbackNativeChannels(on: loop, latency: speed.latency, bytesPerSecond: speed.bytesPerSecond)
    (cable, self.nativeChannels) = (made, nativeChannels)
    onEvent(
      .cable(
        wrap(Cable(main: made.left) { nativeChannels.onEvent = $0 }.dedicated, .accessory), from: "this process"))
    let end = SeverableChannel(around: made.right, on: loop)
    deviceEnd = end
    plugIntoDevice(wrap(Cable(main: end, openNativeChannel: nativeChannels.openSeverable).dedicated, .device))
  }

  func severDevice() {
    deviceEnd?.sever()
    nativeChannels?.sever()
  }

  /// Unplugs the cable by closing the channel at the accessory's end, which also ends the channel at the device's end.
  func close() {
    // A timer that has not fired would fire in its old place among the timers if it were armed again.
    if plugging?.deadline != nil {
      plugging?.cancel()
      plugging = nil
    }
    onEvent = nil
    (cable, nativeChannels) = (nil, nil)
    deviceEnd = nil
  }

  func pull() {
    cable?.cut()
    nativeChannels?.cut()
  }
}

/// A port that wraps each of its cables, for example to add faults or a transcript.
public final class WrappedPort: Port {
  private let inner: any Port
  private let wrap: (Cable) -> Cable

  /// Creates a port around another port. `wrap` is called for each cable.
  public init(_ inner: any Port, wrap: @escaping (Cable) -> Cable) {
    self.inner = inner
    self.wrap = wrap
  }

  /// The name of the inner port.
  public var place: String { inner.place }

  /// Passes the accessory's appearance on to the inner port.
  public func show(_ appearance: PortAppearance) { inner.show(appearance) }

  /// Plugs the accessory into the inner port.
  public func open(_ onEvent: @escaping (PortEvent) -> Void) throws {
    try inner.open { [wrap] event in
      guard case .cable(let cable, let device) = event else { return onEvent(event) }
      onEvent(.cable(wrap(cable), from: device))
    }
  }

  /// Unplugs the accessory from the inner port.
  public func close() { inner.close() }
}
