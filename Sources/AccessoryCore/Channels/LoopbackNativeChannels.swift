/// The native channels of a cable in memory: each one that the device opens is a pair of channels, on which every
/// send is a transfer, as on USB.
///
/// ```swift
/// let channels = LoopbackNativeChannels(on: loop)
/// let device = Cable(main: pair.right, openNativeChannel: channels.open)
/// let accessory = Cable(main: pair.left, onNativeChannel: { channels.onEvent = $0 })
/// ```
public final class LoopbackNativeChannels {
  /// Called for each channel that the device opens, after the latency. Channels that are opened without a listener are
  /// closed.
  public var onEvent: Cable.Listener?

  private let loop: any EventLoop
  private let latency: Duration
  private let bytesPerSecond: Int?
  private var open: [(name: String, cable: LoopbackCable)] = []

  /// A cable's channels, each with the latency and the rate of ``LoopbackChannel/makePair(on:latency:bytesPerSecond:capacity:keepsTransfersApart:)``.
  public init(on loop: any EventLoop, latency: Duration = .zero, bytesPerSecond: Int? = nil) {
    self.loop = loop
    self.latency = latency
    self.bytesPerSecond = bytesPerSecond
  }

  /// Opens the native channel of a protocol, and returns the device's end of it.
  public func open(_ protocolName: String) throws(NativeChannelRefusal) -> any Channel {
    open.removeAll { $0.cable.left.isOver || $0.cable.right.isOver }
    if open.contains(where: { $0.name == protocolName }) { throw .inUse }
    let cable = LoopbackChannel.makePair(
      on: loop, latency: latency, bytesPerSecond: bytesPerSecond, capacity: 64 * 1024, keepsTransfersApart: true)
    open.append((protocolName, cable))
    loop.schedule(after: latency) { [weak self] in
      if let onEvent = self?.onEvent { onEvent(protocolName, cable.left) } else { cable.left.close() }
    }
    return cable.right
  }

  /// Pulls the cable: both ends of every channel end.
  public func cut() {
    for entry in open { entry.cable.cut() }
    open = []
    onEvent = nil
  }
}
