import AccessoryCore
import AccessorySimulator
import AccessoryTransports

/// A port whose other end is a device in the same process: plugging in makes a cable in memory.
final class LoopbackPort: Port {
  let place = "the world's cable"
  private let loop: any EventLoop
  private let line: World.Settings.Line
  private let wrap: (any Channel, Transcript.End) -> any Channel
  private let plugIntoDevice: (Cable) -> Void
  private var plugging: LoopTimer?
  private var cable: LoopbackCable?
  /// The device's end of the cable that is plugged in.
  private(set) var deviceEnd: PartableChannel?

  /// `deviceEnd` takes the device's end of each cable; `wrap` puts transcripts and faults around both.
  init(
    on loop: any EventLoop, line: World.Settings.Line, wrap: @escaping (any Channel, Transcript.End) -> any Channel,
    deviceEnd: @escaping (Cable) -> Void
  ) {
    self.loop = loop
    self.line = line
    self.wrap = wrap
    plugIntoDevice = deviceEnd
  }

  func open(_ hear: @escaping (PortEvent) -> Void) {
    plugging = loop.schedule(after: .zero) { [unowned self] in plug(hear) }
  }

  private func plug(_ hear: (PortEvent) -> Void) {
    let made = LoopbackChannel.makePair(on: loop, latency: line.latency, bytesPerSecond: line.bytesPerSecond)
    cable = made
    hear(.cable(Cable(main: wrap(made.left, .accessory)), from: "the world's device"))
    let end = PartableChannel(around: made.right, on: loop)
    deviceEnd = end
    plugIntoDevice(Cable(main: wrap(end, .device)))
  }

  /// The plug is out: closing the accessory's end ends the device's.
  func close() {
    plugging?.cancel()
    plugging = nil
    cable = nil
    deviceEnd = nil
  }

  /// Pulls the cable: what is under way is lost, and both ends hear of it.
  func pull() {
    cable?.cut()
  }
}
