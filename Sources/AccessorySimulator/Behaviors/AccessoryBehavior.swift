import AccessoryCore
import AccessorySessions
import IAP2

/// What an accessory does with the bytes of its sessions.
///
/// A behaviour is asked once per session for a handler, which then lives as long as the session. Profiles name the
/// built-in ones; in Swift anything that conforms will do, and ``ClosureBehavior`` is the short form:
///
/// ```swift
/// struct Shout: AccessoryBehavior {
///   func makeHandler(for session: Session, in context: BehaviorContext) -> any SessionHandler { Shouter() }
/// }
/// ```
public protocol AccessoryBehavior {
  /// A handler for a session that was just opened. It may write at once.
  func makeHandler(for session: Session, in context: BehaviorContext) -> any SessionHandler
}

/// What a behaviour can use besides its session.
public struct BehaviorContext {
  /// The loop that the session lives on: time, timers, chance.
  public let loop: any EventLoop
  /// Where programs that behaviours start are kept until they have ended.
  let programs: ProgramKeeper
  /// What the scripts of the accessory share.
  let scripts: ScriptHub
  private let report: (TimelineEvent.Kind) -> Void

  /// A context. `report` receives, on the loop, what behaviours report besides their bytes.
  public init(loop: any EventLoop, report: @escaping (TimelineEvent.Kind) -> Void = { _ in }) {
    let scripts = ScriptHub(ScriptMemory(random: loop.random.derived("scripts")))
    self.init(loop: loop, programs: ProgramKeeper(), scripts: scripts, report: report)
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
