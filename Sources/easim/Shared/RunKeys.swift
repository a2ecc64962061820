import AccessoryCore
import AccessorySimulator
import AccessoryWorlds
import CLinux
import Glibc
import LinuxIO

/// The keys of `easim run` on a terminal, the keys' actions, and the line that lists the keys.
struct RunKeys {
  enum Action: Equatable {
    case perform(AccessoryAction)
    case toggle(Int)
    case quit
  }

  static let mostFaults = 9

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

/// The terminal for `easim run`, which prints lines and also reads keys. Each key is read immediately and is not echoed.
/// The last line lists the keys. Ctrl-C still sends a signal. Ctrl-Z gives the terminal back to the shell until easim
/// is resumed. While easim is in the background, it reads no keys.
final class RunTerminal: DescriptorHandler {
  /// How often easim, while in the background, checks whether it is back in the foreground.
  private static let period = Duration.milliseconds(500)

  private(set) var isOver = false
  private let cables: CableOptions
  private let console: Console
  private let loop: any PollingLoop
  private let perform: (AccessoryAction) throws -> Void
  private var keys: RunKeys
  private var reader = KeyReader()
  private var watch: (any DescriptorWatch)?
  private var signals: SignalWatch?
  private var timer: LoopTimer?

  /// Returns whether a run with these options reads keys. No keys are read while a transcript is printed on the
  /// terminal.
  static func isThere(_ shared: SharedOptions) -> Bool {
    Terminal.isThere(showingOn: STDERR_FILENO) && shared.transcript != "-"
  }

  /// Returns nil if there is no terminal. `perform` carries out an action on every accessory.
  init?(
    _ cables: CableOptions, _ shared: SharedOptions, _ console: Console, on loop: any PollingLoop,
    perform: @escaping (AccessoryAction) throws -> Void
  ) throws {
    guard Self.isThere(shared) else { return nil }
    (self.cables, self.console, self.loop, self.perform) = (cables, console, loop, perform)
    keys = RunKeys(faults: cables.faults.map(\.name))
    timer = loop.makeTimer { [unowned self] in take() }
    signals = try SignalWatch([SIGTSTP, SIGCONT, SIGWINCH], on: loop) { [unowned self] signal in
      switch signal {
      case SIGTSTP: suspend()
      case SIGCONT:
        // The shell may have changed the terminal's settings before it resumed easim.
        release()
        take()
      default: show()
      }
    }
    take()
  }

  func close() {
    timer?.cancel()
    signals?.close()
    release()
  }

  private func press(_ key: Key) {
    guard let action = keys.press(key) else { return }
    switch action {
    case .quit: isOver = true
    case .toggle(let index): cables.toggle(fault: index)
    case .perform(let action):
      do { try perform(action) } catch { console.err("easim: \(error)") }
    }
    show()
  }

  private func show() {
    if watch != nil { console.footer = keys.line(width: max(1, Terminal.size(of: STDERR_FILENO).width - 1)) }
  }

  private func take() {
    guard watch == nil else { return }
    // Reading from the terminal in the background would stop easim.
    guard clinux_terminal_hold_keys(STDIN_FILENO) == 0 else {
      timer?.arm(at: loop.now + Self.period)
      return
    }
    watch = try? loop.watch(STDIN_FILENO, for: .readable, self)
    show()
  }

  private func release() {
    watch?.cancel()
    watch = nil
    console.footer = nil
    console.settle(errors: true, atMost: .milliseconds(300))
    Terminal.giveBack()
  }

  private func suspend() {
    release()
    raise(SIGSTOP)
    take()
  }

  func descriptorReady(_ readiness: Readiness) {
    guard clinux_terminal_is_ours(STDIN_FILENO) != 0 else {
      release()
      timer?.arm(at: loop.now + Self.period)
      return
    }
    var bytes = [UInt8](repeating: 0, count: 256)
    let count = read(STDIN_FILENO, &bytes, bytes.count)
    if count < 0, errno == EINTR || errno == EAGAIN { return }
    guard count > 0 else {
      // The terminal has been closed. Unless a signal ends the program, it keeps running but no longer reads key
      // presses.
      return release()
    }
    for key in reader.read(bytes[..<count]) { press(key) }
  }
}
