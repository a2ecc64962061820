import CCrypto

/// Which libcrypto this process runs with, which may be another than it was built with.
public enum LibraryVersion {
  /// Such as "OpenSSL 3.0.17 1 Jul 2025".
  public static var text: String {
    OpenSSL_version(OPENSSL_VERSION).map { String(cString: $0) } ?? "of unknown version"
  }
}
