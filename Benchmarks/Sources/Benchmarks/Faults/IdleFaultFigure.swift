import AccessoryCore
import AccessoryFaults
import AccessoryFormats
import LinuxIO

extension Figure {
  /// The cost of a fault that is idle because its time has not come yet.
  static var idleFault: Figure {
    Figure(
      name: "fault.idle", summary: "what each of eight idle faults adds to one send of 2,048 bytes", unit: "ns",
      floor: "none: the same channel with one idle fault is taken off, and the rest divided by seven",
      target: .valueAtMost(100)
    ) { plan in
      let bytes = [UInt8](repeating: 7, count: 2_048)
      let (one, eight) = (try faultyChannel(1), try faultyChannel(8))
      func send(_ channel: FaultChannel, _ count: Int) throws {
        for _ in 0..<count where channel.send(bytes.span.bytes) != bytes.count {
          throw MeasuringError.failed("bytes were not taken")
        }
      }
      let count = try Stopwatch.repetitions(for: plan.seconds) { try send(eight, $0) }
      let pairs = try plan.pairs(
        { try Stopwatch.busyTime { try send(eight, count) } }, { try Stopwatch.busyTime { try send(one, count) } })
      return Measurement(pairs.map { ($0.ours - $0.floor) / Double(count) / 7 * 1e9 })
    }
  }

  private static func faultyChannel(_ stages: Int) throws -> FaultChannel {
    let idle = try Fault("stall,after=24h")
    let channel = FaultChannel(
      around: BottomlessChannel(), Array(repeating: idle, count: stages), random: SeededRandom(seed: 7),
      on: VirtualLoop())
    channel.start(DeafHandler())
    return channel
  }
}

/// A channel that accepts everything and delivers nothing.
private final class BottomlessChannel: Channel {
  let keepsTransfersApart = false
  func start(_ handler: any ChannelHandler) {}
  func send(_ bytes: RawSpan) -> Int { bytes.byteCount }
  func pauseReading() {}
  func resumeReading() {}
  func close() {}
}

/// A handler that ignores everything.
private final class DeafHandler: ChannelHandler {
  func channel(_ channel: any Channel, received bytes: RawSpan) {}
  func channelIsWritable(_ channel: any Channel) {}
  func channel(_ channel: any Channel, endedWith end: ChannelEnd) {}
}
