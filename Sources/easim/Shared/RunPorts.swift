import AccessoryCables
import AccessoryCore
import AccessoryProfiles
import AccessorySessions
import AccessorySimulator
import AccessoryWorlds

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

  /// Returns a port for each profile. Each port includes the faults on its cables.
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
