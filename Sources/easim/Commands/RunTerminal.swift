import AccessoryCore

/// The keys of `easim run` while it runs, where there is a terminal for them.
final class RunTerminal {
  private var keys: RunKeys
  private var terminal: KeyTerminal?
  /// Whether the key to quit was pressed.
  private(set) var isOver = false

  /// Whether a run with these options takes keys: not where a transcript fills the terminal.
  static func isThere(_ shared: SharedOptions) -> Bool { KeyTerminal.isThere && shared.transcript != "-" }

  /// Nil where there is no terminal. `perform` does what keys ask for, except for the faults.
  init?(
    _ cables: CableOptions, _ shared: SharedOptions, _ console: Console, on loop: any PollingLoop,
    perform: @escaping (RunKeys.Action) throws -> Void
  ) throws {
    guard Self.isThere(shared) else { return nil }
    keys = RunKeys(faults: cables.faults.map(\.name))
    terminal = try KeyTerminal(console, on: loop, line: { [unowned self] in keys.line(width: $0) }) {
      [unowned self] key in
      guard let action = keys.press(key) else { return }
      switch action {
      case .quit: isOver = true
      case .toggle(let index): cables.toggle(fault: index)
      case .unplug, .plug, .flicker:
        do { try perform(action) } catch { console.err("easim: \(error)") }
      }
      terminal?.show()
    }
  }

  /// Gives the terminal back.
  func close() { terminal?.close() }
}
