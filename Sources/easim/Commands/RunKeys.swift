import AccessoryCore

/// The keys of `easim run` on a terminal: what each of them does, and the line that lists them.
struct RunKeys: Equatable {
  /// What a key asks for.
  enum Action: Equatable {
    case unplug
    case plug
    case flicker
    /// Switches a fault on or off, counted from 0.
    case toggle(Int)
    case quit
  }

  /// The most faults that have a key.
  static let mostFaults = 9

  /// The names of the faults, and whether each is on.
  private(set) var faults: [(name: String, isOn: Bool)]

  /// The keys of a run with these faults.
  init(faults names: [String]) { faults = names.prefix(Self.mostFaults).map { ($0, true) } }

  static func == (left: RunKeys, right: RunKeys) -> Bool {
    left.faults.elementsEqual(right.faults) { $0 == $1 }
  }

  /// What a key does; nil for nothing.
  mutating func press(_ key: Key) -> Action? {
    switch key {
    case .character("u"): return .unplug
    case .character("p"): return .plug
    case .character("f"): return .flicker
    case .character("q"), .control("d"): return .quit
    case .character(let digit):
      guard let number = digit.wholeNumberValue, digit.isASCII, 1...max(faults.count, 1) ~= number, !faults.isEmpty
      else { return nil }
      faults[number - 1].isOn.toggle()
      return .toggle(number - 1)
    default: return nil
    }
  }

  /// The line, not wider than `width`.
  func line(width: Int) -> String {
    let listed = faults.enumerated().map { "\($0 + 1) \($1.name) \($1.isOn ? "on" : "off")" }
    let whole = (["u unplug", "p plug", "f flicker"] + listed + ["q quit"]).joined(separator: "   ")
    return whole.count <= width ? whole : String(whole.prefix(max(0, width - 1))) + "…"
  }
}
