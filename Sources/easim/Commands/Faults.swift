import AccessoryCore
import AccessorySessions
import AccessoryTransports

extension OptionSpec {
  static let fault = OptionSpec(
    name: "--fault", value: "F",
    summary: "done to each cable, in order: latency,delay=50ms or loss,chance=2% or bluetooth", isRepeatable: true)
}

extension ParsedArguments {
  /// What `--fault` asks for, in the order in which it was given.
  func faults() throws(UsageError) -> [Fault] {
    var faults: [Fault] = []
    for text in all("--fault") {
      do { faults += try FaultPreset.faults(text) } catch { throw UsageError("--\(error)", command) }
    }
    return faults
  }
}

/// Puts the faults of a command line around each channel, anew for each cable.
struct FaultWrapper {
  let faults: [Fault]
  let loop: any EventLoop
  let report: (TimelineEvent) -> Void

  func wrap(_ channel: any Channel) -> any Channel {
    if faults.isEmpty { return channel }
    let (loop, report) = (loop, report)
    return FaultChannel(around: channel, faults, random: SeededRandom(seed: loop.random.next()), on: loop) { event in
      report(TimelineEvent(time: loop.now, side: .cable, kind: .fault(event.description)))
    }
  }
}
