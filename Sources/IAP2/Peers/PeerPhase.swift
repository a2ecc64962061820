/// What one end waits for, as the wire shows it. An owner that limits how long the other end may be silent goes by it.
public enum PeerPhase: Hashable, Sendable, CaseIterable {
  /// Nothing: not started, or given up, as with a device that supports only iAP1.
  case stopped
  /// The other end's part in detection.
  case detection
  /// The other end's SYN or ACK.
  case synchronization
  /// The other end's next message of authentication.
  case authentication
  /// The other end's next message of identification.
  case identification
  /// For an answer of this end's owner.
  case owner
  /// Nothing: sessions may be opened. iAP2 has no keep-alive, so silence means nothing now.
  case ready
  /// Nothing that must come: one end refused the other, which may leave or try again.
  case refused

  /// Whether there is no link yet.
  public var isBeforeLink: Bool { self == .detection || self == .synchronization }
}

extension Link {
  /// What the peer waits for while the link is not up; nil when it is up.
  var waiting: PeerPhase? {
    switch phase {
    case .stopped: .stopped
    case .detecting, .listening: .detection
    case .synchronizing, .answering: .synchronization
    case .established: nil
    }
  }
}

/// How far a device has come with an accessory on one link, from the accessory's side.
struct AccessoryProgress: Equatable {
  /// The end that acts next.
  enum Step: Equatable {
    /// The device sends next.
    case device
    /// The accessory's owner was asked for something.
    case owner
    /// The accessory has answered, and the device decides.
    case answered
    /// The device accepted.
    case accepted
    /// The device refused.
    case refused
  }

  /// Which link it is about; see ``LinkCounters/establishments``.
  var link = 0
  var authentication = Step.device
  var identification = Step.device

  /// What the accessory waits for.
  var phase: PeerPhase {
    switch (authentication, identification) {
    case (.owner, _), (_, .owner): .owner
    case (.refused, _), (_, .refused): .refused
    case (_, .answered), (.accepted, .device): .identification
    case (.accepted, .accepted): .ready
    case (.device, _), (.answered, _): .authentication
    }
  }
}

extension Peer {
  /// What this end waits for.
  public var phase: PeerPhase { core.link.waiting ?? Role.phase(of: self) }
}

extension AccessoryRole {
  /// What the accessory waits for while the link is up.
  public static func phase(of peer: borrowing AccessoryPeer) -> PeerPhase { peer.progressOnLink.phase }
}

extension Peer where Role == AccessoryRole {
  /// The progress on the link that is up.
  fileprivate var progressOnLink: AccessoryProgress {
    let link = core.link.counters.establishments
    return role.progress.link == link ? role.progress : AccessoryProgress(link: link)
  }

  mutating func noteAuthentication(_ step: AccessoryProgress.Step) {
    role.progress = progressOnLink
    role.progress.authentication = step
  }

  mutating func noteIdentification(_ step: AccessoryProgress.Step) {
    role.progress = progressOnLink
    role.progress.identification = step
  }
}

extension DeviceRole {
  /// What the device waits for while the link is up.
  public static func phase(of peer: borrowing DevicePeer) -> PeerPhase {
    switch peer.role.progress {
    case .linkDown: .owner
    case .asking where peer.core.answerDeadline == nil: .owner
    case .asking(.authentication, _): .authentication
    case .asking(.identification, _): .identification
    case .ready: .ready
    case .refused: .refused
    }
  }
}
