import AccessoryCore
import LinuxIO

/// Keeps a host connected to the accessories at an address. The dialer connects to each accessory as soon as it
/// appears, and again each time it returns, for example after a flicker. Each accessory has its own ``Line``.
///
/// ``MediumTable/makeDialer(to:for:on:options:wanted:wrap:)`` creates dialers.
public final class Dialer {
  /// Which accessories at an address to connect to.
  public struct Wanted {
    let takesOne: Bool
    let fits: (FoundAccessory) -> Bool

    /// Selects all accessories that match.
    public static func every(where fits: @escaping (FoundAccessory) -> Bool) -> Wanted {
      Wanted(takesOne: false, fits: fits)
    }

    /// Selects the first matching accessory that can be opened. The dialer then ignores all other accessories.
    public static func one(where fits: @escaping (FoundAccessory) -> Bool) -> Wanted {
      Wanted(takesOne: true, fits: fits)
    }

    /// Selects all accessories.
    public static var every: Wanted { every { _ in true } }
    /// Selects the first accessory that can be opened.
    public static var one: Wanted { one { _ in true } }
  }

  private let finder: any AccessoryFinder
  private let owner: any CableOwner
  private let loop: any EventLoop
  private let wanted: Wanted
  private let wrap: (Cable) -> Cable
  private var ways: [String: Way] = [:]
  private var isStopped = false
  /// The identity of the chosen accessory, if only one is wanted.
  private var taken: String?
  private var lastTrouble: (key: String, reason: TransportError)?

  private final class Way {
    var accessory: FoundAccessory
    var line: Line
    var attempt: (any Connecting)?
    var timer: LoopTimer?
    /// The number of consecutive links that ended before the accessory was ready.
    var unfinished = 0

    init(_ accessory: FoundAccessory, _ pauses: RedialPauses) {
      self.accessory = accessory
      line = Line(pauses: pauses)
    }
  }

  /// Creates a dialer without starting it.
  ///
  /// - Parameter wrap: adds transcripts and faults to each cable.
  public init(
    _ finder: any AccessoryFinder, for owner: any CableOwner, on loop: any EventLoop, wanted: Wanted = .every,
    wrap: @escaping (Cable) -> Cable = { $0 }
  ) {
    self.finder = finder
    self.owner = owner
    self.loop = loop
    self.wanted = wanted
    self.wrap = wrap
  }

  deinit { stop() }

  /// Starts connecting.
  ///
  /// - Throws: An error if the medium cannot be used, for example if a local directory cannot be trusted.
  public func start() throws {
    try finder.start { [unowned self] change in happened(change) }
  }

  /// Stops connecting. Cables that are already open stay open until they close on their own.
  public func stop() {
    isStopped = true
    finder.stop()
    for way in ways.values { abandon(way) }
  }

  /// Why the last attempt failed. An attempt whose accessory never became ready counts as failed. After a successful
  /// attempt, or once the accessory has disappeared, the value is nil.
  public var trouble: TransportError? { lastTrouble?.reason }

  /// Whether the link on the accessory's last cable ended before the accessory was ready.
  public var isUnfinished: Bool { if case .unfinished? = trouble { true } else { false } }

  /// Why the dialer will open no more cables, or nil if it may still open some. The value is always nil if the medium
  /// reports arrivals, because another accessory may still arrive.
  public var failure: TransportError? {
    guard !finder.seesArrivals, ways.values.allSatisfy({ $0.line.state == .givenUp }) else { return nil }
    return trouble
  }

  /// Whether the dialer still waits for an accessory at an address that does not show whether there is one.
  public var isSearching: Bool { !finder.seesArrivals && (taken == nil || trouble != nil) }

  /// The number of accessories that are connected or about to be connected.
  public var openLines: Int {
    ways.values.count { $0.line.state == .dialling || $0.line.state == .connected }
  }

  // MARK: Events at the address

  private func happened(_ change: AccessoryChange) {
    switch change {
    case .arrived(let accessory):
      let way = Way(accessory, finder.pauses)
      ways[accessory.key] = way
      way.timer = loop.makeTimer { [unowned self, unowned way] in redial(way) }
      dial(way)
    case .changed(let accessory, _):
      guard let way = ways[accessory.key] else { return }
      way.accessory = accessory
      dial(way)
    case .left(let accessory, _):
      // If a cable to the accessory is open, it closes on its own.
      if let way = ways.removeValue(forKey: accessory.key) { abandon(way) }
      if lastTrouble?.key == accessory.key { lastTrouble = nil }
      dialOthers()
    case .passed: break
    case .warning(let text): owner.handle(.warning(text))
    }
  }

