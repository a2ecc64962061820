import AccessoryCore
import Glibc

/// A parsed certificate that an accessory presented in AA01.
///
/// ```swift
/// let certificate = try AccessoryCertificate(bytes)
/// print(certificate.serial.count)     // 16
/// ```
struct AccessoryCertificate: Sendable {
  /// A certificate that cannot be read and is longer than this is assumed to come from an older coprocessor. Other
  /// device emulators determine every certificate's generation by its length.
  static let olderAboveByteCount = 800

  let bytes: [UInt8]
  /// The name of the certificate's issuer, such as "O=easim, CN=Authority", truncated to 400 bytes.
  let issuer: String
  /// The serial number as unsigned big-endian bytes.
  let serial: [UInt8]
  /// The coprocessor's generation, determined by the type of the key.
  let generation: CoprocessorGeneration

  let parsed: ParsedCertificates

  init(_ bytes: [UInt8]) throws(CertificateError) {
    do throws(CertificateError) {
      parsed = try .envelope(bytes)
    } catch {
      // Real devices also refuse a certificate without an envelope.
      if ParsedCertificates.bare(bytes) != nil { throw .bareX509(byteCount: bytes.count) }
      throw error
    }
    self.bytes = bytes
    generation = try Self.generation(of: parsed.leaf)
    issuer = Self.text(X509_get_issuer_name(parsed.leaf))
    serial = Self.content(X509_get0_serialNumber(parsed.leaf))
    LibraryReasons.take()
  }

  /// A warning if the certificate has expired or is not valid yet, or nil if it is valid now.
  var dateProblem: String? {
    let (first, last) = (X509_getm_notBefore(parsed.leaf), X509_getm_notAfter(parsed.leaf))
    defer { LibraryReasons.take() }
    // X509_cmp_time returns a negative number for a date in the past, and 0 for an unreadable date.
    if X509_cmp_time(first, nil) > 0 { return "the certificate is not valid before \(Self.day(first))" }
    if X509_cmp_time(last, nil) < 0 { return "the certificate expired on \(Self.day(last))" }
    return nil
  }

  private static func day(_ date: OpaquePointer?) -> String {
    var parts = tm()
    guard ASN1_TIME_to_tm(date, &parts) == 1 else { return "an unreadable date" }
    let (month, day) = ("\(parts.tm_mon + 1)".zeroPadded(to: 2), "\(parts.tm_mday)".zeroPadded(to: 2))
    return "\(parts.tm_year + 1900)-\(month)-\(day)"
  }

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

  /// Formats a distinguished name on one line. Everything except printable ASCII is escaped, because the name may be
  /// shown in a terminal.
  private static func text(_ name: OpaquePointer?) -> String {
    guard let name else { return "" }
    let output = Owned(BIO_new(BIO_s_mem()), { BIO_free($0) })
    let escapes = ASN1_STRFLGS_ESC_2253 | ASN1_STRFLGS_ESC_CTRL | ASN1_STRFLGS_ESC_MSB | ASN1_STRFLGS_UTF8_CONVERT
    X509_NAME_print_ex(output.pointer, name, 0, UInt(escapes) | UInt(XN_FLAG_SEP_CPLUS_SPC))
    let bytes = [UInt8](unsafeUninitializedCapacity: 400) { room, count in
      count = max(0, Int(BIO_read(output.pointer, room.baseAddress, 400)))
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

/// A problem with an accessory's certificate.
///
/// Cases that report invalid bytes include up to sixteen of those bytes.
public enum CertificateError: Error, Equatable, Sendable, CustomStringConvertible {
  case empty
  /// The certificate belongs to a stub, and only another stub can verify it.
  case stub
  /// The certificate is PEM text, but the wire carries DER.
  case pemText
  /// The bytes are an X.509 certificate without a PKCS#7 envelope, which real devices refuse.
  case bareX509(byteCount: Int)
  /// The bytes do not start like DER.
  case notDER(first: [UInt8], byteCount: Int)
  /// The bytes start correctly, but are invalid from this offset on.
  case damaged(offset: Int, what: String, bytes: [UInt8])
  case notAnEnvelope(reason: String, first: [UInt8])
  /// The envelope is followed by more bytes.
  case trailingBytes(offset: Int, bytes: [UInt8])
  /// The envelope contains no certificate, or more than a chain needs.
  case wrongNumber(of: Int, limit: Int)
  /// Coprocessors do not use this kind of key.
  case unusableKey(String)

  /// A sentence fragment for messages.
  public var description: String {
    switch self {
    case .empty: "the certificate is empty"
    case .stub:
      "this is a stub coprocessor's certificate; use a stub on both ends, or a simulated coprocessor on the "
        + "accessory's end"
    case .pemText: "the certificate is PEM text (it begins with -----BEGIN); send it in DER"
    case .bareX509(let byteCount):
      "this is a bare X.509 certificate of \(byteCount) bytes; devices expect it in a PKCS#7 SignedData envelope"
    case .notDER(let first, let byteCount):
      "\(byteCount) bytes that are not a certificate: they begin with \(Hex.excerpt(first)), but DER begins with 30"
    case .damaged(let offset, let what, let bytes):
      "the certificate is damaged at byte \(offset): \(what)\(bytes.isEmpty ? "" : " (\(Hex.excerpt(bytes)))")"
    case .notAnEnvelope(let reason, let first):
      "valid DER, but not a PKCS#7 SignedData with certificates (\(reason)); it begins \(Hex.excerpt(first))"
    case .trailingBytes(let offset, let bytes):
      "the envelope ends at byte \(offset), but more bytes follow: \(Hex.excerpt(bytes))"
    case .wrongNumber(let count, let limit):
      count == 0
        ? "the envelope contains no certificate"
        : "the envelope contains \(count) certificates, more than the \(limit) allowed"
    case .unusableKey(let what): "the certificate's key is \(what); coprocessors use P-256 or RSA-1024"
    }
  }
}
