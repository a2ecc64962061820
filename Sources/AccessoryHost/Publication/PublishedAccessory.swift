import IAP2

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
