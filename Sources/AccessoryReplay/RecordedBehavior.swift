import AccessoryCaptures
import AccessoryCore
import AccessoryProfiles
import AccessorySessions
import AccessorySimulator
import IAP2

/// What the accessory of a recording does in its sessions, for an accessory that is plugged in by hand.
///
/// Each session of a protocol is the next recorded one of that protocol; after the last one comes the first again. At a
/// difference the session is closed, and the accessory's timeline has a warning.
///
/// ```swift
/// let recording = try Recording(DecodedCapture(bytes).entries)
/// let glasses = world.add(try Profile(recording), behavior: { _ in RecordedBehavior(recording) })
/// ```
///
/// ``ReplayedAccessory`` also plugs in and unplugs as recorded.
public final class RecordedBehavior: AccessoryBehavior {
  private let sessions: [Recording.Session]
  private let settings: ReplaySettings
  private let differed: (ReplayDifference) -> Void
  private var played: [String: Int] = [:]

  /// The sessions of a recording. `differed` is called with the first difference of each session that differs.
  public init(
    _ recording: Recording, _ settings: ReplaySettings = ReplaySettings(),
    differed: @escaping (ReplayDifference) -> Void = { _ in }
  ) {
    (sessions, self.settings, self.differed) = (recording.sessions, settings, differed)
  }

  /// A handler that plays the next recorded session.
  public func makeHandler(for session: Session, in context: BehaviorContext) -> any SessionHandler {
    let name = session.protocolName
    let candidates = sessions.filter { $0.protocolName == name }
    guard !candidates.isEmpty else {
      context.warn("the recording has no session of \(name)")
      context.loop.schedule(after: .zero) { session.close("it is not in the recording") }
      return DiscardingHandler()
    }
    let index = played[name, default: 0]
    played[name] = index + 1
    let player = SessionPlayer(candidates[index % candidates.count], as: .accessory, settings, on: context.loop) {
      [differed] _, difference in
      guard let difference else { return }
      context.warn("\(difference)")
      differed(difference)
      session.close("it differs from the recording")
    }
    player.start(on: session)
    return player
  }
}

/// Reads and drops what still arrives in a session that is about to be closed.
final class DiscardingHandler: SessionHandler {
  func sessionIsReadable(_ session: Session) { session.read { $0.byteCount } }
  func sessionIsWritable(_ session: Session) {}
  func session(_ session: Session, endedWith end: SessionEnd) {}
}
