/// The search for unconfigured Wi-Fi accessories and their configuration, of one process: what stands behind every
/// `EAWiFiUnconfiguredAccessoryBrowser` in it.
///
/// ```
///                    start                    configure
///      stopped ───────────────▶ searching ───────────────▶ configuring
///         ▲ ▲ ◀──────stop───────────┘   configure │             │
///         │ └──────────────────────────────────── │ ──finish────┘
///         └──Wi-Fi on── unavailable ◀──Wi-Fi off──┴── from everywhere
/// ```
///
/// There is one search however many browsers there are: each hears of what is done on another, and a configuration
/// ends every search. A browser is told what differs from what it was told before, so that accessories found and
/// removed are deltas. The filter is that of the latest start, for all.
///
/// Where Apple is silent, this is our reading: a search that starts again finds everything again; Wi-Fi that comes back
/// leaves the search stopped; what cannot be configured (unknown, or while another is being configured) has failed.
///
/// Invariants: no browser is told the same state twice in a row; what a browser is told is removed it was told is found;
/// each configuration that is begun is finished once, and every browser hears of it.
public struct WirelessSetup {
  /// What a browser says it does; with Apple's numbers.
  public enum State: Int, Hashable, Sendable {
    /// Wi-Fi is off.
    case unavailable = 0
    /// No search.
    case stopped = 1
    /// Searching.
    case searching = 2
    /// An accessory is being configured, by whichever browser.
    case configuring = 3
  }

  /// How a configuration ended; with Apple's numbers.
  public enum Outcome: Int, Hashable, Sendable {
    /// The accessory is on the network.
    case success = 0
    /// The user gave up.
    case cancelled = 1
    /// It did not work.
    case failed = 2
  }

  /// What browsers are told, and what the world has to do.
  public enum Action: Equatable, Sendable {
    /// A browser's state changed.
    case state(browser: Int, State)
    /// A browser found accessories that it did not know, by name.
    case found(browser: Int, [UnconfiguredAccessory])
    /// Accessories that a browser knew are gone.
    case removed(browser: Int, [UnconfiguredAccessory])
    /// A configuration is over.
    case finished(browser: Int, UnconfiguredAccessory, Outcome)
    /// The user is shown the configuration of this accessory; ``finish(_:)`` tells how it ended.
    case present(UnconfiguredAccessory)
  }

  /// What each browser was told last.
  private struct Told {
    var state = State.stopped
    var accessories: Set<UnconfiguredAccessory> = []
  }

  private var state = State.stopped
  private var present: Set<UnconfiguredAccessory> = []
  private var matches: (@Sendable (UnconfiguredAccessory) -> Bool)?
  private var configured: UnconfiguredAccessory?
  private var told: [Int: Told] = [:]
  private let finishesAfterStopping: Bool

  /// No browser, Wi-Fi on, nothing in reach.
  ///
  /// - Parameter finishesAfterStopping: whether a browser hears that a configuration is over after it hears that it is
  ///   stopped, and not before. Apple does not say.
  public init(finishesAfterStopping: Bool = false) {
    self.finishesAfterStopping = finishesAfterStopping
  }

  /// What a browser shows now: all that it was told is there.
  public func accessories(of browser: Int) -> Set<UnconfiguredAccessory> {
    told[browser]?.accessories ?? []
  }

  // MARK: What apps do

  /// A browser was made.
  public mutating func add(browser: Int) {
    told[browser] = Told()
  }

  /// A browser is gone. The search goes on for the others, and ends with the last.
  public mutating func remove(browser: Int) {
    told[browser] = nil
    if told.isEmpty, state == .searching { state = .stopped }
  }

  /// A browser starts the search.
  public mutating func start(
    browser: Int, matching filter: (@Sendable (UnconfiguredAccessory) -> Bool)? = nil
  ) -> [Action] {
    guard state != .configuring else { return tell() }
    matches = filter
    if state == .stopped {
      state = .searching
      for browser in told.keys { told[browser]?.accessories = [] }
    }
    return tell()
  }

  /// A browser stops the search. What was found stays in its list.
  public mutating func stop(browser: Int) -> [Action] {
    guard state == .searching else { return [] }
    state = .stopped
    return tell()
  }

  /// A browser has an accessory configured.
  public mutating func configure(_ accessory: UnconfiguredAccessory, browser: Int) -> [Action] {
    guard state == .searching || state == .stopped, present.contains(accessory) else {
      return [.finished(browser: browser, accessory, .failed)]
    }
    state = .configuring
    configured = accessory
    return tell() + [.present(accessory)]
  }

  // MARK: What the world does

  /// The configuration that was shown to the user is over.
  public mutating func finish(_ outcome: Outcome) -> [Action] {
    guard state == .configuring, let accessory = configured else { return [] }
    state = .stopped
    configured = nil
    if outcome == .success { present.remove(accessory) }
    let finished = told.keys.sorted().map { Action.finished(browser: $0, accessory, outcome) }
    return finishesAfterStopping ? tell() + finished : finished + tell()
  }

  /// An accessory that waits to be configured came into reach.
  public mutating func appear(_ accessory: UnconfiguredAccessory) -> [Action] {
    present.insert(accessory)
    return tell()
  }

  /// An accessory is out of reach. One that is being configured takes its configuration with it.
  public mutating func disappear(_ accessory: UnconfiguredAccessory) -> [Action] {
    present.remove(accessory)
    return accessory == configured ? finish(.failed) : tell()
  }

  /// Wi-Fi was switched on or off.
  public mutating func wiFi(isOn: Bool) -> [Action] {
    if isOn {
      guard state == .unavailable else { return [] }
      state = .stopped
      return tell()
    }
    let finished = finish(.failed)
    state = .unavailable
    return finished + tell()
  }

  /// Tells every browser what differs from what it was told.
  private mutating func tell() -> [Action] {
    var actions: [Action] = []
    for browser in told.keys.sorted() {
      guard var last = told[browser] else { continue }
      if last.state != state {
        last.state = state
        actions.append(.state(browser: browser, state))
      }
      if state == .searching || state == .unavailable {
        let visible: Set<UnconfiguredAccessory> = state == .searching ? present.filter { matches?($0) ?? true } : []
        let gone = last.accessories.subtracting(visible)
        let new = visible.subtracting(last.accessories)
        if !gone.isEmpty { actions.append(.removed(browser: browser, gone.sorted())) }
        if !new.isEmpty { actions.append(.found(browser: browser, new.sorted())) }
        last.accessories = visible
      }
      told[browser] = last
    }
    return actions
  }
}

extension Set<UnconfiguredAccessory> {
  fileprivate func sorted() -> [UnconfiguredAccessory] {
    sorted { ($0.name, $0.macAddress) < ($1.name, $1.macAddress) }
  }
}
