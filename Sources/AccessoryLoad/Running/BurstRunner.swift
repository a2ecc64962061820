import AccessoryCore
import AccessoryHost
import AccessorySessions
import IAP2

/// Runs a load test with real or simulated accessories: opens sessions, starts bursts according to a schedule, verifies
/// the replies, and counts the results.
///
/// Each accessory has a ``BurstSite``, which is an app on its own device. The caller connects the devices.
///
/// ```swift
/// let runner = BurstRunner(plan, on: loop)
/// let site = runner.addSite("local:LWK-0001")
/// let app = device.makeApp(site, settings: BurstRunner.appSettings())
/// runner.start()
/// loop.run(until: { runner.outcome != nil })
/// print(runner.report.text)
/// ```
///
/// The caller must retain the runner as long as its sites are in use.
///
/// The run begins once every site has opened all its sessions. A run ends when all bursts are done, when no session is
/// left, or when it is stopped. A run always produces a report.
public final class BurstRunner {
  /// How a run ended.
  public enum Outcome: Equatable, Sendable {
    /// Every burst in the plan was answered as expected. If ``BurstPlan/reconnects`` is true, bursts lost in a
    /// disconnect do not count.
    case done
    /// Received bytes differed from the expected reply.
    case failed
    case timedOut
    /// An accessory disconnected and did not return in time, or the plan does not wait for accessories to return.
    case gone
    /// A site never opened all its sessions. The text describes how far the site got.
    case notReached(String)
    /// The caller stopped the run for the given reason.
    case stopped(String)
  }

  /// The plan.
  public let plan: BurstPlan
  /// The run's event loop.
  public let loop: any EventLoop
  /// The faults on the channels, for the report.
  public var faults: [String] = []
  /// When, where and how the run takes place, for the report.
  public var made = BurstReport.Making()
  // Overlapping access is not checked where properties are used for every burst, because a run belongs to one loop and
  // calls no other code while they change.
  /// How the run ended, or nil while it is still running.
  @exclusivity(unchecked) public private(set) var outcome: Outcome?
  /// The accessories, in the order they were added.
  public private(set) var sites: [BurstSite] = []
  let repeatedPayload: [UInt8]?
  let scratch = UniqueScratch()
  private let verifier: ReplyVerifier
  private let seed: UInt64
  /// The time at which bursts begin if all sessions are open by then, or nil to begin as soon as all sessions are open.
  public var startsAt: Instant?
  private var streams = 0
  private let onEvent: (TimelineEvent) -> Void
  /// One schedule for all accessories, or one for each accessory if the plan gives accessories different rates.
  @exclusivity(unchecked) private var schedules: [BurstSchedule]
  /// Whether bursts differ. A stored property, because the value is needed for every burst.
  let hasWorkload: Bool
  private let hasRate: Bool
  let watchesDelivery: Bool
  @exclusivity(unchecked) private var tally: BurstReport
  @exclusivity(unchecked) private var flow = (sent: 0, received: 0)
  private var flowStart = Instant.origin
  private var flowEnd = Instant.origin
  @exclusivity(unchecked) private var wake: LoopTimer?
  private var watchdog: LoopTimer?
  private var nextLane = 0
  /// The number of bursts in flight, counted so that no search through the sessions is needed at the end of a run.
  @exclusivity(unchecked) private var inFlight = 0
  private var finished: Instant?
  /// The time until which to watch for unexpected bytes, or nil while bursts remain.
  private var settled: Instant?

  /// Creates a run but does not start it. `report` is called with warnings for the user as they occur.
  public init(_ plan: BurstPlan, on loop: any EventLoop, report: @escaping (TimelineEvent) -> Void = { _ in }) {
    precondition(plan.payload.size > 0, "a burst has at least one byte")
    precondition(plan.sessions > 0 && plan.inFlight > 0, "a run has at least one session and one burst in flight")
    self.plan = plan
    self.loop = loop
    repeatedPayload = plan.requests.isEmpty ? plan.payload.repeatedBytes : nil
    verifier = ReplyVerifier(plan)
    var random = loop.random.derived("bursts")
    seed = random.next()
    onEvent = report
    schedules = [BurstSchedule(plan)]
    (hasWorkload, hasRate) = (!plan.requests.isEmpty, plan.pace != .closedLoop)
    // Bursts that expect no reply are complete as soon as they have been acknowledged.
    watchesDelivery = plan.requests.contains { $0.reply == .nothing } || plan.verification == .nothing
    tally = BurstReport(plan)
    (tally.limits, tally.allowsOverdue, tally.allowsLost) = (plan.limits, plan.allowsOverdue, plan.allowsLost)
    wake = loop.makeTimer { [unowned self] in pumpAll() }
    watchdog = loop.makeTimer { [unowned self] in watch() }
  }

