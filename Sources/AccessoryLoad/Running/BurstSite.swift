import AccessoryCore
import AccessoryFormats
import AccessoryHost
import AccessorySessions
import IAP2

/// The app that uses one of a run's accessories. The app opens its sessions whenever the accessory connects with the
/// protocol, and records the accessory's attachments.
///
/// A site is `waiting` until the accessory connects with the protocol, and is then `connected`. After a disconnect, the
/// site is `waiting` again, or `gone` if the run does not wait for accessories to return.
public final class BurstSite: AppHandler {
  private enum State {
    case waiting(since: Instant)
    case connected(PublishedAccessory, AppView)
    case gone
  }

  static let runEnd = "the run ended"
  /// How long to wait before reopening a session that the accessory has ended.
  static let reopening = Duration.milliseconds(100)

  /// The accessory's name in reports.
  public let name: String
  let index: Int
  /// Returns the sum of the counters of all links to this accessory, for use in the report.
  public var linkCounters: () -> LinkCounters = { LinkCounters() }
  private(set) var lanes: [LaneDriver] = []
  private unowned let runner: BurstRunner
  private var state: State
  /// Changes with every burst, so overlapping access is not checked; no other code is called meanwhile.
  @exclusivity(unchecked) private var record = BurstReport.Site()
  /// Whether the accessory has connected at least once.
  public private(set) var hasConnected = false
  private var timer: LoopTimer?
  private var isClosed = false

  init(_ name: String, runner: BurstRunner) {
    self.name = name
    self.runner = runner
    index = runner.sites.count
    state = .waiting(since: runner.loop.now)
    let first = runner.sites.count * runner.plan.sessions
    lanes = (0..<runner.plan.sessions).map { LaneDriver(index: first + $0, site: self, runner: runner) }
    timer = runner.loop.makeTimer { [unowned self] in openLanes() }
    record.name = name
  }

  deinit { timer?.cancel() }

  /// Wraps the main channel at the device's end of a cable in order to detect acknowledgements. A burst without an
  /// expected reply is complete when it has been acknowledged.
  public func watch(_ channel: any Channel) -> any Channel {
    guard runner.watchesDelivery else { return channel }
    return WitnessedChannel(channel, at: .device, by: ReceptionWitness(for: self), on: runner.loop)
  }

  // MARK: Services for the runner

  /// The names by which plans can refer to the accessory.
  var names: [String] { [name, record.serial, record.accessory] }

  var isReady: Bool { lanes.allSatisfy(\.isOpen) }
  var isGone: Bool { if case .gone = state { true } else { false } }
  /// True if any session can never be opened, in which case the run cannot begin.
  var isNeverReady: Bool { isGone || lanes.contains(where: \.isOver) }
  var isOver: Bool { isGone || lanes.allSatisfy(\.isOver) }

  var progress: String {
    guard hasConnected else { return "no accessory appeared" }
    if isReady { return "its sessions are open" }
    return lanes.contains(where: \.isOver)
      ? "a session ended before all were open" : "the accessory offered no protocol for a session"
  }

  func report(now: Instant) -> BurstReport.Site {
    var report = record
    // The report was saved before the sessions were closed, so that closing them does not affect the report.
    if isClosed { return report }
    report.sessions = lanes.prefix(BurstReport.Site.sessionLimit).map(\.tally)
    report.link = linkCounters()
    report.closeLast(at: now, Self.runEnd)
    return report
  }

  func close() {
    for lane in lanes { lane.dropFlights() }
    record = report(now: runner.loop.now)
    isClosed = true
    timer?.cancel()
    for lane in lanes where lane.isOpen { lane.giveUp("the load test is over") }
    // Breaks a retain cycle: the app retains this object as its handler.
    if case .connected = state { state = .waiting(since: runner.loop.now) }
  }

  var deadline: Instant? {
    if isClosed { return nil }
    let timeout = runner.plan.timeout
    if case .waiting(let since) = state, hasConnected { return since + timeout }
    return lanes.compactMap { $0.deadline(timeout: timeout) }.min()
  }

  func watch(now: Instant) {
    guard let deadline, deadline <= now else { return }
    if case .waiting = state {
      state = .gone
      let limit = DurationText.format(runner.plan.timeout)
      runner.failed(.gone, "the accessory did not come back within \(limit)", at: self)
      return runner.laneIsOver()
    }
    for lane in lanes { lane.watch(now: now) }
  }

  // MARK: App

  /// Opens the sessions if the accessory has connected with the protocol. If the accessory has no protocols, only its
  /// attachment is recorded.
  public func accessoryDidConnect(_ accessory: PublishedAccessory, _ app: AppView) {
    guard !isClosed, !isGone else { return }
    record.begin(accessory, at: runner.loop.now)
    hasConnected = true
    guard !accessory.protocols.isEmpty else { return }
    if case .connected = state { return }
    let isBack = record.hadSessions
    state = .connected(accessory, app)
    openLanes()
    if isBack, isReady { runner.reconnected() }
  }

  /// Handles a disconnect. The site then waits for the accessory to return, or gives up.
  public func accessoryDidDisconnect(_ accessory: PublishedAccessory, _ app: AppView) {
    if !isClosed { record.end(accessory.connectionID, at: runner.loop.now, "the accessory went away") }
    guard case .connected(let current, _) = state, current.connectionID == accessory.connectionID else { return }
    state = .waiting(since: runner.loop.now)
    for lane in lanes { lane.lose("the accessory went away") }
    guard !isClosed else { return }
    if !runner.plan.reconnects, record.hadSessions { state = .gone }
    runner.laneIsOver()
    // The accessory may already have connected over another cable when this connection ended.
    let other = app.accessories.first { !$0.protocols.isEmpty && $0.connectionID != accessory.connectionID }
    if let other { accessoryDidConnect(other, app) }
  }

  private func openLanes() {
    guard case .connected(let accessory, let app) = state, !isClosed else { return }
    for lane in lanes where lane.mayOpen {
      do {
        let name = try ProtocolChoice.choose(runner.plan.protocolName, among: accessory.protocols)
        lane.open(try app.openSession(with: accessory, protocolName: name))
        record.hadSessions = true
      } catch {
        runner.failed(.refused, "\(error)", at: self)
        lane.giveUp()
        return runner.laneIsOver()
      }
    }
    runner.siteIsReady()
    for lane in lanes { runner.pump(lane) }
  }

  // MARK: Events from the lanes

  func completed() { record.count(completed: 1) }

  func lost(_ count: Int) { record.count(lost: count) }

  func reopenLater() {
    if case .connected = state, runner.plan.reconnects { timer?.arm(at: runner.loop.now + Self.reopening) }
  }

  fileprivate func bytesCame() {
    for lane in lanes { lane.lookAtAcknowledgements() }
  }
}

/// Notifies a site after the link has handled received bytes, because the bytes may contain acknowledgements.
private final class ReceptionWitness: CableWitness {
  private weak var site: BurstSite?

  init(for site: BurstSite) { self.site = site }

  func passed(_ bytes: RawSpan, from end: Cable.End, at time: Instant) {}

  func handled() { site?.bytesCame() }
}
