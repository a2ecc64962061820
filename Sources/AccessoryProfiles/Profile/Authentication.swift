extension Profile {
  /// How an accessory proves to be licensed, and what Apple's dump shows of the proof.
  public struct Authentication: Equatable, Sendable {
    /// The two families of authentication coprocessors.
    public enum Generation: String, CaseIterable, Sendable {
      /// 3.0: P-256, 32-byte challenge, 64-byte answer.
      case current
      /// 2.0B and 2.0C: RSA-1024 over SHA-1, 20-byte challenge, 128-byte answer.
      case older

      /// What `certSerial` shows: 16 or 15 bytes.
      public var certSerial: Int { self == .current ? 16 : 15 }
      /// What `certData` shows: 607 or 908 bytes in the dumps known.
      public var certData: Int { self == .current ? 607 : 908 }
    }

    /// What is signed. The public sources disagree, so it is a setting.
    public enum Challenge: String, CaseIterable, Sendable {
      /// The challenge is the digest that is signed.
      case digest
      /// The challenge is hashed, and the hash is signed.
      case hashed
    }

    /// Which family signs.
    public var generation: Generation
    /// What is signed.
    public var challenge: Challenge
    /// The length of the certificate's serial number that dumps show.
    public var certSerial: Int
    /// The length of the certificate that dumps show.
    public var certData: Int

    /// Authentication with the sizes of its generation.
    public init(_ generation: Generation = .current, challenge: Challenge = .digest) {
      self.generation = generation
      self.challenge = challenge
      certSerial = generation.certSerial
      certData = generation.certData
    }

    /// Zero is what a dump shows before the accessory is authenticated.
    static let certSerialRange = 0...64
    static let certDataRange = 0...65_535
  }
}
