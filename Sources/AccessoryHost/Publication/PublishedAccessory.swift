import IAP2

/// An accessory as apps see it: one publication, with its own number.
///
/// Everything in it comes from identification and authentication, nothing from a card or an address. It is an immutable
/// object, because each publication passes through many hands.
public final class PublishedAccessory: Equatable, Sendable {
  /// New for each publication; issued by the device, and never sent on the wire.
  public let connectionID: Int
  /// Display name.
  public let name: String
  /// Manufacturer.
  public let manufacturer: String
  /// Model number.
  public let modelNumber: String
  /// Serial number.
  public let serialNumber: String
  /// Firmware that runs.
  public let firmwareRevision: String
  /// Hardware.
  public let hardwareRevision: String
  /// The product plan, if the accessory names one.
  public let productPlanUID: String?
  /// The protocols that can be used now; empty until the accessory is authenticated, whatever its identification
  /// contains.
  public let protocols: [String]
  /// Whether the accessory asks the device to search for an app when none declares a protocol that it offers.
  public let asksForApp: Bool
  /// Length in bytes of the serial number in the authentication certificate; 0 before the certificate arrives.
  public let certificateSerialCount: Int
  /// Length in bytes of the authentication certificate; 0 before it arrives.
  public let certificateCount: Int

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

  /// Whether both contain the same values.
  public static func == (left: PublishedAccessory, right: PublishedAccessory) -> Bool {
    left === right || left.content == right.content
  }

  private var content: some Equatable {
    Content(
      numbers: [connectionID, certificateSerialCount, certificateCount],
      texts: [name, manufacturer, modelNumber, serialNumber, firmwareRevision, hardwareRevision],
      productPlanUID: productPlanUID, protocols: protocols, asksForApp: asksForApp)
  }

  private struct Content: Equatable {
    let numbers: [Int]
    let texts: [String]
    let productPlanUID: String?
    let protocols: [String]
    let asksForApp: Bool
  }
}

extension [PublishedAccessory] {
  /// The index of the publication with this number. Lists are sorted by publication and therefore by number, so a
  /// binary search is possible.
  func index(numbered connectionID: Int) -> Int? {
    var (low, high) = (startIndex, endIndex)
    while low < high {
      let middle = (low + high) / 2
      if self[middle].connectionID < connectionID { low = middle + 1 } else { high = middle }
    }
    return low < endIndex && self[low].connectionID == connectionID ? low : nil
  }
}

/// What Apple's dump shows of a certificate: its length and the length of its serial number.
public struct CertificateSizes: Equatable, Sendable {
  /// Length of the serial number in bytes.
  public var serial = 0
  /// Length of the certificate in bytes.
  public var whole = 0

  /// Nothing came yet.
  public init() {}
}

/// Issues the numbers of publications. Real numbers are large, differ from boot to boot, and count up; 0 means none.
public struct ConnectionIDs: Equatable, Sendable {
  private var next: Int

  /// Numbers from a random start above 2^24.
  public init(using random: inout some RandomNumberGenerator) {
    next = Int.random(in: (1 << 24)..<(1 << 25), using: &random)
  }

  /// A number that was never issued before.
  public mutating func issue() -> Int {
    defer { next += 1 }
    return next
  }
}