  private func abandon(_ way: Way) {
    way.timer?.cancel()
    way.attempt?.cancel()
    way.attempt = nil
  }

  // MARK: One accessory

  private func dial(_ way: Way) {
    guard isWanted(way) else { return }
    if let trouble = way.accessory.trouble, !trouble.mayPass { return failed(way, trouble) }
    if way.line.dial() { connect(way) }
  }

  private func redial(_ way: Way) {
    if isWanted(way), way.line.handleTimeout(now: loop.now) { connect(way) }
  }

  private func isWanted(_ way: Way) -> Bool {
    guard !isStopped, wanted.fits(way.accessory) else { return false }
    guard wanted.takesOne else { return true }
    if let taken { return taken == way.accessory.identity }
    // Accessories are tried one at a time, so that only the first one that works is used.
    return !ways.values.contains { $0 !== way && $0.line.state == .dialling }
  }

  /// Tries the accessories that had to wait for an attempt with another accessory to finish.
  private func dialOthers() {
    guard wanted.takesOne else { return }
    for way in ways.values.sorted(by: { $0.accessory.key < $1.accessory.key }) {
      if way.line.state == .idle { dial(way) } else { redial(way) }
    }
  }

  private func connect(_ way: Way) {
    do throws(TransportError) {
      way.attempt = try finder.connect(to: way.accessory) { [unowned self, unowned way] result in
        way.attempt = nil
        switch result {
        case .success(let opened): plugIn(opened, way)
        case .failure(let reason): failed(way, reason)
        }
      }
    } catch {
      failed(way, error)
    }
  }

  private func plugIn(_ opened: OpenedCable, _ way: Way) {
    way.line.connected()
    if taken == nil { taken = way.accessory.identity }
    if lastTrouble?.key == way.accessory.key, !isUnfinished { lastTrouble = nil }
    if opened.droppedBytes > 0 { owner.handle(.droppedBytes(opened.droppedBytes, way.accessory)) }
    owner.take(wrap(opened.cable), of: way.accessory) { [weak self, weak way] outcome in
      opened.release()
      if let self, let way { ended(way, outcome) }
    }
  }

  private func failed(_ way: Way, _ reason: TransportError) {
    let isNews = way.line.failed(reason, now: loop.now)
    lastTrouble = (way.accessory.key, reason)
    if isNews, reason.isWorthTelling { owner.handle(.trouble(reason, way.accessory)) }
    arm(way)
    dialOthers()
  }

  private func ended(_ way: Way, _ outcome: CableOutcome) {
    if isStopped { return }
    let address = way.accessory.address
    let reason: TransportError?
    if !outcome.linkWasUp {
      reason = .noLink(address, outcome.reason)
    } else if let last = outcome.unfinishedAt {
      way.unfinished += 1
      reason = .unfinished(address, links: way.unfinished, last: last, outcome.reason)
    } else {
      way.unfinished = 0
      reason = nil
    }
    way.line.ended(reason, now: loop.now)
    if let reason {
      lastTrouble = (way.accessory.key, reason)
    } else if lastTrouble?.key == way.accessory.key {
      lastTrouble = nil
    }
    arm(way)
  }

  private func arm(_ way: Way) {
    guard !isStopped, ways[way.accessory.key] === way, let deadline = way.line.deadline else { return }
    way.timer?.arm(at: deadline)
  }
}

extension TransportError {
  /// Whether to report this failure to users immediately. A missing accessory is not reported, because the dialer waits
  /// for accessories to appear.
  fileprivate var isWorthTelling: Bool {
    switch self {
    case .nobodyThere, .timedOut, .noLink, .unfinished, .left: false
    default: true
    }
  }
}

/// Takes over the cables that a ``Dialer`` opens. The device role implements this protocol.
public protocol CableOwner: AnyObject {
  /// Takes over a cable. Calls `ended` once, when the cable ends.
  func take(_ cable: Cable, of accessory: FoundAccessory, ended: @escaping (CableOutcome) -> Void)

  /// Receives the dialer's reports of failures, dropped bytes and warnings.
  func handle(_ report: DialerReport)
}

