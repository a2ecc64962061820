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

/// Puts the faults of a command line around the channels of each cable.
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

  func wrap(_ cable: Cable) -> Cable {
    let (loop, report) = (loop, report)
    return cable.faulty(
      faults, random: { SeededRandom(seed: loop.random.next()) }, on: loop,
      made: { [weak self] channel in self?.keep(channel) },
      report: { report(TimelineEvent(time: loop.now, side: .cable, kind: .fault($0.description))) })
  }

  private func keep(_ channel: FaultChannel) {
    made.removeAll { $0.channel == nil }
    made.append(WeakChannel(channel: channel))
  }
}
