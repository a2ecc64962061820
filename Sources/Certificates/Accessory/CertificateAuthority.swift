/// The authority that signs simulated coprocessors' certificates. Its name says that it is not Apple's, and no Apple
/// device trusts it.
///
/// Its key is made from a seed in this file, so that two processes have the same key without sharing a file. For the
/// same reason a signature proves nothing: everyone has the key.
///
/// ```swift
/// print(CertificateAuthority.simulation.pem)   // for a tool that should trust simulated accessories
/// ```
public final class CertificateAuthority: Sendable {
  /// The name that certificates carry as their issuer. X.509 allows 64 characters, and these are 64.
  public static let name = "easim Simulation Accessories Certification Authority - NOT APPLE"

  /// The one authority of all simulated accessories, made when first needed.
  public static let simulation = CertificateAuthority(seed: 0)

  /// The self-signed certificate in DER.
  public let der: [UInt8]

  let key: P256Key
  let parsed: ParsedCertificates

  /// The authority of a seed. With any other seed than that of ``simulation`` it has the same name and another key,
  /// for tests of unknown chains.
  public init(seed: UInt64) {
    let stream = SeedStream("authority", seed: seed)
    key = .derived(from: stream)
    let draft = CertificateDraft(
      serial: stream.serial(byteCount: 16), subject: Self.distinguishedName, issuer: Self.distinguishedName,
      publicKey: key.key,
      extensions: [
        (NID_basic_constraints, "critical,CA:TRUE"), (NID_key_usage, "critical,keyCertSign"),
        (NID_subject_key_identifier, "hash"),
        (NID_netscape_comment, "Simulation only. Its key is public: it proves nothing."),
      ])
    der = draft.signed(by: key)
    guard let parsed = ParsedCertificates.bare(der) else {
      preconditionFailure("the authority's own certificate is unreadable")
    }
    self.parsed = parsed
  }

  /// The self-signed certificate as PEM text.
  public var pem: String {
    let text = Owned(BIO_new(BIO_s_mem()), { BIO_free($0) })
    let written = PEM_write_bio(text.pointer, PEM_STRING_X509, "", der, der.count)
    precondition(written > 0, "libcrypto could not write PEM: \(LibraryReasons.take())")
    return text.pointer.memoryText(limit: 4096)
  }

  static let distinguishedName = CertificateDraft.Name(organisation: "easim", commonName: name)
}
