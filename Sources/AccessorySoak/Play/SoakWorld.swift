import AccessoryCables
import AccessoryCore
import AccessoryHost
import AccessoryProfiles
import AccessorySessions
import AccessorySimulator
import AccessoryWorlds
import IAP2
import LinuxIO

/// Runs one plan's world in virtual time until it ends, and checks the rules after every step.
///
/// ```
///   play ──`length` has passed──▶ settle ──all delivered or over──▶ tear down ──quiet──▶ judged
/// ```
///
/// The purpose of settling is to prove that every byte arrives. While the world settles, no more bytes are written and
/// no session is closed. Each open session must deliver all accepted bytes before its link would give up.
final class SoakWorld {
  let plan: SoakPlan
  /// The plan's ``SoakPlan/isHostile``, computed once.
  private let isHostile: Bool
  private let loop: VirtualLoop
  private let record: SoakRecord
  private var world: World?
  private var accessories: [SimulatedAccessory] = []
  private var apps: [(handler: SoakApp, view: AppView)] = []
  private var sessions: [SoakAccount] = []
  private var streams: [SoakStream] = []
  private var isSettling = false
  private(set) var stepCount = 0

  private static let mostSteps = 3_000_000

  init(
    _ plan: SoakPlan, _ record: SoakRecord, event: @escaping (TimelineEvent) -> Void = { _ in },
    line: ((String) -> Void)? = nil, recorder: CaptureRecorder? = nil
  ) {
    self.plan = plan
    isHostile = plan.isHostile
    self.record = record
    loop = VirtualLoop(seed: plan.seed)
    let loop = loop
    var settings = World.Settings()
    settings.seed = plan.seed
    settings.speed = plan.speed
    settings.policy = plan.policy
    settings.order = plan.order
    settings.deviceFlicker = plan.deviceFlicker
    settings.faults = plan.faults
    settings.keepsTranscript = line != nil
    settings.reportLine = line ?? { _ in }
    settings.recorder = recorder
    settings.keepsEvents = false
    settings.report = { happened in
      record.saw(happened)
      event(happened)
    }
    settings.wrap = { channel, end in
      let longest =
        end.end == .device ? plan.deviceLength : plan.accessories[end.accessory].profile.link.maximumPacketLength
      return WireWatch.watch(channel, at: end, maximumLength: longest, record, on: loop)
    }
    settings.peer.firstSession = plan.firstSession
    plan.deviceLink.apply(to: &settings.peer.link)
    settings.peer.link.parameters.maximumOutstandingPackets = plan.deviceWindow
    settings.peer.link.parameters.maximumPacketLength = plan.deviceLength
    let world = World(settings, on: loop)
    self.world = world
    for (number, part) in plan.accessories.enumerated() {
      accessories.append(
        world.add(
          part.profile, link: { part.link.apply(to: &$0) },
          behavior: { [unowned self] _ in SoakBehavior { [unowned self] in handler(for: $0, of: number) } }))
    }
    for app in plan.apps {
      let handler = SoakApp(app, on: loop, record) { [unowned self] in opened($0, $1, $2) }
      apps.append((handler, world.device.makeApp(handler)))
    }
  }

  // MARK: Playing

  func play() throws(VirtualLoop.Livelock) {
    var steps: [LoopTimer] = []
    for step in plan.steps {
      let timer = loop.makeTimer { [unowned self] in perform(step.action) }
      timer.arm(at: loop.now + step.at)
      steps.append(timer)
    }
    try run(limit: plan.length) { false }
    settle()
    try run(limit: patience) { [unowned self] in
      sessions.allSatisfy { $0.isSettled(linkWentDown: linkWentDown(since: $0)) }
    }
    for session in sessions where !isHostile {
      if let wrong = session.fault(linkWentDown: linkWentDown(since: session)) { record.violation(wrong, at: loop.now) }
    }
    world?.tearDown()
    for app in apps { app.view.close() }
    // Before a cable closes, it delivers the bytes that it still holds. Some faults slow down this delivery.
    if try !run(limit: .seconds(3_600), until: { false }) {
      record.violation(.end, "work is still pending an hour after everything was unplugged", at: loop.now)
    }
    judgeTheEnd()
  }

  /// Runs loop steps until the condition is true or nothing is left to do. Returns false if the time limit or the step
  /// limit is reached first.
  @discardableResult
  private func run(limit: Duration, until condition: () -> Bool) throws(VirtualLoop.Livelock) -> Bool {
    let end = loop.now + limit
    var steps = 0
    while !condition() {
      guard let next = loop.nextDeadline else { return true }
      if next > end {
        try loop.advance(by: end - loop.now)
        return false
      }
      try loop.step()
      check()
      steps += 1
      stepCount += 1
      if steps > Self.mostSteps {
        record.violation(.end, "the world did not end within \(steps) steps", at: loop.now)
        return false
      }
    }
    return true
  }

  /// Checks the rules that must hold after every step and that no watch checks.
  private func check() {
    guard record.hasNews else { return }
    record.hasNews = false
    guard let device = world?.device, !device.publishes(record.publications.published) else { return }
    record.violation(
      .publication,
      "the device publishes \(device.published.map(\.connectionID)), but its notifications list "
        + "\(record.publications.published)",
      at: loop.now)
  }

  private func perform(_ action: WorldAction) {
    guard let world else { return }
    let actions = ActionPlayer(in: world) { [unowned self] in
      accessory($0)
    } pull: { [unowned self] name, unnoticed in
      if let found = accessory(name), found.isAttached { world.pull(found, unnoticed: unnoticed) }
    } app: { [unowned self] action, role in
      // The only app action that a plan can contain is quitting.
      guard action == .quits, case .named(let name) = role else { return }
      plan.apps.firstIndex { $0.name == name }.map { apps[$0].view.close() }
    }
    do { try actions.perform(action) } catch {
      record.violation(
        .plugging, "the accessory \(action.subject ?? "") cannot be plugged in: \(error)", at: loop.now)
    }
  }

