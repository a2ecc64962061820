import AccessoryCables
import AccessoryCaptures
import AccessoryCore
import AccessoryProfiles
import AccessorySessions
import AccessorySimulator
import Certificates
import IAP2

/// Plays the accessory in a recording. The accessory plugs itself in, identifies itself, answers in its sessions and
/// unplugs itself, exactly as recorded. Everything except the link and the authentication comes from the recording.
///
/// ```swift
/// let accessory = ReplayedAccessory(recording, at: port, authenticator: coprocessor, on: loop) { print($0.json) }
/// try accessory.plugIn()
/// ```
///
/// ```
///   plugged in ──all sessions of the attachment are over, and the recorded rest of its time──▶ unplugged
///       ▲                                                                                          │
///       └──────────────────────────────── the recorded gap ────────────────────────────────────────┘
/// ```
public final class ReplayedAccessory {
  /// The progress so far.
  public private(set) var progress: ReplayProgress
  /// Whether the replay has finished, has stopped at a difference, or was ended with ``unplug(_:)``.
  public private(set) var isOver = false
  /// What the accessory expects the device or its app to do next, or nil if it is not waiting for anything.
  public var waitsFor: String? {
    guard !isOver else { return nil }
    if let player = players.first(where: { $0.completed == nil }) {
      let session = "session \(player.recorded.number) (\(player.recorded.protocolName))"
      if player.awaited > 0 { return "\(player.awaited.counted("byte")) from the app in \(session)" }
      if case .closed(by: .device, at: _) = player.recorded.ending { return "the app to close \(session)" }
      return nil
    }
    if !wasIdentified { return "a device to connect" }
    return waiting.first.map { "an app to open session \($0.number) (\($0.protocolName))" }
  }
  /// The reason why the accessory could not be plugged in at its port, or nil if it could.
  public var failure: String? { accessory?.failure }

  private let recording: Recording
  private let settings: ReplaySettings
  private let port: any Port
  private let authenticator: any AccessoryAuthenticator
  private let handshakeTimeouts: HandshakeTimeouts
  private let loop: any EventLoop
  private let report: (TimelineEvent) -> Void
  private var accessory: SimulatedAccessory?
  private var index = 0
  private var waiting: [Recording.Session] = []
  private var players: [SessionPlayer] = []
  private var wasIdentified = false
  private var lastEnd = Instant.origin
  private var timer: LoopTimer?

  /// Creates an accessory that is not plugged in. `report` is called with the accessory's events.
  public init(
    _ recording: Recording, _ settings: ReplaySettings = ReplaySettings(), at port: any Port,
    authenticator: any AccessoryAuthenticator, on loop: any EventLoop,
    handshakeTimeouts: HandshakeTimeouts = HandshakeTimeouts(),
    report: @escaping (TimelineEvent) -> Void
  ) {
    (self.recording, self.settings, self.port, self.authenticator) = (recording, settings, port, authenticator)
    (self.handshakeTimeouts, self.loop, self.report) = (handshakeTimeouts, loop, report)
    progress = ReplayProgress(recording)
  }

  deinit { timer?.cancel() }

  /// Returns the profile for an attachment. The profile contains the attachment's identification or, if the attachment
  /// has none, that of another attachment.
  public static func profile(of recording: Recording, attachment: Recording.Attachment? = nil) -> Profile? {
    (attachment?.identification ?? recording.identification).map(Profile.init(recorded:))
  }

  /// Plugs the accessory in and begins the replay.
  public func plugIn() throws {
    guard index < recording.attachments.count,
      let profile = Self.profile(of: recording, attachment: recording.attachments[index])
    else {
      isOver = true
      return
    }
    waiting = recording.attachments[index].sessions
    lastEnd = loop.now
    wasIdentified = false
    let accessory = SimulatedAccessory(
      profile, at: port, authenticator: authenticator, on: loop, handshakeTimeouts: handshakeTimeouts,
      behavior: { [unowned self] _ in ReplayBehavior(replay: self) }
    ) { [weak self] event in self?.log(event) }
    self.accessory = accessory
    try accessory.plugIn()
  }

