import AccessoryCables
import AccessoryCore
import LinuxIO

extension RollCall {
  /// Returns the accessories that are present now. If the medium only remembers accessories, connects to each accessory
  /// once, to find out which ones are present.
  ///
  /// - Parameter runtime: created only if a connection is needed.
  static func of(
    _ sighting: Sighting, at address: Address, on runtime: () throws -> CommandRuntime
  ) throws -> [FoundAccessory] {
    let known = sighting.accessories
    guard sighting.isRemembered, known.contains(where: { $0.trouble == nil }) else { return known }
    let runtime = try runtime()
    let finder = try media[address].makeFinder(for: address, on: runtime.loop, options: TransportOptions())
    let call = RollCall(of: known, by: finder, on: runtime.loop)
    try call.start()
    _ = runtime.run(until: { call.isOver }, limit: limit)
    call.stop(after: limit)
    return call.accessories
  }

  /// This limit is longer than the limit for a connection attempt plus the limit for the silence after the attempt.
  private static var limit: Duration { .seconds(25) }
}