  private func accessory(_ name: String) -> SimulatedAccessory? {
    plan.accessories.firstIndex { $0.name == name }.map { accessories[$0] }
  }

  // MARK: Sessions

  private func opened(_ session: Session, _ accessory: PublishedAccessory, _ stream: SoakStreamPlan) {
    let number = plan.accessories.firstIndex { $0.profile.identity.serialNumber == accessory.serialNumber } ?? 0
    let account = makeAccount(number, session)
    sessions.append(account)
    let made = makeStream(stream, session, account, .device)
    session.handler = made
    made.start()
  }

  /// Returns the handler for a session that the accessory has accepted. The session's record is the most recent one
  /// with this session number that has not been accepted yet.
  private func handler(for session: Session, of number: Int) -> any SessionHandler {
    guard
      let account = sessions.last(where: { $0.accessory == number && $0.id == session.id && !$0.simulator.isOpen })
    else {
      if !isHostile {
        record.violation(
          .opening, "accessory \(number) opened session \(session.id), which no app asked for", at: loop.now)
      }
      return SoakEcho(session, makeAccount(number, session), on: loop, record)
    }
    guard let plans = plan.accessories[number].streams else { return SoakEcho(session, account, on: loop, record) }
    let stream = makeStream(plans[sessions.count % plans.count], session, account, .accessory)
    // The stream starts in a later turn of the loop, after it has become the session's handler.
    loop.schedule(after: .zero) { [weak stream] in stream?.start() }
    return stream
  }

  private func makeAccount(_ number: Int, _ session: Session) -> SoakAccount {
    SoakAccount(
      accessory: number, plan, isHostile: isHostile, id: session.id, number: sessions.count, linkDowns: record.linkDowns
    )
  }

  private func makeStream(
    _ plan: SoakStreamPlan, _ session: Session, _ account: SoakAccount, _ end: Cable.End
  ) -> SoakStream {
    let stream = SoakStream(
      plan, session, account, end, seed: self.plan.seed &+ UInt64(streams.count), on: loop, record)
    streams.append(stream)
    if isSettling { stream.settle() }
    return stream
  }

  // MARK: Ending

  private func settle() {
    isSettling = true
    for app in apps { app.handler.settle() }
    for stream in streams { stream.settle() }
  }

  /// The maximum time until written bytes are delivered or the link gives up. Every packet may need the maximum number
  /// of retransmissions.
  private var patience: Duration {
    let slowest =
      plan.accessories.map { part in
        part.profile.link.retransmissionTimeout * Int(part.profile.link.maximumRetransmissions + 1)
      }.max() ?? .zero
    return (slowest + .seconds(100)) * 20
  }

  private func linkWentDown(since session: SoakAccount) -> Bool { record.linkDowns > session.linkDownsBefore }

  private func judgeTheEnd() {
    for session in sessions
    where session.device.end == nil || (session.simulator.isOpen && session.simulator.end == nil) {
      record.violation(.ending, "\(session.name) was never ended", at: loop.now)
    }
    if !record.publications.published.isEmpty {
      record.violation(.publication, "no disconnect arrived for \(record.publications.published)", at: loop.now)
    }
    if world?.device.cableCount != 0 { record.violation(.end, "the device still has cables", at: loop.now) }
    world?.faultCounts.forEach { record.coverage[fault: $0.fault] += $0.count.hits }
  }

  /// Watches what must not outlive the world. The watch begins only now, because an object to which a weak reference
  /// exists counts its references much more slowly.
  private func watchForLeaks() {
    for (number, accessory) in accessories.enumerated() { record.leaks.watch(accessory, "accessory", number) }
    for app in apps {
      record.leaks.watch(app.handler, "app")
      record.leaks.watch(app.view, "view of an app")
    }
    guard let world else { return }
    record.leaks.watch(world, "world")
    record.leaks.watch(world.device, "device")
  }

  func release() {
    let time = loop.now
    watchForLeaks()
    streams.removeAll()
    apps.removeAll()
    accessories.removeAll()
    sessions.removeAll()
    world = nil
    for name in record.leaks.leaks { record.violation(.leak, "leaked: \(name)", at: time) }
    if loop.nextDeadline != nil { record.violation(.leak, "the loop still has a timer", at: time) }
    for corner in plan.forbidden where record.coverage[corner] > 0 {
      record.violation(
        .forbidden(corner), "\(corner.name), which is forbidden (reached \(record.coverage[corner]) in all)", at: time)
    }
  }
}

extension SoakLinkChoices {
  func apply(to settings: inout LinkSettings) {
    settings.initialSequence = initialSequence
    if let cumulativeAcknowledgements {
      settings.parameters.maximumCumulativeAcknowledgements = cumulativeAcknowledgements
    }
    settings.extendedAcknowledgement = [.never, .received, .missing][extendedAcknowledgement]
    settings.retransmission = repeatsOldestOnly ? .oldestOnly : .everyExpired
    settings.acknowledgementTimer = timesFromEach ? .fromEach : .fromFirst
    settings.keepsPacketsAheadOfGap = keepsAhead
    settings.settling = offersAgain ? .offerAgain : .adopt
    settings.deviceAnswer = answersOwnRecovery ? .ownRecovery : .echo
    settings.sessionReceiveBound = receiveBound
    settings.sessionSendBound = sendBound
  }
}