/// How a host's connection over a cable ended.
public struct CableOutcome: Equatable, Sendable {
  /// The reason, as a phrase to insert into a sentence.
  public let reason: String
  /// Whether the iAP2 link was ever established. If another host is using the accessory, the accessory closes the cable
  /// before there is a link.
  public let linkWasUp: Bool
  /// The last message from an accessory that had a link but never became ready, or nil for any other outcome.
  public let unfinishedAt: String?

  /// Creates an outcome.
  public init(reason: String, linkWasUp: Bool, unfinishedAt: String? = nil) {
    self.reason = reason
    self.linkWasUp = linkWasUp
    self.unfinishedAt = unfinishedAt
  }
}

/// A report from a dialer about anything other than a new cable.
public enum DialerReport: Equatable, Sendable {
  /// An attempt to connect to an accessory failed. The same error is not reported twice in a row.
  case trouble(TransportError, FoundAccessory)
  /// Bytes left over from an earlier session were read and dropped. The value is their number.
  case droppedBytes(Int, FoundAccessory)
  case warning(String)
}

/// Decides when to connect to an accessory, when to wait, and when to give up.
///
/// ```
///            dial           connected            ended
///   idle ──────────▶ dialling ──────▶ connected ──────▶ lost ───────┐
///                     │   ▲                                         │ after a pause: dial
///                     │   └─────────────────────────────────────────┤
///                     ├── failed, may pass ─────────▶ waiting ──────┘
///                     └── failed permanently ───────▶ givenUp ──(the accessory changes)──▶ dialling
/// ```
///
/// A cable whose accessory never became ready counts as a failure. Users at both ends see each failed cable as an
/// attachment, so the pauses between attempts grow longer. The pause is shortest after an attempt that got no answer,
/// and after a cable whose accessory became ready.
///
/// Invariant: only `waiting` and `lost` have a deadline.
struct Line: Equatable, Sendable {
  enum State: Equatable, Sendable {
    case idle
    case dialling
    case connected
    /// The last attempt failed, and the line tries again at this time.
    case waiting(until: Instant)
    /// The last cable ended, and the line connects again at this time.
    case lost(until: Instant)
    /// The problem is permanent, so the line waits for the accessory to change.
    case givenUp
  }

  private(set) var state = State.idle
  /// Why the last attempt failed. An attempt whose accessory never became ready counts as failed.
  private(set) var trouble: TransportError?
  private let pauses: RedialPauses
  private var pause: Duration

  init(pauses: RedialPauses) {
    self.pauses = pauses
    pause = pauses.shortest
  }

  var deadline: Instant? {
    switch state {
    case .waiting(let until), .lost(let until): until
    case .idle, .dialling, .connected, .givenUp: nil
    }
  }

  /// Requests a cable for a new or changed accessory. Returns true if an attempt should start now.
  mutating func dial() -> Bool {
    switch state {
    case .dialling, .connected: return false
    case .idle, .waiting, .lost, .givenUp:
      state = .dialling
      return true
    }
  }

  /// Requests a cable if the deadline has passed. Returns true if an attempt should start now.
  mutating func handleTimeout(now: Instant) -> Bool {
    guard let deadline, deadline <= now else { return false }
    return dial()
  }

  mutating func connected() {
    guard state == .dialling else { return }
    state = .connected
    trouble = nil
  }

  /// Records that the attempt failed or could not be made. Returns true if the reason is new.
  mutating func failed(_ reason: TransportError, now: Instant) -> Bool {
    let isNews = trouble != reason
    trouble = reason
    pause = pauses.shortest
    state = reason.mayPass ? .waiting(until: now + pause) : .givenUp
    return isNews
  }

  /// Records that the cable has ended. `reason` explains why the accessory never became ready, or is nil if it did.
  mutating func ended(_ reason: TransportError?, now: Instant) {
    guard state == .connected else { return }
    trouble = reason
    pause = reason == nil ? pauses.shortest : min(pause * 2, pauses.longest)
    state = .lost(until: now + pause)
  }
}

/// How long to wait between two attempts to open a cable.
public struct RedialPauses: Equatable, Sendable {
  /// The pause after an attempt that got no answer, and after a cable whose accessory became ready.
  public var shortest: Duration
  /// The longest pause after cables whose accessory never became ready.
  public var longest: Duration

  /// Creates pauses.
  public init(shortest: Duration, longest: Duration) {
    self.shortest = shortest
    self.longest = longest
  }
}
