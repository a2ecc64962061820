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
    case early(PublishedAccessory, since: Instant)
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
    case .early(let shown, _), .ending(let shown, _, _), .published(let shown): shown
    case .attached, .withdrawn: nil
    }
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
    guard state == .attached, policy == .early || flicker != nil else { return nil }
    let shown = publication(offersProtocols: false, ids: &ids)
    state = .early(shown, since: now)
    return .connect(shown)
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
    case .early(let shown, let since):
      guard let flicker else { return [.disconnect(shown), publish(ids: &ids)] }
      let end = since + flicker.jittered(flicker.empty, using: &random)
      state = .ending(shown, at: max(end, now), cycle: 1)
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
      let shown = publication(offersProtocols: false, ids: &ids)
      // The accessory is ready, so `empty` alone determines how long it stays published without protocols.
      state = .ending(shown, at: now + flicker.jittered(flicker.empty, using: &random), cycle: cycle + 1)
      return [.connect(shown)]
    case .withdrawn: return [publish(ids: &ids)]
    case .attached, .early, .published: return []
    }
  }

  private mutating func publish(ids: inout ConnectionIDs) -> AccessoryNotice {
    let shown = publication(offersProtocols: true, ids: &ids)
    state = .published(shown)
    return .connect(shown)
  }

  private func publication(offersProtocols: Bool, ids: inout ConnectionIDs) -> PublishedAccessory {
    guard let identification else { preconditionFailure("an accessory is published only after its identification") }
    return PublishedAccessory(
      identification, connectionID: ids.issue(), offersProtocols: offersProtocols, certificate: certificate)
  }
}
