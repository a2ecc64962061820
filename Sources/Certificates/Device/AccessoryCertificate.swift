import AccessoryCore

/// A certificate that an accessory presented in AA01, read.
///
/// ```swift
/// let certificate = try AccessoryCertificate(bytes)
/// print(certificate.subject)          // O=easim, CN=IPA_EASIM_0000000000000007
/// print(certificate.serial.count)     // 16
/// ```
public struct AccessoryCertificate: Equatable, Sendable, CustomStringConvertible {
  /// Which envelopes of the certificate are accepted.
  public enum EnvelopeRule: Equatable, Sendable {
    /// Only a PKCS#7 envelope, as real devices have it.
    case envelopeOnly
    /// Also a bare X.509 certificate, for firmware in development.
    case bareAllowed
  }

  /// A certificate longer than this belongs to an older coprocessor and gets its shorter challenge. Other device
  /// emulators decide by the same number; what real devices look at is not known.
  public static let olderAboveByteCount = 800

  /// The bytes as they came.
  public let bytes: [UInt8]
  /// Whether they came without an envelope.
  public let isBare: Bool
  /// What the certificate is for: "O=easim, CN=IPA_EASIM_0000000000000007". Cut after 400 bytes.
  public let subject: String
  /// Its signer, as the certificate names it.
  public let issuer: String
  /// The serial, most significant byte first, without a sign.
  public let serial: [UInt8]
  /// The coprocessor's generation, from the kind of its key.
  public let generation: CoprocessorGeneration

  let parsed: ParsedCertificates

  /// Reads a certificate. An error names what is wrong with the bytes, and where.
  public init(_ bytes: [UInt8], envelope rule: EnvelopeRule = .envelopeOnly) throws(CertificateError) {
    do throws(CertificateError) {
      parsed = try .envelope(bytes)
      isBare = false
    } catch {
      guard let bare = ParsedCertificates.bare(bytes) else { throw error }
      guard rule == .bareAllowed else { throw .bareX509(byteCount: bytes.count) }
      parsed = bare
      isBare = true
    }
    self.bytes = bytes
    generation = try Self.generation(of: parsed.leaf)
    subject = Self.text(X509_get_subject_name(parsed.leaf))
    issuer = Self.text(X509_get_issuer_name(parsed.leaf))
    serial = Self.content(X509_get0_serialNumber(parsed.leaf))
    LibraryReasons.take()
  }

  /// How many bytes came.
  public var byteCount: Int { bytes.count }

  /// How many bytes of challenge this certificate's coprocessor is sent.
  public var challengeByteCount: Int {
    let size: CoprocessorGeneration = byteCount > Self.olderAboveByteCount ? .older : .current
    return size.challengeByteCount
  }

  /// One line for users.
  public var description: String {
    "\(byteCount) bytes, \(generation.keyName), serial \(Hex.excerpt(serial, limit: 20)), \(subject), signed by \(issuer)"
  }

  /// Two certificates are the same when their bytes are.
  public static func == (left: AccessoryCertificate, right: AccessoryCertificate) -> Bool { left.bytes == right.bytes }

  private static func generation(of certificate: OpaquePointer) throws(CertificateError) -> CoprocessorGeneration {
    guard let key = X509_get0_pubkey(certificate) else {
      throw .unusableKey("unreadable (\(LibraryReasons.take()))")
    }
    let kind = EVP_PKEY_get_base_id(key)
    let bits = EVP_PKEY_get_bits(key)
    switch kind {
    case EVP_PKEY_RSA:
      if bits == 1024 { return .older }
      throw .unusableKey("RSA-\(bits)")
    case EVP_PKEY_EC:
      var name = [CChar](repeating: 0, count: 64)
      var length = 0
      let isNamed = EVP_PKEY_get_group_name(key, &name, name.count, &length) == 1
      let group = String(decoding: name.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self)
      if isNamed, group == "prime256v1" { return .current }
      LibraryReasons.take()
      throw .unusableKey(isNamed ? "on the curve \(group)" : "on a curve without a name")
    default:
      let name = OBJ_nid2sn(kind).map { String(cString: $0) } ?? "of an unknown kind"
      throw .unusableKey("\(name) of \(bits) bits")
    }
  }

  private static func content(_ number: OpaquePointer?) -> [UInt8] {
    guard let number, let data = ASN1_STRING_get0_data(number) else { return [] }
    return Array(UnsafeBufferPointer(start: data, count: Int(ASN1_STRING_length(number))))
  }

  /// A name on one line. Whatever is not printable ASCII is escaped: it will be shown on terminals.
  private static func text(_ name: OpaquePointer?) -> String {
    guard let name else { return "" }
    let output = Owned(BIO_new(BIO_s_mem()), { BIO_free($0) })
    let escapes = ASN1_STRFLGS_ESC_2253 | ASN1_STRFLGS_ESC_CTRL | ASN1_STRFLGS_ESC_MSB | ASN1_STRFLGS_UTF8_CONVERT
    X509_NAME_print_ex(output.pointer, name, 0, UInt(escapes) | UInt(XN_FLAG_SEP_CPLUS_SPC))
    return output.pointer.memoryText(limit: 400)
  }
}