  deinit {
    wake?.cancel()
    watchdog?.cancel()
  }

  static let stillRunning = "still running"

  /// Returns settings for a site's app, which allow several simultaneous sessions for one protocol.
  public static func appSettings(_ settings: AppSettings = AppSettings()) -> AppSettings {
    var settings = settings
    settings.rules.secondSession = .sideBySide
    return settings
  }

  /// Adds an accessory. Reports call the accessory `name`.
  public func addSite(_ name: String) -> BurstSite {
    let site = BurstSite(name, runner: self)
    sites.append(site)
    return site
  }

  /// Starts the run. The run begins once all sites have opened their sessions.
  public func start() {
    watchdog?.arm(at: loop.now + plan.timeout)
  }

  /// Stops the run, and abandons the bursts that are in flight. If the run has already completed its plan, its outcome
  /// does not change.
  public func stop(_ why: String) { end(isSettling ? verdict : .stopped(why)) }

  // MARK: Figures

  /// Whether bursts are being sent.
  public var isRunning: Bool { beginning != nil && outcome == nil }

  private var beginning: Instant? { schedules[0].start }
  private var overdue: Int {
    hasRate ? schedules.reduce(0) { $0 + $1.late + $1.overdue(at: finished ?? loop.now) } : 0
  }

  /// The progress of the run.
  public var progress: BurstProgress {
    var progress = BurstProgress()
    progress.bursts = tally.completed
    progress.bytes = tally.bytes
    progress.errors = tally.errors.isEmpty ? 0 : tally.errorCount  // errorCount copies the report
    progress.begun = tally.begun
    progress.lost = tally.lost
    progress.overdue = overdue
    guard let start = schedules[0].measuringStart else { return progress }
    progress.elapsed = max(.zero, (finished ?? loop.now) - start)
    switch plan.extent {
    case .bursts(let count):
      progress.fraction = Double(tally.completed + tally.lost) / Double(count)
    case .time(let time): progress.fraction = progress.elapsed.inSeconds / time.inSeconds
    }
    return progress
  }

  /// The latencies measured so far.
  public var latency: Histogram { tally.latency }

  /// The report of everything measured so far.
  public var report: BurstReport {
    settleFlow()
    var report = tally
    report.plan.faults = faults
    report.made = made
    report.warmUpTime = plan.warmUp
    report.started = beginning ?? .origin
    report.measured = progress.elapsed
    report.overdue = overdue
    if !hasWorkload { report.sizes.record(plan.payload.size, times: report.completed) }
    report.sites = sites.map { $0.report(now: loop.now) }
    report.ending = outcome.map(\.description) ?? Self.stillRunning
    return report
  }

  // MARK: Services for the lanes

  func nextStream() -> UniqueStream {
    defer { streams += 1 }
    return UniqueStream(seed: seed, session: streams)
  }

  func makeLane(_ stream: UniqueStream) -> BurstLane {
    BurstLane(plan, verifier: verifier, stream: stream, scratch: scratch)
  }

  func makeDrawer(lane: Int) -> BurstDrawer? { BurstDrawer(plan, seed: seed, lane: lane) }

  func name(of flight: BurstLane.Flight) -> String? {
    guard hasWorkload, !plan.requests[flight.request].name.isEmpty else { return nil }
    return plan.requests[flight.request].name
  }

  // MARK: Events from the sites

  func siteIsReady() {
    guard beginning == nil, outcome == nil, sites.allSatisfy(\.isReady) else { return }
    if !plan.shares.isEmpty { shareTheRate() }
    // Until its start time, a schedule tells every session to wait.
    for index in schedules.indices { schedules[index].begin(now: max(loop.now, startsAt ?? loop.now)) }
    watchdog?.arm(at: loop.now + plan.timeout)
    // Starts on a later turn of the loop, because the app is still handling its notification on this turn.
    wake?.arm(at: loop.now)
  }

