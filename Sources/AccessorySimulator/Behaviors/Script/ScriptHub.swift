import AccessoryCore
import AccessoryProfiles

/// What the scripts of an accessory share: their memory, and the way from one session to the others.
///
/// It belongs to the accessory and outlives its sessions.
final class ScriptHub {
  /// What the sessions remember together.
  @exclusivity(unchecked) var memory: ScriptMemory
  /// Does what scripts ask of the accessory; nil where there is none.
  var perform: ((AccessoryAction) -> Void)?
  /// The open sessions. Not held: one that is forgotten is gone without an end.
  private var members: [Member] = []

  private struct Member {
    weak var session: (any ScriptSession)?
  }

  init(_ memory: ScriptMemory) { self.memory = memory }

  func join(_ session: any ScriptSession) { members.append(Member(session: session)) }

  func leave(_ session: any ScriptSession) { members.removeAll { $0.session == nil || $0.session === session } }

  /// Sends in all open sessions of a protocol and returns whether there are any.
  func forward(_ bytes: [UInt8], to protocolName: String, isUnframed: Bool) -> Bool {
    let targets = members.compactMap(\.session).filter { $0.protocolName == protocolName }
    for target in targets { target.push(bytes, isUnframed: isUnframed) }
    return !targets.isEmpty
  }

  /// A state was entered: the timers of all sessions may start or stop.
  func stateWasEntered() {
    for session in members.compactMap(\.session) { session.noticeState() }
  }
}

/// An open session of a script, as the others see it.
protocol ScriptSession: AnyObject {
  var protocolName: String { get }
  /// Sends what another session has for this one.
  func push(_ bytes: [UInt8], isUnframed: Bool)
  /// A state was entered.
  func noticeState()
}
