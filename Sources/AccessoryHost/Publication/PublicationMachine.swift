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

/// An accessory as apps see it. Each publication has its own connection ID.
///
/// All values come from identification and authentication, and none from an address.
public final class PublishedAccessory: Equatable, Sendable {
  /// The number that the device issued for this publication. The number is never sent over the wire.
  public let connectionID: Int
  /// The display name.
  public let name: String
  /// The manufacturer.
  public let manufacturer: String
  /// The model number.
  public let modelNumber: String
  /// The serial number.
  public let serialNumber: String
  /// The version of the running firmware.
  public let firmwareRevision: String
  /// The hardware revision.
  public let hardwareRevision: String
  /// The product plan's identifier, if the accessory provides one.
  public let productPlanUID: String?
  /// The protocols that can currently be used. The list is empty until the accessory is authenticated, even if the
  /// accessory's identification contains protocols.
  public let protocols: [String]
  /// Whether the accessory asks the device to suggest an app if no installed app declares any of the accessory's
  /// protocols.
  public let asksForApp: Bool
  /// The length in bytes of the serial number in the authentication certificate, or 0 until the certificate has
  /// arrived.
  public let certificateSerialCount: Int
  /// The length in bytes of the authentication certificate, or 0 until the certificate has arrived.
  public let certificateCount: Int

  // Reads single values from the shared object, because a whole identification is expensive to copy.
  init(_ judged: JudgedIdentification, connectionID: Int, offersProtocols: Bool, certificate: CertificateSizes) {
    self.connectionID = connectionID
    name = judged.identification.name
    manufacturer = judged.identification.manufacturer
    modelNumber = judged.identification.model
    serialNumber = judged.identification.serialNumber
    firmwareRevision = judged.identification.firmwareVersion
    hardwareRevision = judged.identification.hardwareVersion
    productPlanUID = judged.identification.productPlanUID
    protocols = offersProtocols ? judged.identification.protocols.map(\.name) : []
    asksForApp = offersProtocols && judged.identification.protocols.contains { $0.matchAction == .optional }
    certificateSerialCount = certificate.serial
    certificateCount = certificate.whole
  }

  /// Returns true if the two accessories have the same values.
  public static func == (left: PublishedAccessory, right: PublishedAccessory) -> Bool {
    left === right
      || left.numbers == right.numbers && left.texts == right.texts && left.protocols == right.protocols
        && left.asksForApp == right.asksForApp
  }

  private var numbers: [Int] { [connectionID, certificateSerialCount, certificateCount] }

  private var texts: [String?] {
    [name, manufacturer, modelNumber, serialNumber, firmwareRevision, hardwareRevision, productPlanUID]
  }
}

extension [PublishedAccessory] {
  /// Returns the index of the publication with this connection ID. Uses binary search: lists are in order of
  /// publication, so connection IDs ascend.
  func index(numbered connectionID: Int) -> Int? {
    var (low, high) = (startIndex, endIndex)
    while low < high {
      let middle = (low + high) / 2
      if self[middle].connectionID < connectionID { low = middle + 1 } else { high = middle }
    }
    return low < endIndex && self[low].connectionID == connectionID ? low : nil
  }
}

/// The two certificate lengths that appear in Apple's description of an accessory.
public struct CertificateSizes: Equatable, Sendable {
  /// The length of the serial number in bytes.
  public var serial = 0
  /// The length of the whole certificate in bytes.
  public var whole = 0

  /// Creates sizes of zero, for use until a certificate arrives.
  public init() {}
}

/// Issues the connection IDs of publications. Real connection IDs are large, start at a different number after each
/// boot, and count up. A connection ID of 0 means that there is no connection.
public struct ConnectionIDs: Equatable, Sendable {
  private var next: Int

  /// Creates an issuer whose first ID is a random number above 2^24.
  public init(using random: inout some RandomNumberGenerator) {
    next = Int.random(in: (1 << 24)..<(1 << 25), using: &random)
  }

  /// Returns a connection ID that has not been issued before.
  public mutating func issue() -> Int {
    defer { next += 1 }
    return next
  }
}
