import AccessoryCables
import AccessoryCore
import AccessoryFormats
import AccessoryHost
import LinuxIO

/// The accessory that a command uses: the one at an address, or the only accessory that matches.
final class AccessoryTarget {
  let dialer: Dialer
  private let address: Address

  /// Creates the target and starts looking for the accessory.
  ///
  /// - Parameters:
  ///   - address: the accessory's address.
  ///   - protocolName: the protocol that the accessory must offer, if any.
  ///   - wrap: called for each of the accessory's cables.
  init(
    at address: Address, protocolName: String?, for device: Device, on runtime: CommandRuntime, options: CableOptions,
    console: Console, wrap: @escaping (Cable) -> Cable
  ) throws {
    self.address = address
    let chosen = try Self.choose(at: address, protocolName, on: runtime, console)
    dialer = try media.makeDialer(
      to: address, for: device, on: runtime.loop, options: options.transport,
      wanted: .one { accessory in
        if let chosen { return accessory.identity == chosen }
        guard let protocolName, !address.namesOneAccessory else { return true }
        return accessory.mayOffer(protocolName)
      }, wrap: wrap)
  }

  /// Returns the identity of the selected accessory, or nil if the accessory has not appeared yet or has no identity
  /// until it is connected.
  static func choose(
    at address: Address, _ protocolName: String?, on runtime: CommandRuntime, _ console: Console
  ) throws -> String? {
    guard let sighting = try media.look(at: address) else { return nil }
    for problem in sighting.problems { console.err("easim: \(problem)") }
    var found = sighting.accessories
    func choice() -> AccessoryChoice {
      AccessoryChoice(among: found, protocolName: protocolName, isNamed: address.namesOneAccessory)
    }
    // A medium may remember several accessories even though only one of them is present.
    if case .several = choice() { found = try RollCall.of(sighting, at: address) { runtime } }
    let wanted = protocolName.map { Excerpt.of($0) }
    switch choice() {
    case .one(let accessory): return accessory.identity
    case .nothing:
      console.err("easim: \(address.nothingThere), waiting")
      if case .local(let path, let serial?) = address,
        let others = try media.look(at: .local(directory: path, serial: nil))?.accessories, !others.isEmpty
      {
        let near = Suggestion.nearHint(for: serial, in: others.compactMap(\.serial)).dropFirst(2)
        console.err("easim: \(near.isEmpty ? "" : "\(near) ")There are:\n\(AccessoryList.text(others))")
      } else if let hint = address.hintWhereNothingIs {
        console.err("easim: \(hint)")
      }
      return nil
    case .several(let list):
      // Some accessories connect twice, and offer no protocols the first time.
      let isCertain = list.allSatisfy { $0.protocols?.isEmpty == false }
      let which =
        wanted.map { isCertain ? " offer \($0)" : " offer \($0) or may offer it later" } ?? " are connected"
      let message = "\(list.count) accessories\(which), choose one:\n\(AccessoryList.text(list))"
      throw CommandFailure(code: .usage, message: message + advice(on: list))
    case .unfit(let list):
      let offered = list.flatMap { $0.protocols ?? [] }
      let near = Suggestion.nearHint(for: protocolName ?? "", in: offered)
      throw CommandFailure(
        code: .usage,
        message: "no accessory offers \(wanted ?? "a protocol")\(near.isEmpty ? "." : near) There are:\n"
          + AccessoryList.text(list))
    }
  }

  /// Returns advice on how to choose between accessories that have the same address and serial number, for example
  /// because the same profile is running twice.
  private static func advice(on list: [FoundAccessory]) -> String {
    guard Set(list.map(\.identity)).count < list.count else { return "" }
    return """

      Accessories with the same serial number cannot be told apart: unplug all but one, run several with easim run \
      --count N, or plug each into its own local directory with --on local:DIR#
      """
  }

  /// Returns the exit code and message if no accessory became ready in time or if none can appear.
  func explanation(within timeout: Duration) -> (code: ExitCode, text: String) {
    if dialer.isUnfinished, let trouble = dialer.trouble {
      return (.gone, "the accessory was not ready within \(DurationText.format(timeout)): \(trouble.detail)")
    }
    return (.unreachable, dialer.failure?.description ?? address.explanation(of: dialer.trouble, within: timeout))
  }
}

extension Address {
  /// A hint with a command that starts an accessory, for use when there is none.
  var hintWhereNothingIs: String? {
    guard case .local(nil, _) = self else { return nil }
    return """
      to plug a simulated accessory in, run 'easim run lawk-view' in another terminal; processes with a different \
      EASIM_LOCAL, XDG_RUNTIME_DIR or TMPDIR use a different local directory
      """
  }

  func explanation(of trouble: TransportError?, within timeout: Duration) -> String {
    let limit = DurationText.format(timeout)
    guard let trouble else { return "\(nothingThere) within \(limit)" }
    return "no accessory at \(self) within \(limit): \(trouble.address == self ? trouble.detail : trouble.description)"
  }
}

extension RollCall {
  /// Returns the accessories that are present. If the medium only remembers accessories, connects once to each of them
  /// to find out whether it is present.
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

  /// The time limit for connecting and then waiting for each accessory's first bytes.
  private static var limit: Duration { .seconds(25) }
}
