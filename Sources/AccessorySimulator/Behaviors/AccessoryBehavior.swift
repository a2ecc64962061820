import AccessoryCore
import AccessoryProfiles
import AccessorySessions
import IAP2

/// Defines what an accessory does with the bytes of its sessions.
///
/// A behavior creates a handler for each session. The handler is retained until the session ends. Profiles refer to
/// built-in behaviors by name. Swift code can use any type that conforms to this protocol or, for short, a
/// ``ClosureBehavior``:
///
/// ```swift
/// struct Shout: AccessoryBehavior {
///   func makeHandler(for session: Session, in context: BehaviorContext) -> any SessionHandler { Shouter() }
/// }
/// ```
public protocol AccessoryBehavior {
  /// Returns a handler for a session that has just been opened. The handler may write immediately.
  func makeHandler(for session: Session, in context: BehaviorContext) -> any SessionHandler
}

/// What a behavior can use in addition to its session.
public struct BehaviorContext {
  /// The session's loop, which provides time, timers and random numbers.
  public let loop: any EventLoop
  let programs: ProgramKeeper
  let scripts: ScriptHub
  let report: (TimelineEvent.Kind) -> Void

  /// Creates a context for a session without an accessory. Notes and warnings are dropped.
  public init(loop: any EventLoop) {
    let scripts = ScriptHub(ScriptMemory(random: loop.random.derived("scripts")))
    self.init(loop: loop, programs: ProgramKeeper(), scripts: scripts) { _ in }
  }

  init(
    loop: any EventLoop, programs: ProgramKeeper, scripts: ScriptHub, report: @escaping (TimelineEvent.Kind) -> Void
  ) {
    self.loop = loop
    self.programs = programs
    self.scripts = scripts
    self.report = report
  }

  /// Adds a note to the accessory's timeline.
  public func note(_ text: String) { report(.note(text)) }

  /// Adds a warning to the accessory's timeline.
  public func warn(_ text: String) { report(.warning(text)) }
}

/// Creates the behaviors that profiles refer to by name.
public enum BuiltInBehaviors {
  /// Returns the behavior that a profile selects.
  public static func behavior(_ description: Behavior) -> any AccessoryBehavior {
    switch description {
    case .echo: EchoBehavior()
    case .sink(let checks): SinkBehavior(checks: checks)
    case .source(let source): SourceBehavior(source)
    case .script(let script): ScriptBehavior(script)
    case .exec(let program): ExecBehavior(program)
    }
  }
}

/// A behavior that consists of closures, for tests and simple accessories.
///
/// ```swift
/// let shout = ClosureBehavior { bytes, session, _ in
///   let answer = bytes.withUnsafeBytes { $0.map { $0 & 0xDF } }
///   session.write(answer.span.bytes)
/// }
/// let accessory = SimulatedAccessory(profile, at: port, authenticator: stub, on: loop, behavior: { _ in shout }) { … }
/// ```
///
/// Bytes count as read when the closure returns. If the closure writes faster than the device reads, a write accepts
/// only some of the bytes (see ``AccessorySessions/Session/write(_:)``) and the remaining bytes are dropped. If no
/// bytes may be lost, write a type that conforms to ``AccessoryBehavior`` instead.
public struct ClosureBehavior: AccessoryBehavior {
  private let opened: (Session, BehaviorContext) -> Void
  private let received: (RawSpan, Session, BehaviorContext) -> Void
  private let ended: (Session, SessionEnd, BehaviorContext) -> Void

  /// Creates a behavior from closures. `opened` is called when a session opens, `received` with the session's bytes,
  /// and `ended` when the session ends.
  public init(
    opened: @escaping (Session, BehaviorContext) -> Void = { _, _ in },
    ended: @escaping (Session, SessionEnd, BehaviorContext) -> Void = { _, _, _ in },
    received: @escaping (RawSpan, Session, BehaviorContext) -> Void
  ) {
    self.opened = opened
    self.received = received
    self.ended = ended
  }

  /// Returns a handler that calls the closures.
  public func makeHandler(for session: Session, in context: BehaviorContext) -> any SessionHandler {
    opened(session, context)
    return Handler(behavior: self, context)
  }

  private final class Handler: SessionHandler {
    private let behavior: ClosureBehavior
    private let context: BehaviorContext

    init(behavior: ClosureBehavior, _ context: BehaviorContext) {
      self.behavior = behavior
      self.context = context
    }

    func sessionIsReadable(_ session: Session) {
      session.read { bytes in
        behavior.received(bytes, session, context)
        return bytes.byteCount
      }
    }

    func sessionIsWritable(_ session: Session) {}
    func session(_ session: Session, endedWith end: SessionEnd) { behavior.ended(session, end, context) }
  }
}

/// Sends received bytes back in order. The behavior reads only as fast as the device accepts the echo.
public struct EchoBehavior: AccessoryBehavior {
  /// Creates an echo.
  public init() {}

  /// Returns a handler that echoes.
  public func makeHandler(for session: Session, in context: BehaviorContext) -> any SessionHandler { Echo() }

  private final class Echo: SessionHandler {
    func sessionIsReadable(_ session: Session) {
      // Echo until all bytes have been read or the session has no room. While too many bytes are unread, further bytes
      // from the device are not acknowledged.
      while session.read({ session.write($0) }) > 0 {}
    }

    func sessionIsWritable(_ session: Session) { sessionIsReadable(session) }
    func session(_ session: Session, endedWith end: SessionEnd) {}
  }
}

/// Runs work that may be requested again while it is running. If this happens, the work runs once more afterwards
/// instead of recursively.
///
/// A session may report that it has room while a write is in progress. If a handler responded by writing again, it
/// would send the same bytes twice.
final class OneAtATime {
  private var isRunning = false
  private var isAskedAgain = false

  func run(_ work: () -> Void) {
    isAskedAgain = true
    guard !isRunning else { return }
    isRunning = true
    while isAskedAgain {
      isAskedAgain = false
      work()
    }
    isRunning = false
  }
}
