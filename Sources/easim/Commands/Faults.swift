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
final class FaultWrapper {
  let faults: [Fault]
  let loop: any EventLoop
  private let report: (TimelineEvent) -> Void
  private var made: [WeakChannel] = []

  private struct WeakChannel {
    weak var channel: FaultChannel?
  }

  init(faults: [Fault], loop: any EventLoop, report: @escaping (TimelineEvent) -> Void) {
    self.faults = faults
    self.loop = loop
    self.report = report
  }

  /// Whether no line holds anything back any more: a delayed line goes on after its channel was closed.
  var isQuiet: Bool { made.allSatisfy { $0.channel == nil } }

  func wrap(_ channel: any Channel) -> any Channel {
    if faults.isEmpty { return channel }
    let (loop, report) = (loop, report)
    let made = FaultChannel(around: channel, faults, random: SeededRandom(seed: loop.random.next()), on: loop) {
      event in
      report(TimelineEvent(time: loop.now, side: .cable, kind: .fault(event.description)))
    }
    self.made.removeAll { $0.channel == nil }
    self.made.append(WeakChannel(channel: made))
    return made
  }
}