  private func shareTheRate() {
    let others = plan.shares.first { $0.name == "*" }?.value ?? 1
    var unused = Set(plan.shares.map(\.name)).subtracting(["*"])
    schedules = sites.map { site in
      let share = plan.shares.first { site.names.contains($0.name) }
      if let share { unused.remove(share.name) }
      return BurstSchedule(plan, share: share?.value ?? others)
    }
    for share in plan.shares where unused.contains(share.name) {
      log(.warning("the plan has a rate for '\(share.name.printable)', which is not one of the accessories"))
    }
  }

  private func schedule(of lane: LaneDriver) -> Int { schedules.count == 1 ? 0 : lane.siteIndex }
  /// Whether no more bursts will begin. If an accessory is lost, its remaining bursts never begin.
  private var hasBegunAll: Bool {
    if schedules.count == 1 { return schedules[0].isFinished }
    return zip(schedules, sites).allSatisfy { $0.isFinished || $1.isOver }
  }

  /// Starts as many bursts as possible on a lane. Returns false if no lane can start a burst yet.
  @discardableResult
  func pump(_ lane: LaneDriver) -> Bool {
    guard outcome == nil, beginning != nil else { return false }
    let schedule = schedule(of: lane)
    while lane.canBegin {
      if let until = lane.thinkingUntil, until > loop.now, !schedules[schedule].isOver(now: loop.now) {
        wake(at: schedules[schedule].end.map { min($0, until) } ?? until)
        return true
      }
      switch schedules[schedule].next(lane: lane.index, of: laneCount, now: loop.now) {
      case .begin(let ticket):
        inFlight += 1
        lane.begin(ticket, now: loop.now)
        tally.begun += 1
      case .wait(let instant):
        wake(at: instant)
        // With a rate, all sessions of a schedule are waiting for the same burst. In a closed loop, another session may
        // be able to start a burst.
        return !hasRate || schedules.count > 1
      case .waitForOthers: return true
      case .finished:
        settleDown()
        return schedules.count > 1
      }
    }
    return true
  }

  private func wake(at instant: Instant) {
    if wake?.deadline.map({ instant < $0 }) ?? true { wake?.arm(at: instant) }
  }

  func completed(_ flight: BurstLane.Flight, on lane: LaneDriver) {
    let now = loop.now
    let end = flight.answered ?? now
    let schedule = schedule(of: lane)
    schedules[schedule].settle(now: now)
    inFlight -= 1
    if flight.ticket.isMeasured, let start = beginning {
      tally.completed += 1
      tally.bytes += flight.size
      let latency = Self.nanoseconds(from: flight.ticket.due, to: end)
      tally.latency.record(latency)
      if hasWorkload { countPayload(flight, latency) }
      if hasRate, let phase = schedules[schedule].phase(of: flight.ticket), tally.phases.indices.contains(phase) {
        tally.phases[phase].completed += 1
        tally.phases[phase].latency.record(latency)
      }
      lane.tally.completed += 1
      lane.tally.time &+= latency
      lane.tally.longest = max(lane.tally.longest, latency)
      tally.map.add(latency, at: end - start)
      if hasRate { tally.service.record(Self.nanoseconds(from: flight.began, to: end)) }
      tally.series.add(at: end - start) { slice in
        slice.bursts += 1
        slice.bytes += flight.size
      }
    } else {
      tally.warmUp += 1
    }
    if plan.pause != nil { wake?.arm(at: now) }
  }

  private func countPayload(_ flight: BurstLane.Flight, _ latency: Int) {
    tally.sizes.record(flight.size)
    guard tally.payloads.indices.contains(flight.request) else { return }
    tally.payloads[flight.request].completed += 1
    tally.payloads[flight.request].bytes += flight.size
    tally.payloads[flight.request].latency.record(latency)
  }

  func lost(_ flights: [BurstLane.Flight], on lane: LaneDriver) {
    let schedule = schedule(of: lane)
    inFlight -= flights.count
    for flight in flights {
      schedules[schedule].settle(now: loop.now)
      if flight.ticket.isMeasured { tally.lost += 1 }
    }
    if plan.pause != nil, !flights.isEmpty { wake?.arm(at: loop.now) }
  }

  func failed(
    _ kind: BurstReport.ErrorKind, _ text: String, _ findings: [StreamFinding] = [], count: Int = 1, at site: BurstSite,
    on lane: LaneDriver? = nil
  ) {
    lane?.tally.errors += count
    for finding in findings { tally.mismatches[finding.kind, default: 0] += 1 }
    tally.addError(kind, count, "\(site.name): \(text)")
    if let beginning { tally.series.add(at: loop.now - beginning) { $0.errors += count } }
    // During the run, only the first error of each kind is reported.
    if tally.errors[kind]?.count == count { log(.warning("\(site.name): \(text)")) }
  }

