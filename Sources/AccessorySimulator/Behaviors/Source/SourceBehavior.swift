import AccessoryCore
import AccessoryFormats
import AccessoryProfiles
import AccessorySessions
import IAP2

/// Talks by itself, at a rate, from the moment the session is open: a sensor. When is ``SourcePacer``'s to say and what
/// is ``SourcePattern``'s; what it receives it takes and drops.
public struct SourceBehavior: AccessoryBehavior {
  private let source: Behavior.Source

  /// A source.
  public init(_ source: Behavior.Source = Behavior.Source()) {
    self.source = source
  }

  /// A handler that talks.
  public func makeHandler(for session: Session, in context: BehaviorContext) -> any SessionHandler {
    let talker = Talker(source, session, on: context.loop)
    talker.talk()
    return talker
  }

  private final class Talker: SessionHandler {
    /// The most that is made at a time, however much is allowed.
    private static let pieceLimit = 64 * 1024

    private unowned let session: Session
    private let loop: any EventLoop
    private var pacer: SourcePacer
    private var pattern: SourcePattern
    /// Made and not taken yet.
    private var piece = ByteQueue()
    private var timer: LoopTimer?
    private let sending = OneAtATime()

    init(_ source: Behavior.Source, _ session: Session, on loop: any EventLoop) {
      self.session = session
      self.loop = loop
      pacer = SourcePacer(source, start: loop.now)
      // Two sessions at one instant differ, and yet every run of a seed repeats them.
      var random = loop.random.derived("source")
      pattern = SourcePattern(source.pattern, random: SeededRandom(seed: random.next() ^ UInt64(session.id)))
      timer = loop.makeTimer { [unowned self] in talk() }
    }

    func talk() {
      pacer.tick(now: loop.now)
      send()
    }

    private func send() {
      sending.run { sendWhatIsAllowed() }
      if session.isOpen, let deadline = pacer.deadline { timer?.arm(at: deadline) }
    }

    private func sendWhatIsAllowed() {
      while pacer.allowance > 0 {
        if piece.isEmpty { piece.refill { pattern.append(min(pacer.allowance, Self.pieceLimit), to: &$0) } }
        // The piece may have been made when more was allowed than now.
        let allowed = min(piece.count, pacer.allowance)
        let taken = piece.withBytes { session.write($0.extracting(first: allowed)) }
        piece.removeFirst(taken)
        pacer.took(taken, now: loop.now)
        if taken < allowed {
          pacer.hold()
          return
        }
      }
    }

    func sessionIsReadable(_ session: Session) { session.read { $0.byteCount } }

    func sessionIsWritable(_ session: Session) { send() }

    func session(_ session: Session, endedWith end: SessionEnd) { timer?.cancel() }
  }
}
