import AccessoryCore
import AccessoryProfiles
import AccessorySessions
import AccessorySimulator
import AccessoryTransports

/// Where accessories appear: all on one bench or one USB bus, or each at an address of its own.
struct Places {
  private let arguments: ParsedArguments
  private let loop: any PollingLoop
  private let console: Console
  private let pattern: String
  private let bench: Bench?
  private let bus: USBIPBus?
  private let faults: FaultWrapper
  private let transcript: TranscriptFile?

  init(_ arguments: ParsedArguments, accessories: Int, on loop: any PollingLoop, _ console: Console) throws {
    self.arguments = arguments
    self.loop = loop
    self.console = console
    faults = FaultWrapper(faults: try arguments.faults(), loop: loop, report: console.show)
    pattern = arguments.value("--on") ?? "bench:"
    bench = try Self.bench(pattern, arguments, accessories: accessories)
    bus = try Self.bus(pattern, arguments, on: loop, console)
    // Last, so that a wrong command line does not empty the file.
    transcript = try TranscriptFile.asked(for: arguments, console)
  }

  private static func bench(_ pattern: String, _ arguments: ParsedArguments, accessories: Int) throws -> Bench? {
    guard case .bench(let path, let serial) = try arguments.address(pattern) else {
      if case .usbip = try arguments.address(pattern) { return nil }
      if accessories > 1, !pattern.contains("{index}") {
        throw UsageError(
          "--on \(pattern) is one place, and there are \(accessories) accessories: put {index} where their number "
            + "shall stand", arguments.command)
      }
      return nil
    }
    if let serial {
      throw UsageError(
        "--on \(pattern): the profile says which serial number it is; did you mean --on bench:\(path.map { "\($0)#" } ?? "")"
          + (path == nil ? " (or, for a directory, bench:\(serial)#)?" : "?"), arguments.command)
    }
    return try Bench(BenchDirectory(path))
  }

  /// The one bus of all accessories, where they are to be USB devices.
  private static func bus(
    _ pattern: String, _ arguments: ParsedArguments, on loop: any PollingLoop, _ console: Console
  ) throws -> USBIPBus? {
    guard case .usbip(let host, let port) = try arguments.address(pattern) else { return nil }
    var options = TransportOptions()
    options.allowsRemote = arguments.has("--allow-remote")
    return try USBIPBus(host: host, port: port, on: loop, options: options) { sentence in
      console.show(TimelineEvent(time: loop.now, side: .cable, kind: .warning(sentence)))
    }
  }

  /// The port of the accessory with this number, with what is done to its cables.
  func port(_ index: Int, for profile: Profile) throws -> any Port {
    let port = try barePort(index, for: profile)
    return faults.faults.isEmpty && transcript == nil ? port : WrappedPort(port, faults, transcript)
  }

  private func barePort(_ index: Int, for profile: Profile) throws -> any Port {
    if let bench { return bench.makePort(on: loop) }
    if let bus { return bus.makePort(for: profile) }
    var options = TransportOptions()
    options.allowsRemote = arguments.has("--allow-remote")
    let address = try arguments.address(pattern.replacing("{index}", with: "\(index)"))
    switch address {
    case .gadget(let controller):
      return try GadgetPort(profile, controller: controller, number: index, on: loop) { [loop, console] sentence in
        console.show(TimelineEvent(time: loop.now, side: .cable, kind: .warning(sentence)))
      }
    case .usb:
      throw UsageError(
        "--on \(address): that is where real accessories are found; --on usbip:127.0.0.1:3240 makes a USB device of a "
          + "simulated one", arguments.command)
    default: break
    }
    return ListeningPort(at: address, on: loop, options: options)
  }
}

/// A port whose cables have faults, and write a transcript of what the accessory sends and what reaches it.
private final class WrappedPort: Port {
  private let inner: any Port
  private let faults: FaultWrapper
  private let transcript: TranscriptFile?

  init(_ inner: any Port, _ faults: FaultWrapper, _ transcript: TranscriptFile?) {
    self.inner = inner
    self.faults = faults
    self.transcript = transcript
  }

  var place: String { inner.place }

  func show(_ appearance: PortAppearance) { inner.show(appearance) }

  func open(_ hear: @escaping (PortEvent) -> Void) throws {
    try inner.open { [unowned self] event in
      guard case .cable(let cable, let device) = event else { return hear(event) }
      hear(.cable(wrap(cable), from: device))
    }
  }

  func close() { inner.close() }

  private func wrap(_ bare: Cable) -> Cable {
    let cable = faults.wrap(bare)
    return transcript.map { cable.transcribed(at: .accessory, on: faults.loop, write: $0.write) } ?? cable
  }
}
