public import AccessoryProfiles
import AccessorySessions
public import AccessorySimulator
import AccessoryWorlds
import ExternalAccessory

/// An accessory of a ``SimulatedWorld``, and the accessory's side of its sessions.
///
/// ```swift
/// let meter = try world.add("echo")
/// meter.plugIn()
/// await world.settle()
/// ```
///
/// It does with its sessions what its profile says, until ``behave(_:)`` or ``takeSessions()`` says otherwise.
public final class WorldAccessory: @unchecked Sendable {
  /// What it is.
  public let profile: Profile
  private unowned let world: SimulatedWorld
  // On the loop.
  private var simulated: SimulatedAccessory?
  private var behavior: (any AccessoryBehavior)?
  private var taken: [WorldSession] = []

  init(_ profile: Profile, in world: SimulatedWorld) {
    self.profile = profile
    self.world = world
    world.perform { inner in
      simulated = inner.add(
        profile, behavior: { [unowned self] named in behavior ?? BuiltInBehaviors.behavior(named) })
    }
  }

  private func perform<Value>(_ body: (SimulatedAccessory, World) -> Value) -> Value {
    world.perform { inner in
      guard let simulated else { preconditionFailure("an accessory of a world is made when it is added") }
      return body(simulated, inner)
    }
  }

  // MARK: The plug

  /// Plugs it in.
  public func plugIn() {
    perform { simulated, _ in
      do { try simulated.plugIn() } catch {
        preconditionFailure("a cable in memory can always be plugged in: \(error)")
      }
    }
  }

  /// Unplugs it in order.
  public func unplug() { perform { simulated, _ in simulated.unplug() } }

  /// Pulls its cable without a word: what is under way is lost. Where it is `unnoticed`, the device goes on as if the
  /// accessory were there, and finds out when it has sent something that nobody acknowledges: a ghost.
  public func pull(unnoticed: Bool = false) {
    perform { simulated, inner in inner.pull(simulated, unnoticed: unnoticed) }
  }

  /// Whether it is plugged in.
  public var isPluggedIn: Bool { perform { simulated, _ in simulated.isAttached } }

  /// The device resets the link: the accessory goes and comes back, with the plug where it was.
  public func resetLink() {
    perform { _, inner in inner.device.resetLinks(serial: profile.identity.serialNumber) }
  }

  // MARK: Sessions

  /// Closes its sessions and stays.
  public func closeSessions() { perform { simulated, _ in simulated.closeSessions() } }

  /// Does this with sessions that are opened from now on.
  public func behave(_ behavior: any AccessoryBehavior) { perform { _, _ in self.behavior = behavior } }

  /// Leaves sessions that are opened from now on to the test: see ``sessions``.
  public func takeSessions() {
    behave(TakenSessions(world: world) { [unowned self] session in taken.append(session) })
  }

  /// The accessory's ends of the sessions that were opened since ``takeSessions()``, in order.
  public var sessions: [WorldSession] { perform { _, _ in taken } }
}

/// Hands sessions to a test.
private struct TakenSessions: AccessoryBehavior {
  let world: SimulatedWorld
  let take: (WorldSession) -> Void

  func makeHandler(for session: Session, in context: BehaviorContext) -> any SessionHandler {
    let taken = WorldSession(session, in: world)
    take(taken)
    return taken
  }
}

/// As with ``SimulatedWorld``.
extension WorldAccessory: CustomReflectable {
  /// Empty.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