  /// Unplugs the accessory and ends the replay.
  public func unplug(_ reason: String = "unplugged") {
    isOver = true
    timer?.cancel()
    accessory?.unplug(reason)
  }

  private func log(_ event: TimelineEvent) {
    report(event)
    if case .identification = event.kind, event.side == .accessory {
      wasIdentified = true
      lastEnd = loop.now
      settle()
    }
  }

  // MARK: Attachments

  /// Ends the attachment once its sessions have ended and the rest of its recorded time has passed.
  private func settle() {
    guard !isOver, wasIdentified, waiting.isEmpty, players.isEmpty else { return }
    let attachment = recording.attachments[index]
    let last = attachment.sessions.map { $0.last }.max() ?? attachment.accepted ?? attachment.begin
    after(attachment.end - last, since: lastEnd) { $0.leave() }
  }

  private func leave() {
    guard index + 1 < recording.attachments.count else {
      isOver = true
      return
    }
    let gap = recording.attachments[index + 1].begin - recording.attachments[index].end
    accessory?.unplug("as recorded")
    index += 1
    after(gap) { replay in
      do { try replay.plugIn() } catch {
        replay.report(
          TimelineEvent(time: replay.loop.now, side: .accessory, kind: .warning("cannot be plugged in again: \(error)"))
        )
        replay.isOver = true
      }
    }
  }

  private func after(
    _ delay: Duration, since begin: Instant? = nil, _ body: @escaping (ReplayedAccessory) -> Void
  ) {
    timer?.cancel()
    let passed = begin.map { loop.now - $0 } ?? .zero
    timer = loop.schedule(after: max(.zero, settings.played(delay) - passed)) { [weak self] in
      if let self, !isOver { body(self) }
    }
  }

  // MARK: Sessions

  /// Returns the handler for a session that the device has opened, or nil if the recording has no such session at this
  /// point.
  fileprivate func take(_ session: Session) -> (any SessionHandler)? {
    // A recording shows when a native channel was first used, but not when it was opened.
    let candidate =
      waiting.firstIndex {
        (settings.takesAnyOrder || $0.isNative) && $0.protocolName == session.protocolName
      } ?? waiting.firstIndex { !$0.isNative }
    guard let candidate, waiting[candidate].protocolName == session.protocolName else {
      var difference = ReplayDifference(
        .unexpectedSession(expected: waiting.first?.protocolName), session: 0, protocolName: session.protocolName,
        from: .device)
      difference.packet = waiting.first?.packet ?? 0
      progress.add(difference)
      report(TimelineEvent(time: loop.now, side: .accessory, kind: .warning("\(difference)")))
      isOver = true
      return nil
    }
    let player = SessionPlayer(waiting.remove(at: candidate), as: .accessory, settings, on: loop) {
      [weak self] player, difference in self?.ended(player, difference)
    }
    players.append(player)
    player.start(on: session)
    return player
  }

  private func ended(_ player: SessionPlayer, _ difference: ReplayDifference?) {
    players.removeAll { $0 === player }
    progress.add(player, .accessory, difference, at: loop.now)
    lastEnd = max(lastEnd, player.completed ?? loop.now)
    if let difference {
      report(TimelineEvent(time: loop.now, side: .accessory, kind: .warning("\(difference)")))
      isOver = true
    } else {
      settle()
    }
  }
}

private struct ReplayBehavior: AccessoryBehavior {
  unowned let replay: ReplayedAccessory

  func makeHandler(for session: Session, in context: BehaviorContext) -> any SessionHandler {
    if let handler = replay.take(session) { return handler }
    context.loop.schedule(after: .zero) { session.close("the recording has no such session") }
    return Discarder()
  }
}

extension Recording.Session {
  /// When the session ended. A session that was never closed is considered to have ended after its last byte.
  var last: Instant {
    if case .closed(_, let time) = ending { return time }
    return steps.last?.time ?? opened
  }
}