  func reconnected() { tally.reconnections += 1 }

  func unasked(_ count: Int) { tally.unaskedBytes += count }

  func flowed(sent: Int = 0, received: Int = 0) {
    if loop.now >= flowEnd { settleFlow() }
    flow.sent += sent
    flow.received += received
  }

  /// Assigns the bytes counted since the last call to the slice in which they were transferred. Updating the slice for
  /// every packet would take too long.
  private func settleFlow() {
    guard let start = beginning else { return }
    let flowed = flow
    if flowed.sent + flowed.received > 0 {
      tally.series.add(at: flowStart - start) { slice in
        slice.sent += flowed.sent
        slice.received += flowed.received
      }
    }
    flow = (0, 0)
    flowStart = loop.now
    flowEnd = start + tally.series.end(of: loop.now - start)
  }

  func laneIsOver() {
    guard outcome == nil else { return }
    if hasBegunAll { return settleDown() }
    // Before the run begins, a single site that can never be ready ends the run.
    let isLost = beginning == nil ? sites.contains(where: \.isNeverReady) : sites.allSatisfy(\.isOver)
    if isLost { end(verdict) }
  }

  private var laneCount: Int { sites.count * plan.sessions }

  private static func nanoseconds(from start: Instant, to end: Instant) -> Int {
    max(0, Int(end.nanoseconds - start.nanoseconds))
  }

  // MARK: Time

  private func pumpAll() {
    guard laneCount > 0 else { return }
    // Each round starts with a different lane, because the first lane to ask gets the burst that is due.
    nextLane = (nextLane + 1) % laneCount
    for offset in 0..<laneCount {
      let number = (nextLane + offset) % laneCount
      if !pump(sites[number / plan.sessions].lanes[number % plan.sessions]) { break }
    }
    if hasBegunAll { settleDown() }
  }

  private func watch() {
    guard outcome == nil, !isSettling else { return }
    guard beginning != nil else {
      let missing = sites.first { !$0.isReady }
      return end(.notReached(missing.map { "\($0.name): \($0.progress)" } ?? "no accessory"))
    }
    for site in sites { site.watch(now: loop.now) }
    guard outcome == nil else { return }
    let deadlines = sites.compactMap { $0.deadline }
    watchdog?.arm(at: max(deadlines.min() ?? loop.now + plan.timeout, loop.now + .milliseconds(1)))
  }

  // MARK: Ending

  private func settleDown() {
    guard outcome == nil, hasBegunAll, inFlight == 0 else { return }
    if verdict == .done, looksForMore {
      let until = settled ?? loop.now + plan.settleAfter
      (settled, finished) = (until, finished ?? loop.now)
      if loop.now < until { return wake?.arm(at: until) ?? () }
    }
    end(verdict)
  }

  /// Whether all bursts are done and the run is only watching for unexpected bytes.
  var isSettling: Bool { settled != nil && outcome == nil }
  private var looksForMore: Bool {
    plan.settleAfter > .zero && plan.verification != .nothing
      && (!hasWorkload || plan.requests.contains { $0.reply != .nothing })
  }

  private var verdict: Outcome {
    let kinds = Set(tally.errors.keys)
    if !kinds.isDisjoint(with: [.different, .unexpected, .refused]) { return .failed }
    if kinds.contains(.timedOut) { return .timedOut }
    if kinds.contains(.gone) { return .gone }
    if kinds.contains(.lost), !plan.reconnects { return .gone }
    return .done
  }

  private func end(_ outcome: Outcome) {
    guard self.outcome == nil else { return }
    finished = finished ?? loop.now
    self.outcome = outcome
    wake?.cancel()
    watchdog?.cancel()
    for site in sites { site.close() }
  }

  private func log(_ kind: TimelineEvent.Kind) {
    onEvent(TimelineEvent(time: loop.now, side: .app, kind: kind))
  }
}

extension BurstRunner.Outcome: CustomStringConvertible {
  /// A description of the outcome, without a period.
  public var description: String {
    switch self {
    case .done: "done"
    case .failed: "the bytes that came back are not the expected reply"
    case .timedOut: "a burst exceeded its time limit"
    case .gone: "an accessory went away"
    case .notReached(let text): text
    case .stopped(let why): "stopped by \(why)"
    }
  }
}
