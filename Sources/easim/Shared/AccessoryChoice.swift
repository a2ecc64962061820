import AccessoryCables
import AccessoryCore
import AccessoryFormats
import AccessoryHost
import AccessorySessions
import LinuxIO

enum AccessoryChoice: Equatable, Sendable {
  case one(FoundAccessory)
  case nothing
  case several([FoundAccessory])
  case unfit([FoundAccessory])

  /// Chooses an accessory that offers the protocol, or any accessory if no protocol is given.
  ///
  /// If no accessory offers the protocol, an accessory without protocols is chosen, because it may be in the first half
  /// of a flicker.
  ///
  /// - Parameter isNamed: whether the address names one accessory, for example by its serial number. The protocol of a
  ///   named accessory is not checked, because the connection will show what the accessory offers.
  init(among all: [FoundAccessory], protocolName: String? = nil, isNamed: Bool = false) {
    let usable = all.filter { !$0.isNearMiss }
    guard !usable.isEmpty else {
      self = .nothing
      return
    }
    guard let protocolName, !isNamed else {
      self = usable.count == 1 ? .one(usable[0]) : .several(usable)
      return
    }
    let offering = usable.filter { $0.protocols?.contains(protocolName) ?? true }
    let fitting = offering.isEmpty ? usable.filter { $0.mayOffer(protocolName) } : offering
    switch fitting.count {
    case 0: self = .unfit(usable)
    case 1: self = .one(fitting[0])
    default: self = .several(fitting)
    }
  }
}

extension AccessoryChoice {
  /// Returns the identity of the selected accessory, or nil if the accessory has not appeared yet or has no identity
  /// until it is connected.
  static func identity(
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

  func explanation(of trouble: TransportError?, within limit: Duration?) -> String {
    let when = limit.map { "within \(DurationText.format($0))" } ?? "yet"
    guard let trouble else { return "\(nothingThere) \(when)" }
    return "no accessory at \(self) \(when): \(trouble.address == self ? trouble.detail : trouble.description)"
  }
}

extension CommandRuntime {
  /// After two seconds, says that there is no accessory yet, and what ends the wait, if `missing` still returns true.
  func tellOfWait(
    at address: Address, atMost limit: Duration?, _ console: Console,
    while missing: @escaping () -> (Bool, TransportError?)
  ) {
    if let limit, limit <= .seconds(2) { return }
    loop.schedule(after: .seconds(2)) {
      guard case (true, let trouble) = missing() else { return }
      let end = limit.map { "up to \(DurationText.format($0)) (--timeout), or until Ctrl-C" } ?? "until Ctrl-C"
      console.err("easim: \(address.explanation(of: trouble, within: nil)); waiting \(end)")
    }
  }
}

enum AccessoryList {
  static func text(_ accessories: [FoundAccessory]) -> String {
    TextTable.lines(rows(accessories)).joined(separator: "\n")
  }

  static func rows(_ accessories: [FoundAccessory]) -> [[String]] {
    accessories.map { accessory in
      let offer = accessory.protocols.map { $0.isEmpty ? "(no protocols)" : $0.joined(separator: " ") }
      let state = accessory.card.map { "pid \($0.process.pid)" } ?? accessory.trouble.map { "(\($0.detail))" } ?? "iAP2"
      return [
        "\(accessory.address)".shellWord, accessory.name, accessory.manufacturer ?? "-", accessory.model ?? "-",
        offer ?? accessory.serial ?? "-", state,
      ]
    }
  }
}

extension FoundAccessory {
  /// The accessory as a line of JSON: an `attach` event, or, if the accessory cannot be used, a `warning` with the
  /// reason.
  var listing: String {
    let accessory: JSONObject = [
      "name": name, "serial": serial ?? "", "manufacturer": manufacturer, "model": card?.appearance.model,
      "protocols": card?.appearance.protocols,
    ]
    let usb: String? = if case .usb = address { model } else { nil }
    return JSONObject(
      event: trouble == nil ? "attach" : "warning", at: .origin, side: .accessory,
      [
        "accessory": accessory, "on": "\(address)", "pid": card.map { Int($0.process.pid) },
        "attachedAt": card?.attachedSeconds, "usb": usb, "text": trouble?.description,
      ]
    ).text
  }
}

extension AccessoryChange {
  func events(at time: Instant) -> [TimelineEvent] {
    func event(_ kind: TimelineEvent.Kind, _ accessory: FoundAccessory?) -> TimelineEvent {
      TimelineEvent(time: time, side: .accessory, kind: kind, subject: accessory?.subject)
    }
    switch self {
    case .arrived(let it):
      return [event(.attach("\(it.address)"), it)] + (it.trouble.map { [event(.warning($0.description), it)] } ?? [])
    case .left(let it, let reason): return [event(.detach(reason), it)]
    case .changed(let it, let before):
      if let protocols = it.protocols {
        let offer = protocols.isEmpty ? "no protocols" : protocols.joined(separator: ", ")
        return [event(.note("\(it.name) offers \(offer) now"), it)]
      }
      guard it.trouble != before.trouble else { return [] }
      return [event(it.trouble.map { .warning($0.description) } ?? .note("\(it.address) can be used now"), it)]
    case .passed(let it):
      return [
        event(.attach(it.map { "\($0.address)" } ?? "a local accessory, unplugged before easim could identify it"), it),
        event(.detach("it was plugged in too briefly"), it),
      ]
    case .warning(let text): return [event(.warning(text), nil)]
    }
  }
}
