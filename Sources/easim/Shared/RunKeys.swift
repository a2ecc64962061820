import AccessoryCore
import AccessorySimulator
import AccessoryWorlds

/// The keys of `easim run` on a terminal, the keys' actions, and the line that lists the keys.
struct RunKeys {
  enum Action: Equatable {
    case perform(AccessoryAction)
    /// Switches the fault with this index on or off.
    case toggle(Int)
    case quit
  }

  static let mostFaults = 9

  /// The actions, each with its key and its description in the line that lists the keys.
  private static let actions = WorldAction.kinds().starting(with: ["accessory.unplug"]).compactMap {
    kind -> (key: Character, word: Substring, action: AccessoryAction)? in
    guard let key = kind.key, let word = kind.method?.split(separator: ".").last,
      case .accessory(let action, _) = kind.action("")
    else { return nil }
    return (key, word, action)
  }

  private(set) var faults: [(name: String, isOn: Bool)]

  init(faults names: [String]) { faults = names.prefix(Self.mostFaults).map { ($0, true) } }

  mutating func press(_ key: Key) -> Action? {
    switch key {
    case .character("q"), .control("d"): return .quit
    case .character(let character):
      if let action = Self.actions.first(where: { $0.key == character })?.action { return .perform(action) }
      guard let number = character.wholeNumberValue, character.isASCII, 1...max(faults.count, 1) ~= number,
        !faults.isEmpty
      else { return nil }
      faults[number - 1].isOn.toggle()
      return .toggle(number - 1)
    default: return nil
    }
  }

  func line(width: Int) -> String {
    let listed = faults.enumerated().map { "\($0 + 1) \($1.name) \($1.isOn ? "on" : "off")" }
    let whole = (Self.actions.map { "\($0.key) \($0.word)" } + listed + ["q quit"]).joined(separator: "   ")
    return whole.count <= width ? whole : String(whole.prefix(max(0, width - 1))) + "…"
  }
}

final class RunTerminal {
  private var keys: RunKeys
  private var terminal: KeyTerminal?
  private(set) var isOver = false

  /// Returns whether a run with these options reads keys. No keys are read while a transcript is printed on the
  /// terminal.
  static func isThere(_ shared: SharedOptions) -> Bool { KeyTerminal.isThere && shared.transcript != "-" }

  /// Returns nil if there is no terminal. `perform` carries out an action on every accessory.
  init?(
    _ cables: CableOptions, _ shared: SharedOptions, _ console: Console, on loop: any PollingLoop,
    perform: @escaping (AccessoryAction) throws -> Void
  ) throws {
    guard Self.isThere(shared) else { return nil }
    keys = RunKeys(faults: cables.faults.map(\.name))
    terminal = try KeyTerminal(console, on: loop, line: { [unowned self] in keys.line(width: $0) }) {
      [unowned self] key in
      guard let action = keys.press(key) else { return }
      switch action {
      case .quit: isOver = true
      case .toggle(let index): cables.toggle(fault: index)
      case .perform(let action):
        do { try perform(action) } catch { console.err("easim: \(error)") }
      }
      terminal?.show()
    }
  }

  func close() { terminal?.close() }
}
