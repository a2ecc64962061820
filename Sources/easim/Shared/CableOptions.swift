import AccessoryCables
import AccessoryCore
import AccessoryFaults
import AccessoryFormats
import AccessoryProfiles
import AccessorySessions
import AccessoryWorlds
import LinuxIO

let media = MediumTable.linked

/// The options that apply to all cables of a command: `--allow-remote`, `--any-user`, `--fault`, `--transcript` and
/// `--capture`.
final class CableOptions {
  let transport: TransportOptions
  let faults: [Fault]
  var mayToggleFaults = false
  private var areOn: [Bool]

  private let shared: SharedOptions
  private let loop: any EventLoop
  private let report: (TimelineEvent) -> Void
  private var transcript: TranscriptFile?
  private var recorder: CaptureRecorder?
  private var faultyChannels: [Weak<FaultChannel>] = []
  private var captureServer: CaptureServer?
  private var offers: [CaptureServer.Offer] = []

  init(_ shared: SharedOptions, on loop: any EventLoop, report: @escaping (TimelineEvent) -> Void) {
    self.shared = shared
    self.loop = loop
    self.report = report
    faults = shared.faults
    areOn = faults.map { _ in true }
    transport = shared.transport
  }

  /// Opens and empties the transcript and capture files. Call this only after checking the rest of the command line, so
  /// that a mistake there cannot destroy a file.
  func openFiles(_ console: Console) throws {
    recorder = try CaptureFile.asked(for: shared, console, origin: loop.now)
    transcript = try TranscriptFile.asked(for: shared, console)
  }

  /// Adds the faults, the transcript and the capture to the channels at this end of a cable. In the capture, the name
  /// of the cable contains the address and, if known, the accessory.
  func wrap(_ bare: Cable, at end: Cable.End, place: String, accessory: String = "") -> Cable {
    let (loop, report) = (loop, report)
    var cable = bare.faulty(
      faultsNow, mayChange: mayToggleFaults, random: { SeededRandom(seed: loop.random.next()) }, on: loop,
      made: { [weak self] channel in self?.keep(channel) },
      report: { report(TimelineEvent(time: loop.now, side: .cable, kind: .fault($0.description))) },
      struck: recorder.map { recorder in { recorder.struck($0, at: end, named: place) } })
    if captureServer != nil { cable = offer(place, accessory).taps.tap(cable, at: end, on: loop) }
    if let recorder {
      cable = cable.recorded(by: recorder, at: end, named: place, description: accessory, on: loop)
    }
    return transcript.map { [cable] in
      cable.transcribed(at: end, on: loop, gate: $0.gate, shownBytes: $0.shownBytes, write: $0.write)
    } ?? cable
  }

  /// Allows Wireshark to record the cables. If the local directory is unusable, the command continues without
  /// Wireshark, and 'easim extcap' reports the reason.
  func openDoor(_ console: Console) {
    guard let loop = loop as? any PollingLoop else { return }
    captureServer = try? CaptureServer(on: loop, console) { [weak self] in self?.offers ?? [] }
    if let captureServer { console.witnesses.append { [weak captureServer] in captureServer?.note($0) } }
  }

  /// Offers Wireshark an accessory's cables before the accessory is plugged in.
  func expect(place: String, accessory: String) { _ = offer(place, accessory) }

  private func offer(_ place: String, _ accessory: String) -> CaptureServer.Offer {
    if let found = offers.first(where: { $0.place == place && $0.name == accessory }) { return found }
    let made = CaptureServer.Offer(
      id: "\(offers.count + 1)", name: accessory, place: place, epoch: CaptureFile.epoch(at: loop.now),
      taps: CableTaps())
    offers.append(made)
    return made
  }

  func closeDoor() {
    captureServer?.close()
    captureServer = nil
  }

  private var faultsNow: [Fault] { zip(faults, areOn).filter(\.1).map(\.0) }

  /// Switches a fault on or off. The change also applies to cables that are already connected. Requires
  /// ``mayToggleFaults``.
  func toggle(fault index: Int) {
    areOn[index].toggle()
    for entry in faultyChannels {
      entry.object?.change(to: faultsNow, random: SeededRandom(seed: loop.random.next()))
    }
  }

  /// True if no cable is holding back bytes. A cable with a delay still delivers its bytes after its channel has been
  /// closed.
  var isQuiet: Bool { faultyChannels.allSatisfy { $0.object == nil } }

  private func keep(_ channel: FaultChannel) {
    faultyChannels.removeAll { $0.object == nil }
    faultyChannels.append(Weak(channel))
  }
}

/// The places where the accessories of `easim run` appear: a shared local directory or bus, or a separate address for
/// each accessory.
struct RunPorts {
  private let console: Console
  private let pattern: String
  let options: CableOptions
  var isOffered = false
  private let maker: PortMaker

  /// - Parameters:
  ///   - pattern: an address in which `{index}` is the accessory's number.
  ///   - report: receives the cables' events if stdout is used for something else.
  init(
    on pattern: String, _ shared: SharedOptions, accessories: Int, on loop: any PollingLoop, _ console: Console,
    report: ((TimelineEvent) -> Void)? = nil
  ) throws {
    let report = report ?? console.show
    self.console = console
    self.pattern = pattern
    options = CableOptions(shared, on: loop, report: report)
    let context = PortContext(on: loop, options: options.transport) { sentence in
      report(TimelineEvent(time: loop.now, side: .cable, kind: .warning(sentence)))
    }
    maker = PortMaker(media, context)
    if accessories > 1, !pattern.contains("{index}"), try media[address(1)].capacity == .one {
      throw UsageError(
        "--on \(pattern) is one address, but there are \(accessories) accessories: put {index} into the address, where "
          + "the accessory's number replaces it")
    }
  }

  func ports(for profiles: [Profile]) throws -> [any Port] {
    let ports = try profiles.enumerated().map { index, profile in
      try maker.makePort(at: address(index + 1), for: profile, number: index + 1)
    }
    try options.openFiles(console)
    if isOffered { options.openDoor(console) }
    return zip(ports, profiles).map { port, profile in
      let (place, name) = (port.place, profile.identity.name)
      if isOffered { options.expect(place: place, accessory: name) }
      return WrappedPort(port) { [options] in
        options.wrap($0, at: .accessory, place: place, accessory: name)
      }
    }
  }

  private func address(_ number: Int) throws(UsageError) -> Address {
    try Address(typed: pattern.replacing("{index}", with: "\(number)"))
  }
}
