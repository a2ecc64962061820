import AccessoryCables
import AccessoryCore
import AccessoryFaults
import AccessorySimulator

/// A port whose other end is a device in the same process: plugging in makes a cable in memory.
final class LoopbackPort: Port {
  let place = "a cable in memory"
  private let loop: any EventLoop
  private let line: World.Settings.Line
  private let wrap: (Cable, Cable.End) -> Cable
  private let plugIntoDevice: (Cable) -> Void
  private var plugging: LoopTimer?
  private var cable: LoopbackCable?
  private var nativeChannels: LoopbackNativeChannels?
  private var deviceNativeChannels: [SeverableChannel] = []
  private var deviceEnd: SeverableChannel?

  /// `deviceEnd` takes the device's end of each cable; `wrap` puts transcripts and faults around both.
  init(
    on loop: any EventLoop, line: World.Settings.Line, wrap: @escaping (Cable, Cable.End) -> Cable,
    deviceEnd: @escaping (Cable) -> Void
  ) {
    self.loop = loop
    self.line = line
    self.wrap = wrap
    plugIntoDevice = deviceEnd
  }

  func open(_ onEvent: @escaping (PortEvent) -> Void) {
    plugging = loop.schedule(after: .zero) { [unowned self] in plug(onEvent) }
  }

  private func plug(_ onEvent: (PortEvent) -> Void) {
    let made = LoopbackChannel.makePair(on: loop, latency: line.latency, bytesPerSecond: line.bytesPerSecond)
    let nativeChannels = LoopbackNativeChannels(on: loop, latency: line.latency, bytesPerSecond: line.bytesPerSecond)
    (cable, self.nativeChannels) = (made, nativeChannels)
    onEvent(
      .cable(
        wrap(Cable(main: made.left) { nativeChannels.onEvent = $0 }.dedicated, .accessory), from: "this process"))
    let (end, loop) = (SeverableChannel(around: made.right, on: loop), loop)
    deviceEnd = end
    plugIntoDevice(
      wrap(
        Cable(main: end) { [weak self] name throws(NativeChannelRefusal) in
          let channel = SeverableChannel(around: try nativeChannels.open(name), on: loop)
          self?.keep(channel)
          return channel
        }.dedicated, .device))
  }

  private func keep(_ channel: SeverableChannel) {
    deviceNativeChannels.removeAll(where: \.isOver)
    deviceNativeChannels.append(channel)
  }

  /// Disconnects the device from the cable without notifying it.
  func severDevice() {
    deviceEnd?.sever()
    for channel in deviceNativeChannels { channel.sever() }
  }

  /// Unplugged: closing the accessory's end ends the device's end.
  func close() {
    plugging?.cancel()
    plugging = nil
    (cable, nativeChannels) = (nil, nil)
    (deviceEnd, deviceNativeChannels) = (nil, [])
  }

  /// Pulls the cable: bytes in transit are lost, and both ends are notified.
  func pull() {
    cable?.cut()
    nativeChannels?.cut()
  }
}
