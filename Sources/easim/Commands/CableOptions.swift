import AccessoryCables
import AccessoryCore
import AccessorySessions
import AccessoryTransports

/// Every way from an address to a cable that easim has.
let media = MediumTable.linked

extension OptionSpec {
  static let fault = OptionSpec(
    name: "--fault", value: "F",
    summary: "add a fault to each cable: latency,delay=50ms or loss,chance=2% or bluetooth", isRepeatable: true)
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

  /// The place of the accessories of a command: the address that was typed, or the standard bench.
  func address(orBench text: String?) throws(UsageError) -> Address {
    guard let text else { return .bench(directory: nil, serial: nil) }
    return try address(text)
  }
}

/// What the options of a command say about all of its cables: `--allow-remote`, `--fault` and `--transcript`.
final class CableOptions {
  /// How far sockets may reach.
  let transport: TransportOptions
  /// What is done to each cable.
  let faults: [Fault]

  private let arguments: ParsedArguments
  private let loop: any EventLoop
  private let report: (TimelineEvent) -> Void
  private var transcript: TranscriptFile?
  private var faultyChannels: [WeakChannel] = []

  private struct WeakChannel {
    weak var channel: FaultChannel?
  }

  /// Reads the options. No file is touched yet.
  init(_ arguments: ParsedArguments, on loop: any EventLoop, report: @escaping (TimelineEvent) -> Void) throws {
    self.arguments = arguments
    self.loop = loop
    self.report = report
    faults = try arguments.faults()
    var transport = TransportOptions()
    transport.allowsRemote = arguments.has("--allow-remote")
    self.transport = transport
  }

  /// Empties the transcript's file, if there is to be one. Called when everything else about the command line is known
  /// to be right, so that a wrong one destroys nothing.
  func openTranscript(_ console: Console) throws {
    transcript = try TranscriptFile.asked(for: arguments, console)
  }

  /// Puts faults and the transcript around the channels of a cable, at this end of it.
  func wrap(_ bare: Cable, at end: Transcript.End) -> Cable {
    let (loop, report) = (loop, report)
    let cable = bare.faulty(
      faults, random: { SeededRandom(seed: loop.random.next()) }, on: loop,
      made: { [weak self] channel in self?.keep(channel) },
      report: { report(TimelineEvent(time: loop.now, side: .cable, kind: .fault($0.description))) })
    return transcript.map { cable.transcribed(at: end, on: loop, gate: $0.gate, write: $0.write) } ?? cable
  }

  /// Whether no cable holds bytes back any more: one with a delay goes on after its channel was closed.
  var isQuiet: Bool { faultyChannels.allSatisfy { $0.channel == nil } }

  private func keep(_ channel: FaultChannel) {
    faultyChannels.removeAll { $0.channel == nil }
    faultyChannels.append(WeakChannel(channel: channel))
  }
}
