import AccessoryCaptures
import AccessoryCore
import AccessoryHost
import AccessorySessions
import IAP2

/// Plays the app in a recording against a live device. The replayed app opens the recorded sessions, sends what the app
/// sent, and compares the answers.
///
/// ```swift
/// let app = ReplayedApp(recording, settings, on: loop)
/// let view = device.makeApp(app, settings: AppSettings())
/// ```
///
/// When the accessory offers its protocols, the sessions of one attachment are played. The sessions of the next
/// attachment are played once the accessory has connected again. Attachments without sessions, such as the first half
/// of a flicker, are skipped.
public final class ReplayedApp: AppHandler {
  /// The progress so far.
  public private(set) var progress: ReplayProgress
  /// Whether the replay has finished or has stopped at a difference.
  public private(set) var isOver = false
  /// Whether the replay ended because no accessory connected in time.
  public private(set) var isAbsent = false

  private let attachments: [Recording.Attachment]
  private let settings: ReplaySettings
  private let loop: any EventLoop
  private var index = 0
  private var accessory: PublishedAccessory?
  private weak var app: AppView?
  private var sawAccessory = false
  private var next = 0
  private var ended: Set<Int> = []
  /// When the most recent event occurred, in this replay and in the recording.
  private var since = (now: Instant.origin, recorded: Instant.origin)
  private var timer: LoopTimer?
  private var watchdog: LoopTimer?

  /// Creates an app that waits for the accessory.
  public init(_ recording: Recording, _ settings: ReplaySettings = ReplaySettings(), on loop: any EventLoop) {
    attachments = recording.attachments.filter { !$0.sessions.isEmpty }
    (self.settings, self.loop) = (settings, loop)
    progress = ReplayProgress(recording)
    isOver = attachments.isEmpty
    timer = loop.makeTimer { [weak self] in self?.openSessions() }
    watchdog = loop.makeTimer { [weak self] in self?.patienceIsOver() }
    if let patience = settings.patience { watchdog?.arm(at: loop.now + patience) }
  }

  deinit {
    timer?.cancel()
    watchdog?.cancel()
  }

  // MARK: AppHandler

  /// Handles a connect. An accessory without protocols is in the first half of a flicker.
  public func accessoryDidConnect(_ accessory: PublishedAccessory, _ app: AppView) {
    sawAccessory = true
    guard !isOver, self.accessory == nil, !accessory.protocols.isEmpty else { return }
    watchdog?.cancel()
    (self.accessory, self.app, next, ended) = (accessory, app, 0, [])
    since = (loop.now, attachments[index].accepted ?? attachments[index].begin)
    openSessions()
  }

  /// Handles a disconnect. All sessions with the accessory have already ended.
  public func accessoryDidDisconnect(_ accessory: PublishedAccessory, _ app: AppView) {
    guard self.accessory?.connectionID == accessory.connectionID else { return }
    self.accessory = nil
    guard !isOver, next < attachments[index].sessions.count else { return }
    differ(.notOpened("the accessory disconnected before the session"), attachments[index].sessions[next])
  }

  // MARK: Sessions

  /// Opens the sessions that are due. A session is due once the session before it has been opened and every session
  /// that ended before it in the recording has ended.
  private func openSessions() {
    while !isOver, let accessory, let app, next < attachments[index].sessions.count {
      let session = attachments[index].sessions[next]
      let isBehind = attachments[index].sessions[..<next].contains {
        $0.hasEnded(by: session.opened) && !ended.contains($0.number)
      }
      if isBehind { return }
      let due = since.now + settings.played(session.opened - since.recorded)
      if due > loop.now {
        timer?.arm(at: due)
        return
      }
      next += 1
      since = (loop.now, session.opened)
      do {
        let live = try app.openSession(with: accessory, protocolName: session.protocolName)
        let player = SessionPlayer(session, as: .device, settings, on: loop) { [weak self] in self?.ended($0, $1) }
        live.handler = player
        player.start(on: live)
      } catch { return differ(.notOpened("\(error)"), session) }
    }
  }

  private func ended(_ player: SessionPlayer, _ difference: ReplayDifference?) {
    progress.add(player, .device, difference, at: loop.now)
    ended.insert(player.recorded.number)
    if difference != nil {
      isOver = true
      return
    }
    let end = player.completed ?? loop.now
    if end > since.now || player.recorded.last > since.recorded {
      since = (max(since.now, end), max(since.recorded, player.recorded.last))
    }
    openSessions()
    guard !isOver, next == attachments[index].sessions.count, ended.count == next else { return }
    guard index + 1 < attachments.count else {
      isOver = true
      return
    }
    index += 1
    accessory = nil
    if let patience = settings.patience { watchdog?.arm(at: loop.now + patience + recordedAbsence) }
  }

  /// How long the accessory stayed disconnected in the recording before it connected again.
  private var recordedAbsence: Duration {
    guard index > 0, let last = attachments[index - 1].sessions.map(\.last).max() else { return .zero }
    return settings.played((attachments[index].accepted ?? attachments[index].begin) - last)
  }

  private func patienceIsOver() {
    guard !isOver, let patience = settings.patience, accessory == nil, let session = attachments[index].sessions.first
    else { return }
    if sawAccessory { differ(.notConnected(within: patience), session) } else { isAbsent = true }
  }

  private func differ(_ kind: ReplayDifference.Kind, _ session: Recording.Session) {
    var difference = ReplayDifference(
      kind, session: session.number, protocolName: session.protocolName, from: .accessory)
    difference.packet = session.packet
    progress.add(difference)
    isOver = true
  }
}

extension Recording.Session {
  fileprivate func hasEnded(by time: Instant) -> Bool {
    if case .closed(_, let end) = ending { return end <= time }
    return false
  }
}
