import AccessoryCore
import LinuxIO

/// Keeps a host connected to the accessories at an address: it connects to each one as soon as it appears, and again
/// whenever it returns, so that the host follows a flicker to its end. Each accessory has a ``Line``.
///
/// Made by ``MediumTable/makeDialer(to:for:on:options:wanted:wrap:)``.
public final class Dialer {
  /// Which accessories at an address to connect to.
  public struct Wanted {
    let takesOne: Bool
    let fits: (FoundAccessory) -> Bool

    /// All that fit.
    public static func every(where fits: @escaping (FoundAccessory) -> Bool) -> Wanted {
      Wanted(takesOne: false, fits: fits)
    }

    /// The first one that matches and can be opened; after that only this one, at each of its attachments.
    public static func one(where fits: @escaping (FoundAccessory) -> Bool) -> Wanted {
      Wanted(takesOne: true, fits: fits)
    }

    /// All.
    public static var every: Wanted { every { _ in true } }
    /// The first one that can be opened.
    public static var one: Wanted { one { _ in true } }
  }

  private let finder: any AccessoryFinder
  private let owner: any CableOwner
  private let loop: any EventLoop
  private let wanted: Wanted
  private let wrap: (Cable) -> Cable
  private var ways: [String: Way] = [:]
  private var isStopped = false
  /// The accessory that was chosen, if only one is wanted.
  private var taken: String?
  private var lastTrouble: (key: String, reason: TransportError)?

  /// One accessory, with what its line needs from outside.
  private final class Way {
    var accessory: FoundAccessory
    var line: Line
    var attempt: (any Connecting)?
    var timer: LoopTimer?
    /// How many links in a row ended before the accessory was ready.
    var unfinished = 0

    init(_ accessory: FoundAccessory, _ pauses: RedialPauses) {
      self.accessory = accessory
      line = Line(pauses: pauses)
    }
  }

  /// A dialer that has not started.
  ///
  /// - Parameter wrap: puts transcripts and faults around the channels of each cable.
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

  /// Begins.
  ///
  /// - Throws: when the medium cannot be used, for example a local directory that cannot be trusted.
  public func start() throws {
    try finder.start { [unowned self] change in happened(change) }
  }

  /// Stops dialling. Cables that are plugged in stay until they end.
  public func stop() {
    isStopped = true
    finder.stop()
    for way in ways.values { abandon(way) }
  }

  /// Why the last attempt did not open a cable, or opened one whose accessory never became ready; nil after a success,
  /// and when the accessory has left.
  public var trouble: TransportError? { lastTrouble?.reason }

  /// Whether the accessory had a link at its last attachment and was not ready when that ended.
  public var isUnfinished: Bool { if case .unfinished? = trouble { true } else { false } }

  /// Why no cable can be expected any more; nil while one can. If the medium reports arrivals, another accessory may
  /// still appear.
  public var failure: TransportError? {
    guard !finder.seesArrivals, ways.values.allSatisfy({ $0.line.state == .givenUp }) else { return nil }
    return trouble
  }

  /// How many accessories are being connected to, or are connected.
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
      // A cable that is plugged in ends on its own.
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
    // One at a time, so that only the first one that can be opened is used.
    return !ways.values.contains { $0 !== way && $0.line.state == .dialling }
  }

  /// Tries the accessories that were waiting for another.
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
  /// Whether users should see this failure immediately. A dialer waits for accessories that are not there, so that
  /// failure is not reported.
  fileprivate var isWorthTelling: Bool {
    switch self {
    case .nobodyThere, .timedOut, .noLink, .unfinished, .left: false
    default: true
    }
  }
}

/// Takes the cables that a ``Dialer`` opens: the device role.
public protocol CableOwner: AnyObject {
  /// Takes a cable and keeps it until it ends; then `ended` is called, once.
  func take(_ cable: Cable, of accessory: FoundAccessory, ended: @escaping (CableOutcome) -> Void)

  /// Receives what a dialer has to report besides cables.
  func handle(_ report: DialerReport)
}

/// How a host's use of a cable ended.
public struct CableOutcome: Equatable, Sendable {
  /// A sentence fragment.
  public let reason: String
  /// Whether the iAP2 link ever came up: an accessory that another host is using merely closes the cable.
  public let linkWasUp: Bool
  /// The last message before the accessory would have been ready; nil if it was ready, or never had a link.
  public let unfinishedAt: String?

  /// Creates an outcome.
  public init(reason: String, linkWasUp: Bool, unfinishedAt: String? = nil) {
    self.reason = reason
    self.linkWasUp = linkWasUp
    self.unfinishedAt = unfinishedAt
  }
}

/// What a dialer reports besides cables.
public enum DialerReport: Equatable, Sendable {
  /// An accessory cannot be connected to. Each reason is reported once until it changes.
  case trouble(TransportError, FoundAccessory)
  /// This number of bytes from an earlier session was read from an accessory and dropped.
  case droppedBytes(Int, FoundAccessory)
  /// Anything else that is wrong.
  case warning(String)
}
