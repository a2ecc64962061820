import AccessoryFormats

/// The authority that signs the certificates of simulated coprocessors. The name makes clear that this is not Apple's
/// authority, and no Apple device trusts it.
///
/// The key is derived from a fixed seed, so that two processes have the same key without sharing a file. A signature
/// therefore proves nothing, because anyone can derive the key.
enum CertificateAuthority {
  /// The issuer name in certificates. The common name is exactly 64 characters long, the maximum that X.509 allows.
  static let name = CertificateDraft.Name(
    organisation: "easim", commonName: "easim Simulation Accessories Certification Authority - NOT APPLE")

  static let key = P256Key.derived(from: seed)
  private static let seed = SeedStream("authority", seed: 0)

  /// The self-signed certificate in DER.
  static let der: [UInt8] = {
    let draft = CertificateDraft(
      serial: seed.serial(byteCount: 16), subject: name, issuer: name, publicKey: key.key,
      extensions: [
        (NID_basic_constraints, "critical,CA:TRUE"), (NID_key_usage, "critical,keyCertSign"),
        (NID_subject_key_identifier, "hash"),
        (NID_netscape_comment, "Simulation only. Its key is public: it proves nothing."),
      ])
    return draft.signed(by: key)
  }()

  static let parsed: ParsedCertificates = {
    guard let parsed = ParsedCertificates.bare(der) else {
      preconditionFailure("the authority's own certificate is unreadable")
    }
    return parsed
  }()
}

/// Bytes that depend only on a seed and a purpose. Simulated keys and serials are derived from these bytes.
///
/// A hash is used instead of `SeededRandom`, so that different purposes or seeds give unrelated bytes, and every
/// version of easim derives the same key from the same seed.
struct SeedStream {
  private let prefix: [UInt8]

  /// Creates the stream for deriving `thing`, such as "coprocessor 3.0", from a seed.
  init(_ thing: String, seed: UInt64) {
    prefix = Array("easim simulation\0\(thing)\0".utf8) + withUnsafeBytes(of: seed.bigEndian) { Array($0) }
  }

  /// Returns `count` bytes for a purpose. If the bytes are unsuitable, a different value of `attempt` gives different
  /// bytes.
  func bytes(_ purpose: String, attempt: UInt8 = 0, count: Int) -> [UInt8] {
    Digests.stretched(prefix + Array("\(purpose)\0".utf8) + [attempt], to: count)
  }

  /// Returns a certificate's serial. The serial is positive and does not start with zeros, so it has the same size for
  /// every seed.
  func serial(byteCount: Int) -> [UInt8] {
    var serial = bytes("serial", count: byteCount)
    serial[0] = serial[0] & 0x3F | 0x40
    return serial
  }
}

extension SeededRandom {
  /// Returns the next `count` bytes, eight from each number.
  mutating func bytes(_ count: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count)
    while bytes.count < count {
      withUnsafeBytes(of: next().littleEndian) { bytes.append(contentsOf: $0.prefix(count - bytes.count)) }
    }
    return bytes
  }
}
