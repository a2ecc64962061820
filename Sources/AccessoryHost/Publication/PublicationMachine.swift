import AccessoryCore
import AccessoryFormats
import AccessoryProfiles
import IAP2

/// Decides when apps can see an accessory, and with which protocols. This machine is the only source of connect and
/// disconnect notifications.
///
/// ```
///   attached ──ready──────────────────────────────────▶ published
///      │ identified, policy early or flicker made here      │ gone
///      ▼                                                    ▼
///   early (no protocols) ──ready, and `empty` has passed──▶ withdrawn ──`gap` has passed──▶ published, or early again
/// ```
///
/// With the policy `early` and no flicker, the early publication is withdrawn as soon as the accessory is ready. The
/// accessory is immediately published again. If the device causes a flicker, the flicker's settings determine both
/// `empty` and `gap`.
///
/// Invariants: connects and disconnects alternate, no publication has protocols before authentication, and no
/// connection ID is issued twice.
public struct PublicationMachine {
  /// When accessories are published.
  public enum Policy: String, CaseIterable, Sendable {
    /// The accessory is published once it is both identified and authenticated.
    case ready
    /// The accessory is published as soon as it is identified, but without protocols until it is authenticated.
    case early
  }

  private enum State: Equatable {
    case attached
    case early(PublishedAccessory, since: Instant, cycle: Int)
    /// The accessory is ready but, for a while, remains published without protocols.
    case ending(PublishedAccessory, at: Instant, cycle: Int)
    case withdrawn(until: Instant, cycle: Int)
    case published(PublishedAccessory)
  }

  private var state = State.attached
  private let policy: Policy
  private let flicker: Flicker?
  private var identification: JudgedIdentification?
  private var certificate = CertificateSizes()

  /// Creates the machine for one attachment. This machine does not handle flickers caused by the accessory.
  public init(policy: Policy = .ready, flicker: Flicker? = nil) {
    self.policy = policy
    self.flicker = flicker?.maker == .device && (flicker?.cycles ?? 0) > 0 ? flicker : nil
  }

  /// The accessory as it is currently published, or nil if it is not published.
  public var current: PublishedAccessory? {
    switch state {
    case .early(let shown, _, _), .ending(let shown, _, _), .published(let shown): shown
    case .attached, .withdrawn: nil
    }
  }

  private var isAttached: Bool {
    if case .attached = state { return true }
    return false
  }

  /// When to call ``handleTimeout(now:ids:random:)``.
  public var deadline: Instant? {
    switch state {
    case .ending(_, let at, _): at
    case .withdrawn(let until, _): until
    case .attached, .early, .published: nil
    }
  }

  /// Records that the accessory's identification was accepted.
  public mutating func identified(
    _ identification: JudgedIdentification, now: Instant, ids: inout ConnectionIDs
  ) -> AccessoryNotice? {
    self.identification = identification
    guard isAttached, policy == .early || flicker != nil else { return nil }
    return showEarly(now: now, cycle: 1, ids: &ids)
  }

  /// Records the sizes of the certificate that the accessory sent.
  public mutating func certificateCame(_ sizes: CertificateSizes) {
    certificate = sizes
  }

  /// Records that the accessory is identified and authenticated.
  public mutating func ready(
    now: Instant, ids: inout ConnectionIDs, random: inout SeededRandom
  ) -> [AccessoryNotice] {
    switch state {
    case .attached:
      return [publish(ids: &ids)]
    case .early(let shown, let since, let cycle):
      guard let flicker else { return [.disconnect(shown), publish(ids: &ids)] }
      let end = since + flicker.jittered(flicker.empty, using: &random)
      state = .ending(shown, at: max(end, now), cycle: cycle)
      return end <= now ? handleTimeout(now: now, ids: &ids, random: &random) : []
    case .ending, .withdrawn, .published: return []
    }
  }

  /// Records that the accessory is gone or is no longer ready. The accessory may have been detached, its link may have
  /// gone down, or its authentication may have been refused.
  public mutating func gone() -> AccessoryNotice? {
    defer {
      state = .attached
      identification = nil
      certificate = CertificateSizes()
    }
    return current.map(AccessoryNotice.disconnect)
  }

  /// Handles the timeout at ``deadline``.
  public mutating func handleTimeout(
    now: Instant, ids: inout ConnectionIDs, random: inout SeededRandom
  ) -> [AccessoryNotice] {
    guard let flicker, let deadline, deadline <= now else { return [] }
    switch state {
    case .ending(let shown, _, let cycle):
      state = .withdrawn(until: now + flicker.jittered(flicker.gap, using: &random), cycle: cycle)
      return [.disconnect(shown)]
    case .withdrawn(_, let cycle) where cycle < flicker.cycles:
      guard let early = showEarly(now: now, cycle: cycle + 1, ids: &ids), case .connect(let shown) = early else {
        return []
      }
      // The accessory is ready, so `empty` alone determines how long it stays published without protocols.
      state = .ending(shown, at: now + flicker.jittered(flicker.empty, using: &random), cycle: cycle + 1)
      return [early]
    case .withdrawn: return [publish(ids: &ids)]
    case .attached, .early, .published: return []
    }
  }

  private mutating func showEarly(now: Instant, cycle: Int, ids: inout ConnectionIDs) -> AccessoryNotice? {
    guard let identification else { return nil }
    let shown = PublishedAccessory(
      identification, connectionID: ids.issue(), offersProtocols: false, certificate: certificate)
    state = .early(shown, since: now, cycle: cycle)
    return .connect(shown)
  }

  private mutating func publish(ids: inout ConnectionIDs) -> AccessoryNotice {
    guard let identification else { preconditionFailure("an accessory is ready only after it has identified itself") }
    let shown = PublishedAccessory(
      identification, connectionID: ids.issue(), offersProtocols: true, certificate: certificate)
    state = .published(shown)
    return .connect(shown)
  }
}
