import IAP2

/// An accessory as apps see it: one publication, with its own number.
///
/// All of it comes from identification and authentication, nothing from a card or an address.
public struct PublishedAccessory: Equatable, Sendable {
  /// New for each publication, issued by the device, never on the wire.
  public var connectionID: Int
  /// Display name.
  public var name: String
  /// Manufacturer.
  public var manufacturer: String
  /// Model number.
  public var modelNumber: String
  /// Serial number.
  public var serialNumber: String
  /// Firmware that runs.
  public var firmwareRevision: String
  /// Hardware.
  public var hardwareRevision: String
  /// Product plan, where the accessory names one.
  public var productPlanUID: String?
  /// The protocols that can be used now; empty until the accessory is authenticated, whatever it identified with.
  public var protocols: [String]
  /// Whether it asks for an app to be found, when none declares a protocol that it offers.
  public var asksForApp: Bool
  /// Bytes of the authentication certificate's serial number; 0 before it came.
  public var certificateSerialCount: Int
  /// Bytes of the authentication certificate; 0 before it came.
  public var certificateCount: Int

  init(_ identification: Identification, connectionID: Int, offersProtocols: Bool, certificate: CertificateSizes) {
    self.connectionID = connectionID
    name = identification.name
    manufacturer = identification.manufacturer
    modelNumber = identification.model
    serialNumber = identification.serialNumber
    firmwareRevision = identification.firmwareVersion
    hardwareRevision = identification.hardwareVersion
    productPlanUID = identification.productPlanUID
    protocols = offersProtocols ? identification.protocols.map(\.name) : []
    asksForApp = offersProtocols && identification.protocols.contains { $0.matchAction == .optional }
    certificateSerialCount = certificate.serial
    certificateCount = certificate.whole
  }
}

extension [PublishedAccessory] {
  /// Where the publication with this number is. Lists of publications are in the order of publication, and so of their
  /// numbers: among ten thousand, a dozen are looked at.
  func index(numbered connectionID: Int) -> Int? {
    var (low, high) = (startIndex, endIndex)
    while low < high {
      let middle = (low + high) / 2
      if self[middle].connectionID < connectionID { low = middle + 1 } else { high = middle }
    }
    return low < endIndex && self[low].connectionID == connectionID ? low : nil
  }
}

/// What Apple's dump shows of a certificate: how long it and its serial number are.
public struct CertificateSizes: Equatable, Sendable {
  /// Bytes of the serial number.
  public var serial = 0
  /// Bytes of the certificate.
  public var whole = 0

  /// Nothing came yet.
  public init() {}
}

/// Issues the numbers of publications. Real ones are large, differ from boot to boot, and count up; 0 is none.
public struct ConnectionIDs: Equatable, Sendable {
  private var next: Int

  /// Numbers from a random base above 2^24.
  public init(using random: inout some RandomNumberGenerator) {
    next = Int.random(in: (1 << 24)..<(1 << 25), using: &random)
  }

  /// A number that was never issued before.
  public mutating func issue() -> Int {
    defer { next += 1 }
    return next
  }
}
