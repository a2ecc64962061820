import IAP2

/// An accessory as apps see it: one publication, with its own number.
///
/// All of it comes from identification and authentication, nothing from a card or an address. An object that never
/// changes, because each publication goes through many hands.
public final class PublishedAccessory: Equatable, Sendable {
  /// New for each publication, issued by the device, never on the wire.
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
  /// Product plan, where the accessory names one.
  public let productPlanUID: String?
  /// The protocols that can be used now; empty until the accessory is authenticated, whatever it identified with.
  public let protocols: [String]
  /// Whether it asks for an app to be found, when none declares a protocol that it offers.
  public let asksForApp: Bool
  /// Bytes of the authentication certificate's serial number; 0 before it came.
  public let certificateSerialCount: Int
  /// Bytes of the authentication certificate; 0 before it came.
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

  /// Whether both say the same.
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
  /// The place of the publication with this number. Lists are sorted by publication and so by number, so a binary
  /// search is possible.
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
